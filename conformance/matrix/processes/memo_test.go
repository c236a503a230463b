package processes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
	"github.com/hasp-go/hasp/primitives"
)

// memoKeys is how many keys each replica asks for, and memoCallers how many it asks for at a time.
const memoKeys, memoCallers = 10_000, 32

// childLease is the lease of the runs: a fault outlasts it.
const childLease = time.Second

// TestMemoUnderFaults has three replicas, over the three drivers, ask for the same keys. Meanwhile one is killed,
// stopped and cut off, and the server is paused. All callers of a key get the result of one run, and a ledger that
// claims the run's token at its write has one charge for each key. A failover may lose results, but no charge is made
// twice.
func TestMemoUnderFaults(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	for name, faults := range map[string][]string{
		"Processes": {"killed", "stopped", "cut off", "paused"},
		"Failover":  {"failed over"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shop{
				server: servers.StartReplicated(t, servers.Redis, 1, nil), ledger: cells.StartServer(t),
				said: make(chan string, 1000), results: map[string]string{},
			}
			for i := range cells.Adapters() {
				s.open(t, i)
			}
			for i, fault := range faults {
				s.hear(t, func() bool { return len(s.results) > memoKeys*(i+1)/(len(faults)+1) })
				s.strike(t, fault)
			}
			s.hear(t, func() bool { return s.done == len(cells.Adapters()) })
			t.Logf("%d keys, %d results of another run, %d runs beyond one for each key; errors: %v", len(s.results), s.others,
				cells.Number(t, s.ledger, "GET", "runs")-memoKeys, s.failed)
			require.Len(t, s.results, memoKeys)
			require.Equal(t, memoKeys, cells.Number(t, s.ledger, "HLEN", "charges"))
			require.True(t, s.others == 0 || name == "Failover")
		})
	}
}

// shop has the replicas, and what they said: the results, by their keys, and how many results differed from the first.
type shop struct {
	server   *servers.Replicated
	ledger   cells.Server
	said     chan string
	replicas []*replica
	results  map[string]string
	others   int
	done     int
	failed   map[string]int
}

// replica is a process with a link of its own.
type replica struct {
	*cells.Child
	link *proxy.Proxy
}

// open starts a replica over one of the drivers.
func (s *shop) open(t *testing.T, adapter int) {
	t.Helper()
	link := proxy.Start(t, s.server.Addr(), nil)
	c := cells.StartChild(t, os.Args[0], "TestMemoReplica", link.Addr(), cells.Adapters()[adapter].Name, s.ledger.Addr())
	s.replicas = slices.Insert(s.replicas, min(adapter, len(s.replicas)), &replica{Child: c, link: link})
	go func() {
		for line := range c.Lines {
			s.said <- line
		}
	}()
}

// hear takes in what replicas say until something is so.
func (s *shop) hear(t *testing.T, so func() bool) {
	t.Helper()
	for !so() {
		line := cells.Within(t, time.Minute, "a result, or an error", s.said)
		key, result, _ := strings.Cut(line, " ")
		switch first, known := s.results[key]; {
		case key == "done":
			s.done++
		case strings.HasPrefix(result, "failed:"):
			s.failed = counted(s.failed, result)
		case !known:
			s.results[key] = result
		case first != result:
			s.others++
		}
	}
}

// counted adds one to a text's count.
func counted(all map[string]int, text string) map[string]int {
	if all == nil {
		all = make(map[string]int)
	}
	all[text]++
	return all
}

// strike makes a fault, which outlasts the leases of runs, and ends it.
func (s *shop) strike(t *testing.T, fault string) {
	t.Helper()
	r, primary := s.replicas[0], s.server.Primary()
	switch fault {
	case "killed":
		r.Kill(t)
		s.replicas = s.replicas[1:]
		s.open(t, 0)
	case "stopped":
		require.NoError(t, r.Pause())
		time.Sleep(2 * childLease)
		require.NoError(t, r.Resume())
	case "cut off":
		r.link.Blackhole()
		time.Sleep(2 * childLease)
		r.link.Restore()
		r.link.Cut() // What was lost on its connections is lost.
	case "paused":
		require.NoError(t, primary.Pause())
		time.Sleep(2 * childLease)
		require.NoError(t, primary.Resume())
	case "failed over":
		require.NoError(t, s.server.FailOver(func() error { time.Sleep(childLease / 2); return nil }))
	}
}

