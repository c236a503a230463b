package engine

import (
	"context"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// world is where the machine of a primitive lives: a server, some clients, their links, and time.
type world struct {
	*harness.Env
	setting
	virtual bool // time is; else nothing waits, and no deadline comes
	reach   func(situation string)
	parties []*party
	watch   watcher

	// mu orders all that happens on the server, and guards what is below and the machine's objects.
	mu      sync.Mutex
	ahead   time.Duration // how much the server's clock is ahead
	stepped bool          // it has been stepped
	fault   error         // the first thing that a script did wrong
}

// party is a client with its link.
type party struct {
	client  *primitives.Client
	prefix  string // the client's
	link    *troubled
	closing time.Time // since when; zero: Close was not called
	closed  bool
	gaveUp  bool // its Close did not wait for all

	usual trouble   // that of each script
	good  time.Time // since when its scripts come through, or will
	heard time.Time // since when it hears all that it is to hear
	deaf  int       // how many subscriptions are being made, and gaps not noticed
}

// watcher is called for each script of a client: before it is sent, when it has run, and when its caller has the
// answer; and of a client that has been closed. It is called with world.mu held, and fails by package must.
type watcher interface {
	// callOf returns the call that a script is part of, given the one that its key was made for.
	callOf(r *scriptRun, named any) any

	sent(r *scriptRun)
	ran(r *scriptRun)
	answered(r *scriptRun)
	closed(party int, began time.Time, sound bool)

	// heard is called for each message before a client gets it.
	heard(party int, message string)
}

// scriptRun is one script on its way.
type scriptRun struct {
	party      int
	ctx        context.Context //nolint:containedctx // It says whether the script was given up.
	call       any             // whose script it is; nil: nobody's
	name       string
	writes     bool
	keys, args []string

	sent, ran, answered time.Time // ran: by the server's clock

	lasts time.Duration // of a renewal: the lease that its holders have when it is sent

	reply backend.Reply // the server's; after ran
	err   error         // the server's; after answered: the caller's
}

// newWorld makes clients that share one server.
func newWorld(ctx context.Context, e *harness.Env, s setting, virtual bool, reach func(string)) *world {
	w := &world{Env: e, setting: s, virtual: virtual, reach: reach}
	for i := range s.clients {
		w.parties = append(w.parties, w.newParty(ctx, i))
	}
	return w
}

func (w *world) newParty(ctx context.Context, i int) *party {
	p := &party{}
	o := &primitives.Options{WatchdogLease: w.lease, PollInterval: w.poll}
	if i%2 == 1 {
		p.prefix, o.KeyPrefix, o.IDPrefix = objectPrefix, objectPrefix, "Pod_1.a-b"
	}
	p.client, _ = ClientOver(ctx, w.Env, o, func(b backend.Backend) backend.Backend {
		server := &harness.Runner{Backend: b, Instead: func(ctx context.Context, c backend.Call) (backend.Reply, error) {
			return w.onServer(ctx, b, c)
		}}
		p.link = &troubled{
			Backend: server, reach: func(s string) { w.reach(s) }, deafened: func(n int) { w.deafened(p, n) },
		}
		return single{&nearClient{troubled: p.link, world: w, party: i}}
	})
	return p
}

// nameFor returns the name by which a party calls an object.
func (w *world) nameFor(party int, name string) string {
	return strings.TrimPrefix(name, w.parties[party].prefix)
}

// nearClient sees scripts before a client's link.
type nearClient struct {
	*troubled
	world *world
	party int
}

type (
	runKey  struct{}
	callKey struct{} // of the call that a context is of
)

// Run implements backend.ScriptRunner.
func (n *nearClient) Run(ctx context.Context, script *backend.Script, keys, args []string) (backend.Reply, error) {
	w := n.world
	c := backend.Call{Script: script, Keys: keys, Args: args}
	r := &scriptRun{
		party: n.party, ctx: ctx, name: script.Name, writes: script.Retry.Writes(), keys: keys, args: args,
	}
	now := time.Now()
	var t trouble
	w.note(func() {
		r.sent = now
		t = w.disturbed(w.parties[n.party], now)
		r.call = w.watch.callOf(r, ctx.Value(callKey{}))
		w.watch.sent(r)
	})
	reply, err := n.troubled.run(context.WithValue(ctx, runKey{}, r), t, c)
	w.note(func() {
		r.answered = time.Now()
		r.reply, r.err = reply, err
		w.watch.answered(r)
	})
	return reply, err
}

// objectPrefix begins the names of all objects, and is the prefix of some clients.
const objectPrefix = "conf-prefix:"

// Subscribe implements backend.Subscriber.
func (n *nearClient) Subscribe(ctx context.Context, channel string, handler backend.Handler) (backend.Subscription, error) {
	if !n.world.virtual && strings.HasSuffix(channel, ":watch") {
		return unwatched{}, nil
	}
	p := n.world.parties[n.party]
	n.world.deafened(p, 1)
	s, err := n.troubled.Subscribe(ctx, channel, func(e backend.Event) {
		if e.Kind == backend.EventMessage {
			n.world.note(func() { n.world.watch.heard(n.party, e.Payload) })
		}
		handler(e)
	})
	n.world.deafened(p, -1)
	return s, err
}

// unwatched is the subscription by which a client watches its server. In real time the server is not watched: on a busy
// machine a slow answer would make the client renew its leases, at a time that the machine does not know.
type unwatched struct{}

// Cancel implements backend.Subscription.
func (unwatched) Cancel() {}

// deafened counts what keeps p from hearing all.
func (w *world) deafened(p *party, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.deaf += n
	p.heard = time.Now()
}

// onServer sees a script behind a client's link, and runs it: one at a time.
func (w *world) onServer(ctx context.Context, b backend.Backend, c backend.Call) (reply backend.Reply, err error) {
	r := ctx.Value(runKey{}).(*scriptRun) //nolint:forcetypeassert // nearClient's.
	w.note(func() {
		// Whatever becomes of the caller: a link may lose the answer, but the machine needs it.
		reply, err = b.Run(context.WithoutCancel(ctx), c.Script, c.Keys, c.Args)
		r.ran, r.reply, r.err = w.serverNow(), reply, err
		w.watch.ran(r)
	})
	return reply, err
}

// note does something about the model, and keeps the first failure.
func (w *world) note(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := must.Catch(do); err != nil && w.fault == nil {
		w.fault = err
	}
}

// serverNow returns the server's time; zero if it is not virtual: then it is not known.
func (w *world) serverNow() time.Time {
	if !w.virtual {
		return time.Time{}
	}
	return time.Now().Add(w.ahead).Round(0)
}

// raw runs a command that no client sends. The caller holds mu.
func (w *world) raw(ctx context.Context, args ...string) (backend.Reply, error) {
	return w.Do(ctx, args[1], args...)
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	w.settle()
}

// settle lets all happen that is due.
func (w *world) settle() {
	if w.virtual {
		synctest.Wait()
	}
}

// setLink gives a client's link trouble, or none. Subscriptions are late by late, messages
// are lost, and gaps are noticed after gap.
func (w *world) setLink(p *party, usual trouble, late, gap time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	came := p.usual.Held + p.usual.Before + p.usual.After
	if p.usual.Loss != nothing {
		came += outage
	}
	p.usual, p.good = usual, latest(p.good, time.Now().Add(came))
	p.link.replan(func(plan *troubles) {
		*plan = troubles{Rest: usual}
		for range 8 * int(min(late, 1)) {
			plan.Subscribes = append(plan.Subscribes, late)
		}
		for range 8 * int(min(gap, 1)) {
			plan.Gaps = append(plan.Gaps, gap)
		}
	})
}

// troubleNext gives the next script of a client some trouble of its own.
func (w *world) troubleNext(p *party, once trouble) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p.link.replan(func(plan *troubles) { plan.Scripts = append(plan.Scripts, once) })
}

