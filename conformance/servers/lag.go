package servers

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/conformance/servers/internal/loopback"
)

// cutOff keeps replicas from hearing of what their primary writes from now on, until letFollow: by a
// password that is wrong. They take their link for broken, which only makes them try again; no
// network has to be faked between servers that know each other's ports.
func cutOff(primary *Server, replicas ...*Server) error {
	if err := replicateAs("nobody", replicas); err != nil {
		return err
	}
	// Other replicas, if there are any, connect again.
	return primary.run("CLIENT", "KILL", "TYPE", "replica")
}

// letFollow ends cutOff.
func letFollow(replicas ...*Server) error { return replicateAs("", replicas) }

// replicateAs sets the user that replicas replicate as; "" is the default one.
func replicateAs(user string, replicas []*Server) error {
	if err := insist(replicas, "CONFIG", "SET", "masteruser", user); err != nil {
		return err
	}
	return insist(replicas, "CONFIG", "SET", "masterauth", user)
}

// insist runs a command that may be repeated on all servers. Sentinels that make a server a replica end the
// connections of its clients.
func insist(all []*Server, words ...string) error {
	return each(all, func(s *Server) error { return await(nil, func() error { return s.run(words...) }) })
}

// followAll makes replicas follow primary, and waits until they have what it has. What they had of
// their own is lost. It changes nothing for those that follow it already.
func followAll(primary *Server, replicas ...*Server) error {
	err := insist(replicas, "REPLICAOF", loopback.Host, strconv.Itoa(primary.port))
	if err != nil {
		return err
	}
	return caughtUp(primary, replicas...)
}

// caughtUp waits until every replica has all that primary had written before the call.
func caughtUp(primary *Server, replicas ...*Server) error {
	info, err := primary.Info("replication")
	if err != nil {
		return err
	}
	written, err := strconv.ParseInt(info["master_repl_offset"], 10, 64)
	if err != nil {
		return err
	}
	return each(replicas, func(replica *Server) error {
		return replica.awaitInfo("replication", func(info map[string]string) bool {
			seen, err := strconv.ParseInt(info["slave_repl_offset"], 10, 64)
			return err == nil && seen >= written && following(info, primary)
		})
	})
}

// following reports whether a replica with this INFO replication follows primary.
func following(info map[string]string, primary *Server) bool {
	return info["master_link_status"] == "up" && info["master_port"] == strconv.Itoa(primary.port)
}

// awaitInfo waits until a section of INFO is as asked.
func (s *Server) awaitInfo(section string, done func(info map[string]string) bool) error {
	var info map[string]string
	err := await(nil, func() (err error) {
		if info, err = s.Info(section); err == nil && !done(info) {
			err = errors.New("not yet")
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s at %s: %w: INFO %s: %v", s.kind, s.Addr(), err, section, info)
	}
	return nil
}

// await calls check until it returns nil, for up to 30 s and until stop is closed, and returns its last error.
func await(stop <-chan struct{}, check func() error) error {
	for deadline := time.After(patience); ; {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-stop:
			return err
		case <-deadline:
			return err
		case <-time.After(5 * time.Millisecond):
		}
	}
}
