// Package counting declares primitives.CountingSemaphore for the suite, once for each of its orders: its
// promises, its operations, and what its leases hold. Its model is in model.go.
package counting

import (
	"context"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/lock"
	"github.com/hasp-go/hasp/primitives"
)

// In is one thing that happens to a counting semaphore.
type In struct {
	lock.In
	Limit     int64
	Allowance time.Duration // of an acquire: as it is sent, 0: it does not queue; of a call, 0: the default
}

// holders asks how many hold it.
const holders lock.Op = "holders"

// state is that of one counting semaphore.
type state = engine.State[Held]

// order is what the two declarations differ by.
type order struct{ primitives.CountingOrder }

// queues reports whether those who wait queue on the server.
func (o order) queues() bool { return o.CountingOrder == primitives.ByArrival }

// Primitive declares the semaphore whose waiters race.
var Primitive engine.Subject = order{primitives.ByTime}.declare("CountingSemaphore")

// ByArrival declares the one whose waiters queue.
var ByArrival engine.Subject = byArrival()

func byArrival() *engine.Primitive[Held, In, lock.Out] {
	p := order{primitives.ByArrival}.declare("FairCountingSemaphore")
	p.Queue = &engine.Queue[Held, In]{
		Key:     queueKey,
		Waiting: func(s state) []string { return s.V.living() },
		Place:   func(in In) time.Duration { return in.Allowance },
		Message: "0",
	}
	return p
}

func (o order) declare(name string) *engine.Primitive[Held, In, lock.Out] {
	return &engine.Primitive[Held, In, lock.Out]{
		Name:     name,
		Promises: o.promises(name),
		Limit:    name + ".Exclusion",
		Some:     byPeerUntil(time.UnixMilli(farOff)),
		Step:     o.step,
		Keep:     keep,
		Ages:     ages,
		Verb:     func(in In) string { return string(in.Op) },
		Asks:     asks,
		Answers:  answers,
		Told:     told,
		Granted:  func(out lock.Out) bool { return out.Token > 0 },
		Stored:   o.stored,
		Channel: func(_ backend.Capabilities, key string) string {
			return engine.SideName("hasp_semaphore:", key)
		},
		Published: o.published,
		Ops: []engine.Op[Held, In, lock.Out]{
			{Name: "TryAcquire", Often: 3, Draw: o.draw, Acquire: o.tryAcquire, Tries: true, Refuses: o.refuses()},
			{Name: "Acquire", Often: 3, Draw: o.draw, Acquire: o.acquire, Waits: true, Refuses: o.refuses()},
			{Name: "Holders", Often: 2, Draw: drawHolders, Call: o.holders},
		},
		Ready: o.ready,
		Blocks: func(s state) (In, bool) {
			return In{In: lock.In{Op: lock.Acquire}, Limit: 1}, len(s.V.holders()) == 0
		},
		Frees: func(s state) (In, bool) {
			all := append(s.V.holders(), "")
			return release(all[0]), all[0] != ""
		},
		Peer: o.byPeer,
		Hold: &engine.Hold[Held, In, lock.Out]{
			Of:       func(in In) (engine.HoldAct, string, time.Duration) { return lock.HoldOf(in.In) },
			Fixed:    func(in In) time.Duration { return in.Fixed },
			Holders:  func(s state) []string { return s.V.holders() },
			Until:    byPeerUntil,
			Grant:    func(out lock.Out) (string, int64, bool) { return out.Owner, out.Token, out.Token > 0 },
			Granted:  func(owner string, token int64) lock.Out { return lock.Out{Owner: owner, Token: token} },
			Release:  release,
			Done:     func(out lock.Out) bool { return out.Done },
			Conflict: func(out lock.Out) bool { return out.Other },
		},
		Special: o.cases(name),
	}
}

// promises are those of locks, and what is another for what several hold.
func (o order) promises(name string) map[string]string {
	all := lock.PromisesOf(name)
	all[name+".Exclusion"] = `At any time at most as many owners hold a counting semaphore as the limit says by
which they came in, whatever the clients' clocks say. Each has a lease of its own, by the server's clock.`
	all[name+".Waiting"] = `Acquire is let in when there is room: by a message, by the end of the first of the
holds, or by a bounded poll. A woken waiter that leaves passes the wake on.`
	all[name+".Token"] = "A grant's number is the server's time in microseconds."
	all[name+".Queries"] = `Holders returns how many hold it by the server's clock. A key of another kind is
ErrConflict and is not touched.`
	all[name+".Refresh"] = `Refresh gives a lease its whole length again, or reports that its holder was
dropped.`
	all[name+".Wire"] = `The name is a zset of owners and ends of holds, in milliseconds. A release publishes 1.`
	if o.queues() {
		all[name+".Waiting"] = `Waiters are let in in the order in which they came to the server. A release wakes
the first of them alone. One that leaves is taken out of the queue; one that is dead is passed over
WaitAllowance after its last try, and one that lives is not. TryAcquire neither queues nor passes those who wait.`
		all[name+".Wire"] = `The name is a zset of owners and ends of holds, in milliseconds, and of waiters and
ends of places, negative. Beside it are a zset of waiters and numbers, and the last number.`
	}
	return all
}

func release(owner string) In { return In{In: lock.In{Op: lock.Release, Owner: owner}} }

