package servers

import (
	"errors"
	"fmt"
	"strconv"
)

// MasterName is what the sentinels of [Sentinel] call the primary that they watch.
const MasterName = "hasp"

const (
	// sentinels is how many there are: two of them are a majority.
	sentinels = 3

	// downAfter is for how many milliseconds a primary must not answer until it is replaced;
	// crashAfter is that for one that is known to be down. A PING is sent every second, and a busy
	// machine answers late.
	downAfter  = "5000"
	crashAfter = "2500"
)

// Sentinel is a primary with replicas, watched by 3 sentinels, which clients ask for the primary's
// address. The sentinels act on their own, too: they replace a primary that has been down, or
// paused, for 5 s.
type Sentinel struct {
	// Nodes are the servers with data, the one that began as the primary first.
	Nodes []*Server

	// Sentinels are the three that watch them.
	Sentinels []*Server
}

// StartSentinel starts a primary with so many replicas, all with opts, and 3 sentinels, that end
// with the test, and waits until they all know each other. It skips and fails the test as [Start]
// does.
func StartSentinel(tb TB, kind Kind, replicas int, opts *Options) *Sentinel {
	tb.Helper()
	Need(tb, kind)
	s, err := LaunchSentinel(kind, replicas, opts)
	if err != nil {
		tb.Fatalf("starting %s with sentinels: %v", kind, err)
	}
	tb.Cleanup(func() { endAll(tb, append(s.Nodes, s.Sentinels...), s.Close) })
	return s
}

