package servers

import (
	"errors"
	"slices"
	"sync"
)

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
