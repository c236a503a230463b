package servers

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Replicated is a primary with one replica, which follows it through a proxy of its own, so that
// the replica can be made to lag.
type Replicated struct {
	// Primary and Replica are the servers in the roles that they began with.
	Primary, Replica *Server

	link *Proxy
}

// StartReplicated starts a primary with a replica that end with the test, and waits until the
// replica follows. It skips and fails the test as [Start] does.
func StartReplicated(tb TB, kind Kind, opts *Options) *Replicated {
	tb.Helper()
	Need(tb, kind)
	r, err := LaunchReplicated(kind, opts)
	if err != nil {
		tb.Fatalf("starting %s with a replica: %v", kind, err)
	}
	tb.Cleanup(func() {
		r.Primary.showLog(tb)
		r.Replica.showLog(tb)
		if err := r.Close(); err != nil {
			tb.Errorf("closing %s with a replica: %v", kind, err)
		}
	})
	return r
}

// LaunchReplicated starts a primary with a replica, both with opts, and waits until the replica
// follows. The caller must close them.
func LaunchReplicated(kind Kind, opts *Options) (*Replicated, error) {
	servers := make([]*Server, 2)
	err := each(2, func(i int) (err error) {
		servers[i], err = Launch(kind, opts)
		return err
	})
	r := &Replicated{Primary: servers[0], Replica: servers[1]}
	if err == nil {
		r.link, err = LaunchProxy(r.Primary.Addr(), &ProxyOptions{Raw: true})
	}
	if err == nil {
		err = r.Follow()
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Follow makes the replica follow the primary, again after Promote, and waits until it does. What
// the replica had of its own is lost.
func (r *Replicated) Follow() error {
	if _, err := r.Replica.Do("REPLICAOF", host, strconv.Itoa(r.link.Port())); err != nil {
		return err
	}
	return r.awaitReplica(func(info map[string]string) bool {
		return info["master_link_status"] == "up"
	})
}

// Lag holds replication up: what the primary writes from now on never reaches the replica, unless
// [Replicated.CatchUp] lets it. Both servers take the link for alive, for a minute by default.
func (r *Replicated) Lag() { r.link.Blackhole(BothWays) }

// CatchUp ends Lag, and waits until the replica has all that the primary had written before the
// call.
func (r *Replicated) CatchUp() error {
	r.link.Heal()
	return r.Sync()
}

// Sync waits until the replica has all that the primary had written before the call.
func (r *Replicated) Sync() error {
	info, err := r.Primary.Info("replication")
	if err != nil {
		return err
	}
	written, err := strconv.ParseInt(info["master_repl_offset"], 10, 64)
	if err != nil {
		return err
	}
	return r.awaitReplica(func(info map[string]string) bool {
		seen, err := strconv.ParseInt(info["slave_repl_offset"], 10, 64)
		return err == nil && seen >= written && info["master_link_status"] == "up"
	})
}

// Promote makes the replica a primary with what it has, as a failover does. The old primary is not
// told, and goes on.
func (r *Replicated) Promote() error {
	_, err := r.Replica.Do("REPLICAOF", "NO", "ONE")
	return err
}

func (r *Replicated) awaitReplica(done func(info map[string]string) bool) error {
	var info map[string]string
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); {
		var err error
		if info, err = r.Replica.Info("replication"); err != nil {
			return err
		}
		if done(info) {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return fmt.Errorf("the replica does not follow: %v", info)
}

// Close ends both servers. Closing twice is allowed.
func (r *Replicated) Close() error {
	var err error
	if r.link != nil {
		err = r.link.Close()
	}
	for _, s := range []*Server{r.Primary, r.Replica} {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	return err
}