// LaunchSentinel starts a primary with so many replicas, all with opts, and 3 sentinels, and waits
// until they all know each other. The caller must close them.
func LaunchSentinel(kind Kind, replicas int, opts *Options) (*Sentinel, error) {
	nodes, err := launchAll(kind, replicas+1, opts)
	s := &Sentinel{Nodes: nodes, Sentinels: make([]*Server, sentinels)}
	if err == nil {
		err = followAll(nodes[0], nodes[1:]...)
	}
	if err == nil {
		err = each(sentinels, func(i int) error { return s.launchSentinel(kind, i) })
	}
	if err == nil {
		err = s.settle(nodes[0])
	}
	if err == nil {
		err = each(sentinels, func(i int) error { return s.publishEvery(i, "2000") })
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Sentinel) launchSentinel(kind Kind, i int) (err error) {
	watched := host + " " + strconv.Itoa(s.Nodes[0].Port()) + " 2"
	s.Sentinels[i], err = launch(kind, &Options{Config: map[string]string{
		"sentinel monitor " + MasterName:                 watched,
		"sentinel down-after-milliseconds " + MasterName: downAfter,
		"sentinel failover-timeout " + MasterName:        "20000",
	}}, true)
	if err != nil {
		return err
	}
	// They find each other by what they publish.
	return s.publishEvery(i, "100")
}

// publishEvery sets how often sentinel i publishes, in milliseconds. In operation it must be seldom
// in comparison with how often they ask for INFO: after four periods they take a replica that was
// promoted, whose promotion they do not know of, for one that has to be made a replica again.
func (s *Sentinel) publishEvery(i int, ms string) error {
	_, err := s.Sentinels[i].Do("SENTINEL", "DEBUG", "publish-period", ms, "info-period", "1000",
		"ask-period", "100")
	return err
}

// Addrs returns the addresses of the sentinels.
func (s *Sentinel) Addrs() []string {
	addrs := make([]string, len(s.Sentinels))
	for i, one := range s.Sentinels {
		addrs[i] = one.Addr()
	}
	return addrs
}

// Primary returns the server that is the primary by the first sentinel's account.
func (s *Sentinel) Primary() (*Server, error) { return s.primarySeenBy(s.Sentinels[0]) }

func (s *Sentinel) primarySeenBy(sentinel *Server) (*Server, error) {
	reply, err := sentinel.Do("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MasterName)
	if err != nil {
		return nil, err
	}
	pair, err := reply.Tuple(2)
	if err != nil {
		return nil, err
	}
	port, err := pair[1].Text()
	if err != nil {
		return nil, err
	}
	for _, node := range s.Nodes {
		if strconv.Itoa(node.Port()) == port {
			return node, nil
		}
	}
	return nil, fmt.Errorf("the sentinels' primary has port %s", port)
}

func (s *Sentinel) downAfter(ms string) error {
	return each(sentinels, func(i int) error {
		_, err := s.Sentinels[i].Do("SENTINEL", "SET", MasterName, "down-after-milliseconds", ms)
		return err
	})
}

// FailOver makes the sentinels replace the primary, and waits until all servers follow the new one.
// What the primary had written before the call is kept. What unseen, if it is not nil, writes
// meanwhile is lost, and so may be what others write.
func (s *Sentinel) FailOver(unseen func() error) error {
	old, err := s.Primary()
	if err != nil {
		return err
	}
	if err := s.Sync(); err != nil {
		return err
	}
	replicas := without(s.Nodes, old)
	if unseen != nil {
		if err := errors.Join(cutOff(old, replicas...), unseen()); err != nil {
			return err
		}
	}
	var next *Server
	err = awaitNil(func() (err error) {
		next, err = s.promoteOne(replicas)
		return err
	})
	if err := errors.Join(err, letFollow(replicas...)); err != nil {
		return err
	}
	return s.settle(next)
}

// Crash kills the primary, and waits until the sentinels have replaced it, for some 4 s. It returns
// the killed server. [Server.Restart], then [Sentinel.Await] bring it back.
func (s *Sentinel) Crash() (*Server, error) {
	old, err := s.Primary()
	if err != nil {
		return nil, err
	}
	old.Kill()
	if err := s.downAfter(crashAfter); err != nil {
		return old, err
	}
	err = awaitNil(func() error {
		next, err := s.Primary()
		if err == nil && next == old {
			err = errors.New("the primary was not replaced")
		}
		return err
	})
	return old, errors.Join(err, s.downAfter(downAfter))
}

// promoteOne returns the one of replicas that has become a primary, or asks for that and returns an
// error.
func (s *Sentinel) promoteOne(replicas []*Server) (*Server, error) {
	for _, replica := range replicas {
		info, err := replica.Info("replication")
		if err != nil || info["role"] == "master" {
			return replica, err
		}
	}
	// Refused while it is under way, and while no replica is known to be fit.
	_, err := s.Sentinels[0].Do("SENTINEL", "FAILOVER", MasterName)
	return nil, errors.Join(errors.New("no replica was promoted"), err)
}

// Await makes all servers follow the primary, as after a restart and as the sentinels would in their
// time, and waits, for up to 30 s, until they do and all sentinels know them all.
func (s *Sentinel) Await() error {
	primary, err := s.Primary()
	if err != nil {
		return err
	}
	return s.settle(primary)
}

func (s *Sentinel) settle(primary *Server) error {
	if err := followAll(primary, without(s.Nodes, primary)...); err != nil {
		return err
	}
	for _, one := range s.Sentinels {
		err := one.awaitInfo("sentinel", func(info map[string]string) bool {
			return info["master0"] == fmt.Sprintf("name=%s,status=ok,address=%s,slaves=%d,sentinels=%d",
				MasterName, primary.Addr(), len(s.Nodes)-1, sentinels)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Sync waits until the replicas have all that the primary had written before the call.
func (s *Sentinel) Sync() error {
	primary, err := s.Primary()
	if err != nil {
		return err
	}
	return caughtUp(primary, without(s.Nodes, primary)...)
}

// Restart ends all servers with data, and starts them again as [Server.Restart] does, before the
// sentinels take the primary for down.
func (s *Sentinel) Restart(data Data) error {
	if err := restartAll(s.Nodes, data); err != nil {
		return err
	}
	return s.Await()
}

// Close ends all. Closing twice is allowed.
func (s *Sentinel) Close() error { return errors.Join(closeAll(s.Sentinels), closeAll(s.Nodes)) }
