package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// setting is what a machine's world is made of.
type setting struct {
	clients int
	lease   time.Duration // the watchdog's
	fixed   time.Duration // a fixed lease
	poll    time.Duration
}

// act is one action of a machine: what is done, by which client, to which object. Which, Flag and
// For mean what the action makes of them.
type act struct {
	Op     string
	Client int
	Object int
	Which  int
	Flag   bool
	For    time.Duration
	Hurry  int // of a call: 0: its context has ended, 1 and 2: it ends, 3 and 4: at a certain instant
}

// GoString is what rapid prints.
func (a act) GoString() string { return a.String() }

// String returns an action in a form that can be read in the report of a failure.
func (a act) String() string {
	return fmt.Sprintf("%s client %d object %d which %d %v for %v hurry %d",
		a.Op, a.Client, a.Object, a.Which, a.Flag, a.For, a.Hurry)
}

// propertyObjects is how many objects a machine has.
const propertyObjects = 2

// drawSetting draws a machine's world.
func drawSetting(t *rapid.T) setting {
	return setting{
		clients: rapid.IntRange(1, 3).Draw(t, "clients"),
		lease:   oneOf(t, "lease", 30000, 1000, 300),
		fixed:   oneOf(t, "fixed", 100, 2000, 60000),
		poll:    rapid.SampledFrom([]time.Duration{time.Hour, 5 * time.Second}).Draw(t, "poll"),
	}
}

// suited returns a setting that is as good for p. A waiter sends many heartbeats while a much longer lease ends.
func (p *Primitive[S, I, O]) suited(s setting) setting {
	if short, long := min(s.lease, s.fixed), max(s.lease, s.fixed); p.Passes != nil && long > 30*short {
		s.fixed = s.lease
	}
	return s
}

// oneOf draws one of some numbers of milliseconds.
func oneOf(t *rapid.T, label string, millis ...int) time.Duration {
	return time.Duration(rapid.SampledFrom(millis).Draw(t, label)) * time.Millisecond
}

func drawAct(ops []string, s setting) *rapid.Generator[act] {
	return rapid.Custom(func(t *rapid.T) act {
		return act{
			Op:     rapid.SampledFrom(ops).Draw(t, "op"),
			Client: rapid.IntRange(0, s.clients-1).Draw(t, "client"),
			Object: rapid.IntRange(0, propertyObjects-1).Draw(t, "object"),
			Which:  rapid.IntRange(0, 5).Draw(t, "which"),
			Flag:   rapid.Bool().Draw(t, "flag"),
			For:    drawSpan(t, s),
			Hurry:  rapid.IntRange(0, 9).Draw(t, "hurry"),
		}
	})
}

// drawSpan draws a time that means something to a lease: a moment, or just before or after a third of it, its end for
// its holder, or its end. It is never a whole millisecond, so nothing happens at the very same time as a timer.
func drawSpan(t *rapid.T, s setting) time.Duration {
	const odd = 137 * time.Microsecond
	lease := rapid.SampledFrom([]time.Duration{s.lease, s.fixed}).Draw(t, "lease")
	near := rapid.SampledFrom([]time.Duration{-time.Millisecond, time.Millisecond}).Draw(t, "near")
	switch rapid.IntRange(0, 7).Draw(t, "span") {
	case 0:
		return lease/3 + near + odd
	case 1:
		return lease - max(lease/10, 2*time.Millisecond) + near + odd
	case 2:
		return lease + near + odd
	case 3:
		return 2*lease + odd
	}
	return odd + drawDuration(t, "moment", 60*time.Millisecond)
}

// Properties implements [Subject].
func (p *Primitive[S, I, O]) Properties(t *testing.T, h *harness.Harness, reached *Coverage) {
	t.Helper()
	h = p.over(h)
	ops := p.acts()
	defer func() { reached.require(t, p.mustReach(reached.copy()["actions"])) }()
	rapid.Check(t, func(r *rapid.T) {
		s := p.suited(drawSetting(r))
		rapid.SyncTest(r, func(r *rapid.T) { p.virtualProperty(r, h, ops, s, reached) })
	})
}

// mustReach are the situations that machines get into within a number of actions.
func (p *Primitive[S, I, O]) mustReach(actions int) []string {
	const enough = 3000
	if actions < enough {
		return nil
	}
	all := p.workload().always
	all = append(slices.Clone(all), "answer", "closed", "conflict", "failure", "impatience")
	switch {
	case p.hasLeases():
		all = append(all[1:], "refusal", "renewal", "re-entry", "loss", "forgotten by the server",
			"grant given back", "unlock left behind")
	case p.Takes != nil:
		all = append(all, "refusal", "put back", "release left behind", "lost")
	}
	return all
}

func (p *Primitive[S, I, O]) virtualProperty(r *rapid.T, h *harness.Harness, ops []string, s setting, reached *Coverage) {
	ctx := context.Background()
	e := harness.NewEnv(h.Bubble())
	defer outlast()
	defer e.Close()
	orFatal := func(do func()) {
		if err := must.Catch(do); err != nil {
			r.Fatal(stable(err))
		}
	}
	var m *machine[S, I, O]
	orFatal(func() { m = newMachine(ctx, p, e, s, true, reached.add) })
	actions := map[string]func(*rapid.T){
		"": func(*rapid.T) { orFatal(func() { m.check(ctx) }) },
		"act": func(r *rapid.T) {
			a := drawAct(ops, s).Draw(r, "act")
			reached.add("actions")
			orFatal(func() { m.act(ctx, a) })
		},
	}
	r.Repeat(actions)
	r.Repeat(actions) // What rapid does by default is little.
	orFatal(func() { m.end(ctx) })
}