// disturbed returns the trouble of a script that p sends, which may be one of its own. The caller holds mu.
func (w *world) disturbed(p *party, now time.Time) trouble {
	p.link.replan(func(plan *troubles) {
		if len(plan.Scripts) > 0 {
			next := plan.Scripts[0]
			p.good = latest(p.good, now.Add(next.Held+next.Before+next.After+outage))
		}
	})
	return p.link.next("")
}

// soundSince returns since when all scripts of p come through as usual; ok is false if they do not. The caller holds mu.
func (w *world) soundSince(p *party) (since time.Time, ok bool) {
	once := false
	p.link.replan(func(plan *troubles) { once = len(plan.Scripts) > 0 })
	return p.good, p.usual.Loss == nothing && !once && !p.closed
}

// trip is how long a script takes at most on a sound link.
func (w *world) trip(p *party) time.Duration { return p.usual.Held + p.usual.Before + p.usual.After }

func latest(times ...time.Time) (last time.Time) {
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}

// commonActs are the actions of all machines.
var commonActs = []string{
	"Pass", "Pass", "Pass", "Link", "Channel", "Channel", "Channel", "TroubleNext", "TroubleNext", "Close",
}

// act takes one of commonActs.
func (w *world) act(ctx context.Context, a act) {
	p := w.parties[a.Client]
	switch a.Op {
	case "Pass":
		w.pass(a.For)
	case "Link":
		w.setLink(p, linkTrouble(a), 0, 0)
	case "Channel":
		w.lateOrDeaf(a)
	case "TroubleNext":
		w.troubleNext(p, nextTrouble(a))
	case "Close":
		if a.Which == 0 {
			w.close(ctx, a.Client)
		}
	default:
		must.Fail("no such action: %s", a.Op)
	}
}

