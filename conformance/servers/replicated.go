package servers

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/conformance/servers/internal/loopback"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
)

// Replicated is a primary with replicas, behind one address that leads to whichever is the primary
// now, as a service's name does that somebody else keeps up to date.
type Replicated struct {
	// Nodes are the servers, the one that began as the primary first.
	Nodes []*Server

	entry   *proxy.Proxy
	primary atomic.Pointer[Server]
}

// StartReplicated starts a primary with so many replicas, all with opts, that end with the test,
// and waits until they follow. It skips and fails the test as [Start] does.
func StartReplicated(tb TB, kind Kind, replicas int, opts *Options) *Replicated {
	tb.Helper()
	r := &Replicated{Nodes: newServers(kind, replicas+1, opts), entry: proxy.New(nil)}
	r.primary.Store(r.Nodes[0])
	begin(tb, kind, r, func() error {
		return inTurn(
			func() error { return launchAll(r.Nodes) },
			func() error { return r.entry.Lead(r.Nodes[0].Addr()) },
			r.follow,
		)
	})
	return r
}

func (r *Replicated) servers() []*Server { return r.Nodes }

func (r *Replicated) close() error {
	return errors.Join(r.entry.Close(), each(r.Nodes, (*Server).close))
}

// Addr returns the address that leads to the primary, also after FailOver.
func (r *Replicated) Addr() string { return r.entry.Addr() }

// Primary returns the server that is the primary by FailOver's account.
func (r *Replicated) Primary() *Server { return r.primary.Load() }

// Replicas returns the other servers.
func (r *Replicated) Replicas() []*Server { return without(r.Nodes, r.Primary()) }

func (r *Replicated) follow() error { return followAll(r.Primary(), r.Replicas()...) }

// Lag makes the replicas miss what the primary writes from now on.
func (r *Replicated) Lag() error { return cutOff(r.Primary(), r.Replicas()...) }

// Sync waits until the replicas have all that the primary had written before the call.
func (r *Replicated) Sync() error { return caughtUp(r.Primary(), r.Replicas()...) }

// FailOver makes the first replica, of which there must be one, the primary, and the others, the old primary too, its
// replicas; then it breaks all connections through Addr, which leads to the new primary. What the primary had written
// before the call is kept. What unseen, if it is not nil, writes meanwhile is lost, and so may be what others write.
func (r *Replicated) FailOver(unseen func() error) error {
	next := r.Replicas()[0]
	if err := replace(r.Primary(), r.Replicas(), unseen, func() error { return next.run("REPLICAOF", "NO", "ONE") }); err != nil {
		return err
	}
	r.primary.Store(next)
	err := errors.Join(r.entry.Lead(next.Addr()), r.follow())
	r.entry.Cut()
	return err
}

// Restart ends all servers and starts them again as [Server.Restart] does.
func (r *Replicated) Restart(data Data) error {
	return inTurn(func() error { return restartAll(r.Nodes, data) }, r.follow)
}

// group is one server or several that belong together.
type group interface {
	servers() []*Server
	close() error
}

// begin has launch start what a test needs, and ends it with the test. It skips the test if kind's binary is missing
// (see [Need]), and fails it on any other error. If the test fails, the end of each server's log is shown.
func begin(tb TB, kind Kind, g group, launch func() error) {
	tb.Helper()
	Need(tb, kind)
	tb.Cleanup(func() {
		for _, s := range g.servers() {
			if tb.Failed() {
				tb.Logf("log of %s at %s:\n%s", s.kind, s.Addr(), s.log())
			}
		}
		if err := g.close(); err != nil {
			tb.Errorf("closing servers: %v", err)
		}
	})
	if err := launch(); err != nil {
		tb.Fatalf("starting %s: %v", kind, err)
	}
}

// newServers returns n servers that are still to be launched.
func newServers(kind Kind, n int, opts *Options) []*Server {
	all := make([]*Server, n)
	for i := range all {
		all[i] = newServer(kind, opts)
	}
	return all
}

func launchAll(all []*Server) error { return each(all, (*Server).launch) }

func restartAll(all []*Server, data Data) error {
	return each(all, func(s *Server) error { return s.Restart(data) })
}

// each calls f for all servers at the same time.
func each(all []*Server, f func(s *Server) error) error {
	failures := make([]error, len(all))
	var work sync.WaitGroup
	for i, s := range all {
		work.Go(func() { failures[i] = f(s) })
	}
	work.Wait()
	return errors.Join(failures...)
}

// inTurn calls steps until one fails.
func inTurn(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func without(all []*Server, one *Server) []*Server {
	return slices.DeleteFunc(slices.Clone(all), func(s *Server) bool { return s == one })
}

// replace has promote make one of replicas the primary instead of old. They have what old had
// written before the call, and not what unseen writes, if it is not nil.
func replace(old *Server, replicas []*Server, unseen, promote func() error) error {
	if err := caughtUp(old, replicas...); err != nil {
		return err
	}
	if unseen != nil {
		if err := errors.Join(cutOff(old, replicas...), unseen()); err != nil {
			return err
		}
	}
	return errors.Join(promote(), letFollow(replicas...))
}

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