// random is what differs each time in the texts of errors: cases' tags, and owners.
var random = regexp.MustCompile(`conf-[0-9A-Z]{10}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:-?[0-9]+`)

// stable returns the text of err, with numbers for what is random: rapid makes a failure smaller if
// it finds it again by its text.
func stable(err error) string {
	var seen []string
	return random.ReplaceAllStringFunc(err.Error(), func(name string) string {
		if !slices.Contains(seen, name) {
			seen = append(seen, name)
		}
		return fmt.Sprint("#", slices.Index(seen, name))
	})
}

// outlast lets what is still under way in a bubble come to its end: nothing goes on there when the
// bubble's first goroutine has ended.
func outlast() { time.Sleep(time.Hour) }

// endlessLease is one whose end comes too late for everybody: a waiter is woken by a message, or it is stuck.
const endlessLease = 10 * time.Minute

// durations generates whole milliseconds up to most, 0 in half of the cases.
func durations(most time.Duration) *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration {
		n := rapid.IntRange(-int(most.Milliseconds()), int(most.Milliseconds())).Draw(t, "ms")
		return time.Duration(max(0, n)) * time.Millisecond
	})
}

func drawDuration(t *rapid.T, label string, most time.Duration) time.Duration {
	return durations(most).Draw(t, label)
}

// signs are the heartbeats of a waiter, where others' scripts grant.
type signs struct {
	sent  map[int64]*scriptRun // by their numbers
	asked int64                // the number of the last acquire
	shown time.Time            // when the last was sent
	heard *Grant               // since the last acquire, by a message or the answer to a heartbeat
}

// signsSent notes the heartbeats that a client sends.
func (m *machine[S, I, O]) signsSent(r *scriptRun, ins []I) {
	m.eachSign(ins, func(c *claim[S, I, O], stamp int64, asks bool) {
		c.life.sent[stamp], c.life.shown = r, r.sent
		if asks {
			c.life.asked, c.life.heard = stamp, nil
		}
	})
}

// eachSign calls do for each claim whose owner sends a heartbeat, with its number, and whether it asks.
func (m *machine[S, I, O]) eachSign(ins []I, do func(c *claim[S, I, O], stamp int64, asks bool)) {
	if m.of.Passes == nil {
		return
	}
	for _, in := range ins {
		act, _, _ := m.of.Hold.Of(in)
		owners, stamp := m.of.Passes.Signs(in)
		for _, owner := range owners {
			if c := m.claims[owner]; c != nil {
				do(c, stamp, act == Asks)
			}
		}
	}
}

// heard implements watcher: a message says that an owner was granted the object. Its client leaves to a beat
// what is nearly over, and ignores what is older than the last acquire.
func (m *machine[S, I, O]) heard(_ int, message string) {
	if m.of.Passes == nil {
		return
	}
	g := m.of.Passes.Read(message)
	c := m.claims[g.Owner]
	if c == nil || g.Stamp < c.life.asked {
		return
	}
	if sign := c.life.sent[g.Stamp]; sign != nil && time.Since(sign.sent) <= m.place(c.call)*4/5 {
		c.life.heard = &g
		m.learns(c)
	}
}

// learning reports whether a claim's client has yet to learn of a grant.
func (m *machine[S, I, O]) learning(c *claim[S, I, O]) bool {
	return !c.granted && c.over.IsZero() && c.call.ended.IsZero() && c.call.waits()
}

// signsAnswered takes the answer to heartbeats, which says who holds the object. A client waits for it until the
// next heartbeat is due. A server's refusal ends the calls of those in the queue.
func (m *machine[S, I, O]) signsAnswered(r *scriptRun) {
	var server *backend.ServerError
	refused := errors.As(r.err, &server) && !m.goesOn(r.err)
	m.eachSign(m.of.Asks(r.script()), func(c *claim[S, I, O], stamp int64, asks bool) {
		late := r.answered.Sub(r.sent) >= m.place(c.call)/4
		if asks || late || !m.learning(c) || !c.queued || c.run.answered.IsZero() || r.err != nil && !refused {
			return
		}
		if refused {
			m.reach("heartbeat refused")
			c.call.last.at, c.call.last.err = r.answered, r.err
			c.ends(r.answered)
			return
		}
		owner, token, _ := m.of.Hold.Grant(must.Get(m.of.Answers(r.script()))[0])
		if owner == c.owner && c.life.asked <= stamp {
			m.reach("grant found by a heartbeat")
			c.life.heard = &Grant{owner, token, stamp}
			m.learns(c)
		}
	})
}

// learns notes that a client learns of a grant by another's script, once it was refused itself: it may trust that
// since its heartbeat was sent, for as long as the heartbeat counts, and until the end of its lease after a renewal.
func (m *machine[S, I, O]) learns(c *claim[S, I, O]) {
	g, now := c.life.heard, time.Now()
	if g == nil || c.run.answered.IsZero() || !m.learning(c) {
		return
	}
	c.life.heard = nil
	sign, worth := c.life.sent[g.Stamp], m.place(c.call)
	belief := NewBelief(worth, max(worth/10, 2*time.Millisecond), sign.sent).Whole(m.leaseOf(c.call))
	if belief.Granted(now) {
		return // A beat asks what the server has.
	}
	c.belief, c.granted = belief, true
	last := &c.call.last
	last.at, last.err, last.got, last.out = now, nil, true, m.of.Hold.Granted(c.owner, g.Token)
	if c.call.snap == whenItGets {
		c.call.cancel()
	}
}

// lengthens reports whether a call is renewing its fixed lease, of which it got the time that its heartbeat left.
func (m *machine[S, I, O]) lengthens(c *claim[S, I, O]) bool {
	return m.of.Passes != nil && c != nil && c.call.ended.IsZero() && m.of.Hold.Fixed(c.call.in) > 0
}
