package servers

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// cutOff keeps replicas from hearing of what their primary writes from now on, until
// [Server.letFollow]: by a password that is wrong. They take their link for broken, which only
// makes them try again; no network has to be faked between servers that know each other's ports.
func cutOff(primary *Server, replicas ...*Server) error {
	for _, r := range replicas {
		if err := r.follow("nobody"); err != nil {
			return err
		}
	}
	// Other replicas, if there are any, connect again.
	_, err := primary.Do("CLIENT", "KILL", "TYPE", "replica")
	return err
}

// follow sets the user that s replicates as; "" is the default one.
func (s *Server) follow(user string) error {
	_, err1 := s.Do("CONFIG", "SET", "masteruser", user)
	_, err2 := s.Do("CONFIG", "SET", "masterauth", user)
	return errors.Join(err1, err2)
}

// letFollow ends cutOff.
func letFollow(replicas ...*Server) error {
	for _, r := range replicas {
		if err := r.follow(""); err != nil {
			return err
		}
	}
	return nil
}

// followAll makes replicas follow primary, and waits until they have what it has. What they had of
// their own is lost. It changes nothing for those that follow it already.
func followAll(primary *Server, replicas ...*Server) error {
	for _, s := range replicas {
		if _, err := s.Do("REPLICAOF", host, strconv.Itoa(primary.port)); err != nil {
			return err
		}
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
	for _, r := range replicas {
		err := r.awaitInfo("replication", func(info map[string]string) bool {
			seen, err := strconv.ParseInt(info["slave_repl_offset"], 10, 64)
			return err == nil && seen >= written && following(info, primary)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// following reports whether a replica with this INFO replication follows primary.
func following(info map[string]string, primary *Server) bool {
	return info["master_link_status"] == "up" && info["master_port"] == strconv.Itoa(primary.port)
}

// awaitInfo waits, for up to 30 s, until a section of INFO is as asked.
func (s *Server) awaitInfo(section string, done func(info map[string]string) bool) error {
	var info map[string]string
	err := awaitNil(func() (err error) {
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

// awaitNil calls check until it returns nil, for up to 30 s, and returns its last error.
func awaitNil(check func() error) error {
	deadline := time.Now().Add(startTimeout)
	for {
		err := check()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}
