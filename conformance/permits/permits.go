// Package permits declares primitives.PermitSemaphore for the suite: its promises, its model, its operations,
// its leases, and the cases that are its alone. An owner is the ids of the permits that one acquire took.
package permits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/lock"
	"github.com/hasp-go/hasp/primitives"
)

// Op is what happens to a permit semaphore. What happens to a lease has the name that it has for a lock.
type Op = lock.Op

// The operations besides those of a lock.
const (
	Return Op = "release by ids"
	Update Op = "update lease"
	Count  Op = "count"
	Make   Op = "make"
	Set    Op = "set"
	Add    Op = "add"
	Delete Op = "delete"
)

// In is one thing that happens to a permit semaphore.
type In struct {
	Op    Op
	Owner string        // of the permits: their ids
	N     int64         // how many permits
	Of    int64         // of Acquire: the permits of a semaphore that it makes; 0: it makes none
	Lease time.Duration // as it is sent
	Fixed time.Duration // the lease that a call asks for; 0: the watchdog's
}

// Out is the answer.
type Out struct {
	Owner    string        // of a grant
	Done     bool          // of all but Count and Remaining
	N, Taken int64         // of Count: how many are free, and taken. A caller gets the sum
	Left     int64         // of Acquire: how many are free then
	Next     time.Duration // of Acquire: until the first lease ends
	Wait     time.Duration // of Remaining
	Overflow bool          // of Add
	Other    bool          // the key is no count
}

// state is the state of one permit semaphore.
type state = engine.State[Permits]

const (
	permits = 2                  // of a semaphore that an acquire makes
	idSize  = 16                 // the length of an id
	unknown = "nobody's permit." // the owner of a permit that there never is
)

// bad are inputs that an acquire refuses.
var bad = []In{
	{Op: lock.Acquire}, {Op: lock.Acquire, N: -1}, {Op: lock.Acquire, N: 1001}, {Op: lock.Acquire, N: 1, Of: -1},
	{Op: lock.Acquire, N: 1, Fixed: 50 * time.Millisecond},
}

// Primitive declares the permit semaphore.
var Primitive engine.Subject = &engine.Primitive[Permits, In, Out]{
	Name: "PermitSemaphore", Promises: Promises, Limit: "PermitSemaphore.Limit", Special: cases(),
	Some: heldUntil(time.Now().Add(1000 * time.Hour)), NoTexts: []string{"1.5", "abc", "99999999999"},
	Step: step, Ages: ages, Verb: func(in In) string { return string(in.Op) },
	Asks: asks, Answers: answers, Stored: stored, Published: published, Granted: func(out Out) bool { return out.Done },
	CallerView: func(out Out) Out { out.Left, out.Next, out.N, out.Taken = 0, 0, out.N+out.Taken, 0; return out },
	Channel:    func(_ backend.Capabilities, key string) string { return engine.SideName("redisson_sc:", key) },
	Ops: []engine.Op[Permits, In, Out]{
		{Name: "TryAcquire", Weight: 4, Generate: draw(lock.Acquire, permits, 1, 1, permits, 1, 1), Acquire: tryAcquire, Tries: true, Refuses: bad},
		{Name: "Acquire", Weight: 3, Generate: draw(lock.Acquire, permits, 1, 1, permits, 1, 1), Acquire: acquireOf, Waits: true, Refuses: bad},
		{Name: "Release", Weight: 1, Generate: drawHeld(Return), Call: call, Refuses: []In{{Op: Return}, {Op: Return, Owner: unknown + unknown}}},
		{Name: "UpdateLease", Weight: 1, Generate: drawHeld(Update), Call: call, Refuses: []In{{Op: Update, Owner: unknown}}},
		{Name: "Remaining", Weight: 1, Generate: drawHeld(lock.Remaining), Call: call},
		{Name: "TotalPermits", Weight: 1, Generate: draw(Count, 0), Call: call},
		{Name: "InitPermits", Weight: 1, Generate: draw(Make, 0, 1, 2, 3, 4, 5), Call: call, WriteOnly: true, Refuses: []In{{Op: Make, N: -1}}},
		{Name: "SetPermits", Weight: 1, Generate: draw(Set, 4, 2, 2, 1, 3, 0), Call: call, Refuses: []In{{Op: Set, N: -1}}},
		{Name: "AddPermits", Weight: 1, Generate: draw(Add, 1, 2, -1, -2, 1, math.MaxInt32), Call: call, Refuses: []In{{Op: Add, N: math.MinInt32}}},
		{Name: "Delete", Weight: 1, Generate: draw(Delete, 0), Call: call, WriteOnly: true},
	},
	Lived: func(c *primitives.Client, name string) engine.Lived { return c.NewPermitSemaphore(name, nil) },
	Ready: func(s state, in In) bool {
		_, out := after(s, time.Time{}, in, "")
		return s.Kind != engine.Other && out.Done
	},
	Blocks: func(s state) (In, bool) {
		free := s.V.counted().Free
		if s.Kind == engine.Absent {
			free = permits
		}
		return In{Op: lock.Acquire, N: min(free, 100), Of: permits}, free > 0
	},
	Frees: func(s state) (In, bool) {
		first, some := s.V.first()
		return In{Op: lock.Release, Owner: first.owner}, some
	},
	Peer: byPeer,
	Hold: &engine.Hold[Permits, In, Out]{
		Of: func(in In) (engine.HoldAct, string, time.Duration) {
			return lock.HoldOf(lock.In{Op: in.Op, Owner: in.Owner, Lease: in.Lease})
		},
		Fixed: func(in In) time.Duration { return in.Fixed }, Holders: holders, Until: heldUntil,
		Grant:   func(out Out) (string, int64, bool) { return out.Owner, 0, out.Owner != "" },
		Granted: func(owner string, _ int64) Out { return Out{Owner: owner, Done: true} },
		Release: func(owner string) In { return In{Op: lock.Release, Owner: owner} },
		Apart:   func(outer In, _ string, inner In) (In, bool, error) { return inner, inner.N > outer.N, nil },
		Done:    func(out Out) bool { return out.Done },
	},
}

