package servers

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/hasp-go/hasp/conformance/servers/internal/loopback"
)

// MasterName is what the sentinels of [Sentinel] call the primary that they watch.
const MasterName = "hasp"

// sentinels is how many there are: two of them are a majority.
const sentinels = 3

// Sentinel is a primary with replicas, watched by 3 sentinels, which clients ask for the primary's address. The
// sentinels act on their own, too: they replace a primary that has been down, or paused, for 5 s.
type Sentinel struct {
	// Nodes are the servers with data, the one that began as the primary first.
	Nodes []*Server

	// Sentinels are the three that watch them.
	Sentinels []*Server
}

// StartSentinel starts a primary with so many replicas, all with opts, and 3 sentinels, that end with the test, and
// waits until they all know each other. It skips and fails the test as [Start] does.
func StartSentinel(tb TB, kind Kind, replicas int, opts *Options) *Sentinel {
	tb.Helper()
	s := &Sentinel{Nodes: newServers(kind, replicas+1, opts)}
	begin(tb, kind, s, func() error { return s.launch(kind) })
	return s
}

func (s *Sentinel) servers() []*Server { return slices.Concat(s.Nodes, s.Sentinels) }

func (s *Sentinel) close() error { return each(slices.Concat(s.Sentinels, s.Nodes), (*Server).close) }

func (s *Sentinel) launch(kind Kind) error {
	primary := s.Nodes[0]
	return inTurn(
		func() error { return launchAll(s.Nodes) },
		func() error { return followAll(primary, s.Nodes[1:]...) },
		func() error {
			// A PING is sent every second, and a busy machine answers late.
			s.Sentinels = newServers(kind, sentinels, &Options{Config: map[string]string{
				"sentinel monitor " + MasterName:                 fmt.Sprint(loopback.Host, " ", primary.port, " 2"),
				"sentinel down-after-milliseconds " + MasterName: "5000",
				"sentinel failover-timeout " + MasterName:        "20000",
			}})
			for _, one := range s.Sentinels {
				one.sentinel = true
			}
			return launchAll(s.Sentinels)
		},
		// They find each other by what they publish.
		func() error { return s.publishEvery("100") },
		func() error { return s.settle(primary) },
		func() error { return s.publishEvery("2000") },
	)
}

// publishEvery sets how often sentinels publish, in milliseconds. In operation it must be seldom in
// comparison with how often they ask for INFO: after four periods they take a replica that was
// promoted, whose promotion they do not know of, for one that has to be made a replica again.
func (s *Sentinel) publishEvery(ms string) error {
	return insist(s.Sentinels, "SENTINEL", "DEBUG", "publish-period", ms, "info-period", "1000", "ask-period", "100")
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
	for _, node := range s.Nodes {
		if strconv.Itoa(node.port) == port {
			return node, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("the sentinels' primary has port %s", port), err)
}

// FailOver makes the sentinels replace the primary, and waits until all servers follow the new one.
// What the primary had written before the call is kept. What unseen, if it is not nil, writes
// meanwhile is lost, and so may be what others write.
func (s *Sentinel) FailOver(unseen func() error) error {
	old, err := s.Primary()
	if err != nil {
		return err
	}
	replicas := without(s.Nodes, old)
	var next *Server
	err = replace(old, replicas, unseen, func() (err error) {
		next, err = s.promote(replicas)
		return err
	})
	if err != nil {
		return err
	}
	return s.settle(next)
}

// promote makes the sentinels promote one of replicas, and returns it.
func (s *Sentinel) promote(replicas []*Server) (next *Server, err error) {
	err = await(nil, func() error {
		for _, replica := range replicas {
			info, err := replica.Info("replication")
			if err != nil || info["role"] == "master" {
				next = replica
				return err
			}
		}
		// Refused while it is under way, and while no replica is known to be fit.
		err := s.Sentinels[0].run("SENTINEL", "FAILOVER", MasterName)
		return errors.Join(errors.New("no replica was promoted"), err)
	})
	return next, err
}

// await makes all servers follow the primary, as after a restart and as the sentinels would in their
// time, and waits until they do and all sentinels know them all.
func (s *Sentinel) await() error {
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
	known := fmt.Sprintf("name=%s,status=ok,address=%s,slaves=%d,sentinels=%d",
		MasterName, primary.Addr(), len(s.Nodes)-1, sentinels)
	return each(s.Sentinels, func(one *Server) error {
		return one.awaitInfo("sentinel", func(info map[string]string) bool { return info["master0"] == known })
	})
}

// Isolate cuts the primary off from all other servers, but not from clients, and makes the
// sentinels replace it. It goes on as a primary: nothing is closed, and it answers, but nobody
// publishes there any more who asks the sentinels. rejoin makes it a replica of the new primary.
func (s *Sentinel) Isolate() (rejoin func() error, err error) {
	old, err := s.Primary()
	if err != nil {
		return nil, err
	}
	replicas := without(s.Nodes, old)
	if err := caughtUp(old, replicas...); err != nil {
		return nil, err
	}
	// Sentinels make a replica of what was a primary, and end its clients' connections, by these.
	if err := old.run("ACL", "SETUSER", "default", "-replicaof", "-slaveof", "-client|kill"); err != nil {
		return nil, err
	}
	rejoin = func() error {
		if err := old.run("ACL", "SETUSER", "default", "+@all"); err != nil {
			return err
		}
		return s.await()
	}
	if _, err = s.promote(replicas); err == nil {
		err = s.awaitReplaced(old)
	}
	if err != nil {
		return nil, errors.Join(err, rejoin())
	}
	return rejoin, nil
}

// awaitReplaced waits until all sentinels name another primary.
func (s *Sentinel) awaitReplaced(old *Server) error {
	return each(s.Sentinels, func(one *Server) error {
		return await(nil, func() error {
			now, err := s.primarySeenBy(one)
			if err == nil && now == old {
				err = errors.New("the primary was not replaced")
			}
			return err
		})
	})
}

// Restart ends all servers with data, and starts them again as [Server.Restart] does, before the
// sentinels take the primary for down.
func (s *Sentinel) Restart(data Data) error {
	return inTurn(func() error { return restartAll(s.Nodes, data) }, s.await)
}
