package servers

import (
	"errors"
	"fmt"
	"sync"
)

// Replicated is a primary with replicas, behind one address that leads to whichever is the primary
// now, as a service's name does that somebody else keeps up to date.
type Replicated struct {
	// Nodes are the servers, the one that began as the primary first.
	Nodes []*Server

	entry *Proxy

	mu      sync.Mutex
	primary int
}

// StartReplicated starts a primary with so many replicas, all with opts, that end with the test,
// and waits until they follow. It skips and fails the test as [Start] does.
func StartReplicated(tb TB, kind Kind, replicas int, opts *Options) *Replicated {
	tb.Helper()
	Need(tb, kind)
	r, err := LaunchReplicated(kind, replicas, opts)
	if err != nil {
		tb.Fatalf("starting %s with replicas: %v", kind, err)
	}
	tb.Cleanup(func() { endAll(tb, r.Nodes, r.Close) })
	return r
}

// endAll shows the logs of nodes if the test has failed, and ends them.
func endAll(tb TB, nodes []*Server, end func() error) {
	for _, node := range nodes {
		node.showLog(tb)
	}
	if err := end(); err != nil {
		tb.Errorf("closing servers: %v", err)
	}
}

// LaunchReplicated starts a primary with so many replicas, all with opts, and waits until they
// follow. The caller must close them.
func LaunchReplicated(kind Kind, replicas int, opts *Options) (*Replicated, error) {
	nodes, err := launchAll(kind, replicas+1, opts)
	r := &Replicated{Nodes: nodes}
	if err == nil {
		r.entry, err = LaunchProxy(nodes[0].Addr(), &ProxyOptions{Raw: true})
	}
	if err == nil {
		err = r.Follow()
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// launchAll starts n servers side by side. Those that started are returned with an error, too; the
// others are nil.
func launchAll(kind Kind, n int, opts *Options) ([]*Server, error) {
	nodes := make([]*Server, n)
	err := each(n, func(i int) (err error) {
		nodes[i], err = Launch(kind, opts)
		return err
	})
	return nodes, err
}

// closeAll ends servers, of which some may be nil.
func closeAll(nodes []*Server) error {
	var err error
	for _, s := range nodes {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return err
}

// Addr returns the address that leads to the primary, also after FailOver.
func (r *Replicated) Addr() string { return r.entry.Addr() }

// Primary returns the server that is the primary by FailOver's account.
func (r *Replicated) Primary() *Server {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Nodes[r.primary]
}

// Replicas returns the other servers.
func (r *Replicated) Replicas() []*Server { return without(r.Nodes, r.Primary()) }

func without(nodes []*Server, one *Server) (others []*Server) {
	for _, s := range nodes {
		if s != one {
			others = append(others, s)
		}
	}
	return others
}

// Follow makes all others follow the primary, again after Promote, and waits until they have what
// it has. What they had of their own is lost.
func (r *Replicated) Follow() error { return followAll(r.Primary(), r.Replicas()...) }

// Lag makes the replicas miss what the primary writes from now on, until CatchUp.
func (r *Replicated) Lag() error { return cutOff(r.Primary(), r.Replicas()...) }

// CatchUp ends Lag, and waits until the replicas have all that the primary had written before the
// call.
func (r *Replicated) CatchUp() error {
	if err := letFollow(r.Replicas()...); err != nil {
		return err
	}
	return r.Sync()
}

// Sync waits until the replicas have all that the primary had written before the call.
func (r *Replicated) Sync() error { return caughtUp(r.Primary(), r.Replicas()...) }

// Promote makes the first replica a primary with what it has, and returns it. Nothing else learns
// of it: the primary goes on, and Addr leads to it.
func (r *Replicated) Promote() (*Server, error) {
	replicas := r.Replicas()
	if len(replicas) == 0 {
		return nil, errors.New("promoting: no replica")
	}
	_, err := replicas[0].Do("REPLICAOF", "NO", "ONE")
	return replicas[0], err
}

// FailOver makes the first replica the primary, and the others, the old primary too, its replicas;
// then it breaks all connections through Addr, which leads to the new primary. What the primary had
// written before the call is kept. What unseen, if it is not nil, writes meanwhile is lost, and so
// may be what others write.
func (r *Replicated) FailOver(unseen func() error) error {
	if err := r.Sync(); err != nil {
		return err
	}
	if unseen != nil {
		if err := errors.Join(r.Lag(), unseen()); err != nil {
			return err
		}
	}
	next, err := r.Promote()
	if err != nil {
		return fmt.Errorf("failing over: %w", err)
	}
	if err := letFollow(r.Replicas()...); err != nil {
		return err
	}
	r.mu.Lock()
	for i, s := range r.Nodes {
		if s == next {
			r.primary = i
		}
	}
	r.mu.Unlock()
	r.entry.setTarget(next.Addr())
	err = r.Follow()
	r.entry.Cut()
	return err
}

// Restart ends all servers and starts them again as [Server.Restart] does.
func (r *Replicated) Restart(data Data) error {
	err := restartAll(r.Nodes, data)
	if err != nil {
		return err
	}
	return r.Follow()
}

// restartAll restarts servers side by side.
func restartAll(nodes []*Server, data Data) error {
	return each(len(nodes), func(i int) error { return nodes[i].Restart(data) })
}

// Close ends all servers. Closing twice is allowed.
func (r *Replicated) Close() error {
	var err error
	if r.entry != nil {
		err = r.entry.Close()
	}
	return errors.Join(err, closeAll(r.Nodes))
}