// Promises are those of a lock about its leases, and those that several permits change.
var Promises = promises()

func promises() map[string]string {
	all := map[string]string{
		"PermitSemaphore.Limit": `No more permits are held at any time than there are. The permits of a holder
come back when its lease ends by the server's clock, also if the holder crashed.`,
		"PermitSemaphore.IDs": `Each permit has an id, by which any client can release it or give it another lease.
A release by several ids releases all or, with ErrNotHeld, none, if one is unknown or its lease has ended.`,
		"PermitSemaphore.Counts": `Free permits are counted by the server, and so are those whose leases have ended.
A semaphore that does not exist has none. An overflow, and a key of another kind, are typed errors and change nothing.
Expire and its kin end the count and the leases together.`,
		"PermitSemaphore.Waiting": `A release wakes as many waiters as can use the free permits, on every client. A
waiter for many holds up none for few. The end of a lease wakes a waiter without a message.`,
		"PermitSemaphore.Reenter": `Under a lease's Reenter context an acquire of no more permits than the lease has
shares its hold; an acquire of more takes its own. Each lease is released once.`,
		"PermitSemaphore.Wire": `The keys are Redisson's: a decimal count, and a sorted set of ids of 16 bytes by the
ends of their leases in milliseconds. Messages are the number of free permits, at least 1.`,
	}
	for _, part := range []string{"Lease", "Renewal", "Release", "Close", "Input", "GivingBack"} {
		all["PermitSemaphore."+part] = lock.Promises["Lock."+part]
	}
	return all
}

// draw draws one of some numbers of permits, and for an acquire a lease.
func draw(op Op, n ...int64) func(engine.Params[Permits]) In {
	return func(d engine.Params[Permits]) In {
		in := In{Op: op, N: n[d.Which%len(n)], Of: permits}
		if op == lock.Acquire && d.Flag {
			in.Fixed = d.Fixed
		}
		return in
	}
}

