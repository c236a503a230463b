// Package processes has tests of several processes on one server: one is killed, stopped or cut off, or all hammer it.
package processes

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// childLease is how long the lease of a leader outlives it.
const childLease = time.Second

// TestElectionUnderFaults has three candidates, over the three drivers, and kills the leader (SIGKILL), stops it
// (SIGSTOP) or cuts it off, again and again. A term begins with the grant, by the server's clock, which a token is. It
// ends with the last moment at which the leader found, by its own clock, that its context had not ended. No term may
// begin before the one before has ended, or before the lease of a killed leader has, by the server's clock. The
// processes and the server share the machine's clock. How long nobody led is logged.
func TestElectionUnderFaults(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	s := servers.Start(t, servers.Redis, nil)
	p := &polity{
		server: s, heard: make(chan remark, 1000),
		leaders: map[int64]*polityCandidate{}, ends: map[int64]int64{}, longest: map[string]time.Duration{},
	}
	for i := range cells.Adapters() {
		p.stand(t, i)
	}
	p.hear(t)
	cells.Killing(t, func() {
		for _, fault := range []string{"killed", "stopped", "cut off"} {
			// Others have asked, and wait. The last renewal was at another time in each round.
			time.Sleep(childLease/2 + childLease/20*time.Duration(len(p.leaders)%7))
			p.strike(t, fault)
		}
	})
	overlaps := 0
	tokens := slices.Sorted(maps.Keys(p.leaders))
	for i, token := range tokens[1:] {
		if p.ends[tokens[i]] >= token {
			overlaps++
		}
	}
	t.Logf("%d elections, %d overlaps; at most without a leader, with a lease of %v: %v", len(tokens), overlaps,
		childLease, p.longest)
	require.Zero(t, overlaps)
	require.Greater(t, len(tokens), 3)
}

// polity has the candidates, and what they have said of terms, by their tokens.
type polity struct {
	server  *servers.Server
	heard   chan remark
	leaders map[int64]*polityCandidate
	ends    map[int64]int64          // of the terms that have ended, in microseconds
	longest map[string]time.Duration // without a leader, by the fault
}

// polityCandidate is a process with a link of its own.
type polityCandidate struct {
	*cells.Child
	adapter int
	link    *proxy.Proxy
}

// remark is a line that a candidate says: "leads", or "led", the term's token, and when it ended in microseconds.
type remark struct {
	by    *polityCandidate
	verb  string
	token int64
	end   int64
}

// stand starts a candidate over one of the drivers.
func (p *polity) stand(t *testing.T, adapter int) {
	t.Helper()
	link := proxy.Start(t, p.server.Addr(), nil)
	c := &polityCandidate{
		Child:   cells.StartChild(t, os.Args[0], "TestCandidate", link.Addr(), cells.Adapters()[adapter].Name),
		adapter: adapter, link: link,
	}
	go func() {
		for line := range c.Lines {
			r := remark{by: c}
			if _, err := fmt.Sscan(line, &r.verb, &r.token, &r.end); err == nil {
				p.heard <- r
			}
		}
	}()
}

// hear waits for what a candidate says next.
func (p *polity) hear(t *testing.T) {
	t.Helper()
	r := cells.Within(t, conformance.Patience, "the next term, or its end", p.heard)
	if r.verb == "led" {
		p.ends[r.token] = r.end
		return
	}
	require.NotContains(t, p.leaders, r.token, "two terms have one token")
	p.leaders[r.token] = r.by
}

// last returns the token of the last term.
func (p *polity) last() int64 { return slices.Max(slices.Collect(maps.Keys(p.leaders))) }

// strike makes a fault of the leader, and waits until another leads, and until the former leader has learned that it
// leads no more.
func (p *polity) strike(t *testing.T, fault string) {
	t.Helper()
	token, began := p.last(), time.Now()
	undo := p.begin(t, p.leaders[token], fault)
	end := p.endOfLease(t, token)
	for p.last() == token {
		p.hear(t)
	}
	undo()
	for p.ends[token] == 0 && fault != "killed" {
		p.hear(t)
	}
	next := slices.Min(slices.DeleteFunc(slices.Collect(maps.Keys(p.leaders)), func(t int64) bool { return t <= token }))
	if vacancy := time.UnixMicro(next).Sub(began); vacancy > 0 { // Else it had lost its lease before.
		p.longest[fault] = max(p.longest[fault], vacancy.Round(time.Millisecond))
		require.GreaterOrEqual(t, next, end, "the lease had not ended")
	}
}

// endOfLease returns when the lease of a term ends by the server's clock, in microseconds; 0 if it has ended.
func (p *polity) endOfLease(t *testing.T, token int64) int64 {
	t.Helper()
	end := cells.Number(t, p.server, "PEXPIRETIME", "election")
	if int64(cells.Number(t, p.server, "GET", "redisson_lock_token:{election}")) != token { // It is the lease of another term.
		return 0
	}
	return 1000 * int64(end)
}

// begin makes a fault of a leader, and returns what ends it.
func (p *polity) begin(t *testing.T, leader *polityCandidate, fault string) (recover func()) {
	t.Helper()
	switch fault {
	case "killed":
		leader.Kill(t)
		p.stand(t, leader.adapter)
		return func() {}
	case "stopped":
		require.NoError(t, leader.Pause())
		return func() { require.NoError(t, leader.Resume()) }
	default:
		leader.link.Blackhole()
		return func() {
			leader.link.Restore()
			leader.link.Cut() // What was lost on its connections is lost.
		}
	}
}