// asLock returns a script as that of a lock which does the same.
func asLock(s *engine.Script) *engine.Script {
	like := *s
	by, what, _ := strings.Cut(s.Name, "_")
	like.Name = "lock_" + what
	switch what {
	case "acquire":
		like.Args = []string{s.Args[0], s.Args[2]}
		if items, _ := s.Reply.Items(); len(items) == 3 {
			like.Reply = backend.ArrayReply(items[:2])
		}
	case "release_all":
		if by == "arrival" {
			like.Keys, like.Args = s.Keys[:len(s.Keys)/2], s.Args[1:] // Each has two.
		}
	}
	return &like
}

// asks returns what a script asks of each of its semaphores.
func asks(s *engine.Script) (ins []In) {
	by, _, _ := strings.Cut(s.Name, "_")
	switch {
	case s.Name == "counting_holders":
		return []In{{In: lock.In{Op: holders}}}
	case by != "counting" && by != "arrival":
		return nil
	}
	for _, in := range lock.Asks(asLock(s)) {
		ins = append(ins, In{In: in, Limit: limitOf(s)})
	}
	if s.Name == "arrival_acquire" {
		ins[0].Allowance = lock.Millis(s.Args[3])
	}
	return ins
}

// limitOf returns the limit that a script has; 0: none.
func limitOf(s *engine.Script) int64 {
	switch s.Name {
	case "counting_acquire", "arrival_acquire", "arrival_release":
		return lock.Whole(s.Args[1])
	case "arrival_release_all":
		return lock.Whole(s.Args[0])
	}
	return 0
}

// answers returns what a script answers for each of its semaphores. The count of a grant is how many more may
// come in.
func answers(s *engine.Script) (outs []lock.Out, err error) {
	if s.Name == "counting_holders" {
		n, err := engine.Number(s)
		return []lock.Out{{Count: n}}, err
	}
	outs, err = lock.Answers(asLock(s))
	if items, _ := s.Reply.Items(); s.Name == "counting_acquire" && len(items) == 3 && err == nil {
		outs[0].Count, err = items[2].Int()
	}
	return outs, err
}

// told is what of an answer a caller gets.
func told(out lock.Out) lock.Out {
	if out.Token > 0 {
		out.Count = 0
	}
	return out
}

// refuses are a limit that is none, too short a lease, and too short an allowance.
func (o order) refuses() []In {
	all := []In{
		{In: lock.In{Op: lock.Acquire}},
		{In: lock.In{Op: lock.Acquire, Fixed: 50 * time.Millisecond}, Limit: 1},
	}
	if o.queues() {
		all = append(all, In{In: lock.In{Op: lock.Acquire}, Limit: 1, Allowance: 50 * time.Millisecond})
	}
	return all
}

// draw draws a limit, mostly of 2; where nothing else is drawn, of 1, so that one holder keeps out others. It
// draws an allowance where the time is known; else it is the watchdog's lease.
func (o order) draw(d engine.Dice[Held]) (in In) {
	in.Op, in.Limit = lock.Acquire, 2
	if d.Which == 0 {
		in.Limit = 1
	}
	if !d.At.IsZero() && o.queues() {
		const long = 10 * time.Hour
		in.Allowance = []time.Duration{0, 10 * time.Second, 10 * time.Second, long, long, long}[d.Which]
	}
	if d.Flag {
		in.Fixed = d.Fixed
	}
	return in
}

func drawHolders(engine.Dice[Held]) In { return In{In: lock.In{Op: holders}, Limit: 1} }

func (o order) of(c *primitives.Client, name string, in In) *primitives.CountingSemaphore {
	return c.NewCountingSemaphore(name, int(in.Limit), &primitives.CountingSemaphoreOptions{
		Order: o.CountingOrder, Lease: in.Fixed, WaitAllowance: in.Allowance,
	})
}

func (o order) acquire(ctx context.Context, c *primitives.Client, name string, in In) (*primitives.Lease, error) {
	return o.of(c, name, in).Acquire(ctx)
}

func (o order) tryAcquire(ctx context.Context, c *primitives.Client, name string, in In) (*primitives.Lease, error) {
	return o.of(c, name, in).TryAcquire(ctx)
}

func (o order) holders(ctx context.Context, c *primitives.Client, name string, in In) (out lock.Out, err error) {
	n, err := o.of(c, name, in).Holders(ctx)
	out.Count = int64(n)
	return out, err
}

// byPeerUntil is a semaphore that another program holds until then.
func byPeerUntil(at time.Time) state {
	return engine.New(Held{}.with(member{owner: lock.PeerOwner, ends: at.UnixMilli()}))
}

// byPeer lets another program come in, be there room or not, or leave it, with a message.
func (o order) byPeer(d engine.Dice[Held]) (c engine.Change[Held], ok bool) {
	v := d.Now.V
	if d.Flag && v.holds(lock.PeerOwner) {
		v = v.without(lock.PeerOwner)
		if c.Message = "1"; o.queues() {
			c.Message, _ = v.survey("", "")
		}
		d.Now.V = v
		if c.Next = engine.New(v); v.Members == (engine.List[member]{}) {
			c.Next = d.Now.Gone(keep)
		}
		return c, true
	}
	ends := d.At.UnixMilli() + d.For.Milliseconds() + 1
	v = v.with(append(v.without(lock.PeerOwner).Members.All(), member{owner: lock.PeerOwner, ends: ends})...)
	c.Next = engine.New(v)
	return c, true
}