// drawHeld draws a holder, one whose lease has ended, or nobody, and a lease that is longer than any other.
func drawHeld(op Op) func(engine.Params[Permits]) In {
	return func(d engine.Params[Permits]) In {
		in := In{Op: op, Owner: unknown, Lease: time.Hour + time.Duration(d.Which)*time.Minute}
		for i, h := range d.Now.V.Ended.And(d.Now.V.Held.All()...).All() {
			if single := len(h.owner) == idSize; i <= d.Which/2 && (single || op == Return) {
				in.Owner = h.owner
			}
		}
		return in
	}
}

func of(c *primitives.Client, name string, in In) *primitives.PermitSemaphore {
	return c.NewPermitSemaphore(name, &primitives.PermitSemaphoreOptions{Permits: int(in.Of), Lease: in.Fixed})
}

func acquireOf(ctx context.Context, c *primitives.Client, name string, in In) (*primitives.Lease, error) {
	return of(c, name, in).Acquire(ctx, int(in.N))
}

func tryAcquire(ctx context.Context, c *primitives.Client, name string, in In) (*primitives.Lease, error) {
	return of(c, name, in).TryAcquire(ctx, int(in.N))
}

// call calls the method that in asks for.
func call(ctx context.Context, c *primitives.Client, name string, in In) (out Out, err error) {
	s, n, held := of(c, name, in), int(in.N), ids(in.Owner)
	out.Done = in.Op != Count && in.Op != lock.Remaining
	switch in.Op {
	case Return:
		err = s.Release(ctx, held...)
	case Update:
		err = s.UpdateLease(ctx, held[0], in.Lease)
	case Set:
		err = s.SetPermits(ctx, n)
	case Add:
		err = s.AddPermits(ctx, n)
	case Make:
		out.Done, err = s.InitPermits(ctx, n)
	case Delete:
		out.Done, err = s.Delete(ctx)
	case Count:
		n, err = s.TotalPermits(ctx)
		out.N = int64(n)
	default:
		out.Wait, err = s.Remaining(ctx, held[0])
	}
	if errors.Is(err, primitives.ErrNotHeld) {
		return Out{}, nil
	}
	return out, err
}

// Permits is a permit semaphore at one time.
type Permits struct {
	Free  int64             // as the key counts them
	Held  engine.List[hold] // the first to end first
	Ended engine.List[hold] // their leases have ended, and no script has counted their permits yet
}

// hold is some permits with one lease. Its owner is the ids, one after the other.
type hold struct {
	owner string
	ends  int64 // of the lease, in milliseconds of the server's clock
}

// ids returns the ids of an owner.
func ids(owner string) (all []primitives.PermitID) {
	for part := range slices.Chunk([]byte(owner), idSize) {
		all = append(all, primitives.PermitID(part))
	}
	return all
}

// size returns the number of permits that some holds have.
func size(holds engine.List[hold]) (n int64) {
	for _, h := range holds.All() {
		n += int64(len(h.owner) / idSize)
	}
	return n
}

// with returns p with a hold of that owner, instead of an earlier one.
func (p Permits) with(owner string, ends int64) Permits {
	all := append(p.without(owner).Held.All(), hold{owner, ends})
	slices.SortFunc(all, func(a, b hold) int { return cmp.Or(cmp.Compare(a.ends, b.ends), cmp.Compare(a.owner, b.owner)) })
	p.Held = engine.ListOf(all...)
	return p
}

// without returns p without the hold of an owner.
func (p Permits) without(owner string) Permits {
	p.Held = p.Held.Without(func(h hold) bool { return h.owner == owner })
	return p
}

// first returns the hold that ends first.
func (p Permits) first() (hold, bool) { return p.Held.Find(func(hold) bool { return true }) }

// counted returns p after a script has counted the permits whose leases have ended.
func (p Permits) counted() Permits { return Permits{Free: p.Free + size(p.Ended), Held: p.Held} }

// ages ends leases.
func ages(p Permits, at time.Time) Permits {
	over := func(h hold) bool { return at.UnixMilli() >= h.ends }
	p.Ended = p.Ended.And(p.Held.Without(func(h hold) bool { return !over(h) }).All()...)
	p.Held = p.Held.Without(over)
	return p
}