// TestCandidate is the process of a candidate.
func TestCandidate(t *testing.T) {
	args, _ := cells.AsChild(t)
	client := cells.Named(args[1]).Primitives(t, cells.At(args[0]), &primitives.Options{WatchdogLease: childLease})
	e := client.NewElection("election", &primitives.ElectionOptions{ID: args[1]})
	err := e.Run(t.Context(), func(ctx context.Context, lease *primitives.Lease) error {
		cells.Say("leads", lease.Token(), 0)
		var last time.Time
		for now := time.Now(); ctx.Err() == nil; now = time.Now() {
			last = now // It led then: its context had not ended after that.
			time.Sleep(time.Millisecond)
		}
		cells.Say("led", lease.Token(), last.UnixMicro())
		return ctx.Err()
	})
	cells.Say("failed:", strings.ReplaceAll(err.Error(), "\n", " "))
}

// perSecond is the rate of the throttle that processes hammer. It is far below what they ask for on any machine, and
// frees no permit in a whole number of microseconds.
const perSecond = 97

// TestThrottleOfManyProcesses: 20 processes, over the three drivers, ask for permits of one throttle as fast as they can
// for HASP_HAMMER (3 s), once its burst is taken. By the server's clock they get all that the rate frees, and no permit
// more. A failover that loses all grants of half that time costs one burst at most.
func TestThrottleOfManyProcesses(t *testing.T) {
	cells.Proof(t)
	lasts := cells.Got(time.ParseDuration(cmp.Or(os.Getenv("HASP_HAMMER"), "3s")))(t)
	t.Run("Sound", func(t *testing.T) {
		const burst = 60 * perSecond // No permit is lost unless all processes stand still for so long.
		got := hammer(t, burst, func(*servers.Replicated) { time.Sleep(lasts) })
		require.LessOrEqual(t, got.granted, got.most)
		require.GreaterOrEqual(t, got.granted+got.free, got.least)
	})
	t.Run("Failover", func(t *testing.T) {
		const burst = perSecond
		got := hammer(t, burst, func(r *servers.Replicated) {
			require.NoError(t, r.FailOver(func() error { time.Sleep(lasts / 2); return nil }))
			s := cells.Server{Server: r.Primary()}
			s.Await(t, "the new primary is asked", func() bool { return s.Calls(t, "evalsha") > burst })
			time.Sleep(lasts / 2)
		})
		require.LessOrEqual(t, got.granted, got.most+burst)
	})
}

// hammering is what processes were granted, what then was free, and what the rate had freed at least and at most.
type hammering struct{ granted, free, least, most int }

// hammer takes the burst, has the processes begin, and orders their end after work.
func hammer(t *testing.T, burst int, work func(*servers.Replicated)) (got hammering) {
	t.Helper()
	r, all := servers.StartReplicated(t, servers.Redis, 1, nil), make([]*cells.Child, 20)
	now := func() int {
		return cells.Number(t, r.Primary(), "EVAL", "local t = redis.call('time') return t[1] * 1000000 + t[2]", "0")
	}
	for i := range all {
		a := cells.Adapters()[i%len(cells.Adapters())]
		all[i] = cells.StartChild(t, os.Args[0], "TestHammer", a.Name, r.Addr(), strconv.Itoa(burst))
		require.Equal(t, "ready", all[i].Next(t))
	}
	before := now()
	require.True(t, cells.Got(throttleOf(t, "GoRedis", r.Addr(), burst).Allow(t.Context(), burst))(t).Allowed)
	after := now()
	for _, c := range all {
		require.NoError(t, c.Order("begin"))
	}
	work(r)
	asked := 0
	for _, c := range all {
		require.NoError(t, c.Order("end"))
		var granted, tries int
		require.NoError(t, cells.Err(fmt.Sscan(c.Next(t), &granted, &tries)))
		got.granted, asked = got.granted+granted, asked+tries
	}
	got.least = perSecond * (now() - after) / 1e6
	last := cells.Got(throttleOf(t, "GoRedis", r.Addr(), burst).State(t.Context()))(t)
	got.most, got.free = perSecond*(now()-before)/1e6, last.Remaining
	t.Logf("%d calls: %+v, of a burst of %d", asked, got, burst)
	return got
}

// throttleOf returns the throttle at a client of its own, over the adapter of that name.
func throttleOf(t *testing.T, adapter, addr string, burst int) *primitives.Throttle {
	t.Helper()
	return cells.Named(adapter).Primitives(t, cells.At(addr), nil).NewThrottle("hammered",
		primitives.Limit{Permits: perSecond, Interval: time.Second, Burst: burst},
		&primitives.ThrottleOptions{Unavailable: primitives.Refuse(), Timeout: conformance.Patience})
}

// TestHammer is a process that takes one to three permits at a time, from one order to the next.
func TestHammer(t *testing.T) {
	args, orders := cells.AsChild(t)
	burst := cells.Got(strconv.Atoi(args[2]))(t)
	throttle := throttleOf(t, args[0], args[1], burst)
	cells.Say("ready")
	<-orders
	for granted, asked := 0, 1; ; asked++ {
		n := 1 + asked%3
		if d, err := throttle.Allow(t.Context(), n); err == nil && d.Allowed {
			granted += n
		}
		select {
		case <-orders:
			cells.Say(granted, asked)
			return
		default:
		}
	}
}