// TestMemoReplica is a process that asks for all keys, again after an error, and says each result. Its work charges once
// for each key, and returns the token of the run. ran says for each call whether its work was called.
func TestMemoReplica(t *testing.T) {
	args, _ := cells.AsChild(t)
	client := cells.Named(args[1]).Primitives(t, cells.At(args[0]), &primitives.Options{WatchdogLease: childLease})
	memo := primitives.NewMemo[int64](client, "charge", nil)
	_, port, _ := strings.Cut(args[2], ":")
	ledger := servers.At(cells.Got(strconv.Atoi(port))(t))
	var ask func(key string) error
	ask = func(key string) error {
		called := false
		token, ran, err := memo.Do(t.Context(), key, func(_ context.Context, run primitives.MemoRun) (int64, error) {
			called = true
			_, counted := ledger.Do("INCR", "runs")
			_, err := ledger.Do("HSETNX", "charges", key, strconv.FormatInt(run.Lease.Token(), 10))
			return run.Lease.Token(), errors.Join(counted, err)
		})
		if ran != called {
			return fmt.Errorf("ran is %t: %w", ran, err)
		}
		if err != nil {
			cells.Say(key, "failed:", "ran", ran, errors.Is(err, primitives.ErrLost), errors.Is(err, primitives.ErrIndeterminate))
			return ask(key)
		}
		cells.Say(key, token)
		return nil
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range memoCallers {
		all.Go(func() {
			for key := next.Add(1); key <= memoKeys; key = next.Add(1) {
				if err := ask(strconv.FormatInt(key, 10)); err != nil {
					cells.Say("wrong", err)
				}
			}
		})
	}
	all.Wait()
	cells.Say("done")
	select {}
}

// TestMemoStampede has 1 000 callers in four processes ask for one key that has no result. Work runs once, and each
// process asks the server at most five times.
func TestMemoStampede(t *testing.T) {
	cells.Proof(t)
	s := cells.StartServer(t)
	all := make([]*cells.Child, 4)
	for i := range all {
		all[i] = cells.StartChild(t, os.Args[0], "TestMemoCrowd", s.Addr(), cells.Adapters()[i%len(cells.Adapters())].Name)
		require.Equal(t, "ready", all[i].Next(t))
	}
	before := s.Calls(t, "evalsha") + s.Calls(t, "eval")
	for _, c := range all {
		require.NoError(t, c.Order("begin"))
	}
	runs, late := 0, []int{}
	stored := 0
	for _, c := range all {
		for range 250 {
			var ran bool
			var at int
			require.NoError(t, cells.Err(fmt.Sscan(c.Next(t), &ran, &at)))
			if late = append(late, at); ran {
				runs, stored = runs+1, at
			}
		}
	}
	slices.Sort(late)
	asked := s.Calls(t, "evalsha") + s.Calls(t, "eval") - before
	t.Logf("%d requests; of 1 000 callers the median has the result %d us after the runner, 99 of 100 after %d us", asked,
		late[500]-stored, late[990]-stored)
	require.Equal(t, 1, runs)
	require.LessOrEqual(t, asked, 5*len(all))
}

// TestMemoCrowd is a process with 250 callers, each of which says whether it ran work, and when it had the result.
func TestMemoCrowd(t *testing.T) {
	args, orders := cells.AsChild(t)
	memo := primitives.NewMemo[int](cells.Named(args[1]).Primitives(t, cells.At(args[0]), nil), "page", nil)
	require.NoError(t, cells.Err(memo.Forget(t.Context(), "home"))) // Its link is up.
	cells.Say("ready")
	<-orders
	for range 250 {
		go func() {
			_, ran, err := memo.Do(t.Context(), "home", func(context.Context, primitives.MemoRun) (int, error) {
				time.Sleep(time.Second) // All others ask meanwhile.
				return 1, nil
			})
			if err == nil {
				cells.Say(ran, time.Now().UnixMicro())
			}
		}()
	}
	select {}
}