// heldUntil is a semaphore whose permits another program holds until then.
func heldUntil(at time.Time) state {
	return engine.New(Permits{}.with("a peer's permit."+"and another one.", at.UnixMilli()))
}

func holders(s state) []string {
	return lock.ForEach(s.V.Held.All(), func(h hold) string { return h.owner })
}

// step is the model. Without a time it leaves open how many permits a caller finds, and how long it waits.
func step(s state, at time.Time, in In, out Out) (state, bool) {
	if out.Other || s.Kind == engine.Other {
		return s, s.Kind == engine.Other && out == Out{Other: true}
	}
	next, want := after(s, at, in, out.Owner)
	if at.IsZero() {
		want.Left, want.Next, want.Wait = out.Left, out.Next, out.Wait
	}
	return next, out == want
}

// after returns the next state, and the answer. The owner is the owner of a grant.
func after(s state, at time.Time, in In, owner string) (_ state, out Out) {
	if in.Op == lock.Acquire && s.Kind == engine.Absent && in.Of > 0 {
		s = s.Is(Permits{Free: in.Of})
	}
	there, v := s.Kind == engine.Present, s.V.counted()
	h, held := v.Held.Find(func(h hold) bool { return h.owner == in.Owner })
	now, ends := at.UnixMilli(), at.Add(in.Lease).UnixMilli()
	switch in.Op {
	case lock.Acquire:
		if out.Done = v.Free >= in.N; out.Done {
			v.Free -= in.N
			v, out.Owner = v.with(owner, ends), owner
		}
		out.Next = -time.Millisecond
		if first, some := v.first(); some {
			out.Next = time.Duration(first.ends-now) * time.Millisecond
		}
		s.V, out.Left = v, v.Free
	case lock.Renew, Update:
		if out.Done = held; held {
			s.V = s.V.with(in.Owner, ends)
		}
	case lock.Release, Return:
		if out.Done = held; held || in.Op == lock.Release { // Its owner's release counts what has ended in any case.
			v.Free += size(engine.ListOf(h))
			s.V = v.without(in.Owner)
		}
	case lock.Remaining:
		out.Wait = time.Duration(max(0, h.ends-now)) * time.Millisecond
	case Count:
		out.N, out.Taken = v.Free, size(v.Held)
	case Make, Set:
		if out.Done = in.Op == Set || !there; out.Done {
			v.Free = in.N - size(v.Held)
			s = s.Is(v)
		}
	case Add:
		v.Free += in.N
		if out.Overflow = v.Free+size(v.Held) > math.MaxInt32 || v.Free < math.MinInt32; !out.Overflow {
			s, out.Done = s.Is(v), true
		}
	default:
		s, out.Done = s.Gone(nil), there
	}
	return s, out
}

// published is the number of free permits, if a script has counted more than before.
func published(before, after state, _ In) string {
	if after.V.Free <= before.V.Free || after.V.Free < 1 {
		return ""
	}
	return fmt.Sprint(after.V.Free)
}

// setOf is the name of the set of leases.
func setOf(key string) string { return engine.SideName("", key) + ":timeout" }

func stored(key string, s state) []engine.Key {
	own, leases := engine.Key{Name: key}, engine.Key{Name: setOf(key), Set: map[string]int64{}}
	if s.Kind == engine.Present {
		own.Text = fmt.Sprint(s.V.Free)
		leases.Ends = s.Ends.Truncate(time.Millisecond) // The server counts whole milliseconds.
	}
	for _, h := range s.V.Held.And(s.V.Ended.All()...).All() {
		for _, id := range ids(h.owner) {
			leases.Set[string(id[:])] = h.ends
		}
	}
	return []engine.Key{own, leases}
}

// byPeer has another program add permits, or remove one.
func byPeer(d engine.Params[Permits]) (c engine.Change[Permits], ok bool) {
	v := d.Now.V.counted()
	v.Free += []int64{1, 2, -1, 3, -1, 0}[d.Which]
	if c.Next = engine.New(v); d.Flag && v.Free > d.Now.V.Free && v.Free > 0 {
		c.Message = fmt.Sprint(v.Free)
	}
	return c, v.Free+size(v.Held) < math.MaxInt32 // Else a release overflows the count.
}