// linkTrouble is what a link does to all scripts: it is slow, or it loses them.
func linkTrouble(a act) trouble {
	const odd = 11 * time.Microsecond
	t := trouble{Before: time.Duration(a.Which)*time.Millisecond + odd, After: 3 * odd}
	switch {
	case a.Flag && a.Which > 2:
		t.Held = 40 * time.Millisecond
	case a.Flag:
		t.After += 40 * time.Millisecond
	case a.Which < 3:
		t.Loss = []loss{dial, request, reply}[a.Which]
	}
	return t
}

// nextTrouble is what becomes of one script.
func nextTrouble(a act) trouble {
	const odd = 17 * time.Microsecond
	switch a.Which {
	case 0:
		return trouble{Before: a.For + odd, After: odd}
	case 1:
		return trouble{Held: a.For + odd, Before: odd, After: odd}
	case 2, 3:
		return trouble{Before: odd, After: a.For + odd, Grace: time.Duration(a.Which-2) * time.Minute}
	case 4:
		return trouble{Before: a.For + odd, Loss: late}
	}
	return trouble{Before: odd, Loss: []loss{broken, reply, dial, request}[min(int(a.For.Milliseconds())%5, 3)]}
}

// close closes a client. While its link is sound that takes a moment, even when the case has no time left.
func (w *world) close(ctx context.Context, party int) {
	p := w.parties[party]
	if p.closed {
		return
	}
	w.mu.Lock()
	since, sound := w.soundSince(p)
	began := time.Now()
	sound = sound && !since.After(began)
	p.closing = began
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), harness.Patience/4)
	defer cancel()
	err := p.client.Close(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	p.closed, p.gaveUp = true, err != nil
	w.watch.closed(party, began, sound)
	must.Not(err != nil && sound, "Close over a sound link: %w", err)
}

// lateOrDeaf gives a client whose link is sound late subscriptions, or gaps, or neither.
func (w *world) lateOrDeaf(a act) {
	late, gap := time.Duration(0), time.Duration(0)
	switch a.Which {
	case 0, 1:
		late = a.For
	case 2, 3:
		gap = a.For
	}
	w.setLink(w.parties[a.Client], trouble{}, late, gap)
}
