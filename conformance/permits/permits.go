// Package permits declares primitives.PermitSemaphore for the suite: its promises, its model, its
// operations, what its leases hold, and the cases that are its alone. What is held is some permits, by the
// owner that has their ids.
package permits

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/primitives"
)

// Op is what happens to a permit semaphore.
type Op string

// What happens to a permit semaphore.
const (
	Acquire   Op = "acquire"
	Release   Op = "release"
	Renew     Op = "renew"
	Return    Op = "release by ids"
	Update    Op = "update lease"
	Remaining Op = "remaining lease"
	Count     Op = "count"
	Make      Op = "make"
	Set       Op = "set"
	Add       Op = "add"
	Delete    Op = "delete"
)

// In is one thing that happens to a permit semaphore.
type In struct {
	Op    Op
	Owner string        // whose ids it is about
	N     int64         // how many permits
	Of    int64         // of Acquire: the permits of a semaphore that it makes; 0: it makes none
	Lease time.Duration // as it is sent
	Fixed time.Duration // the lease that a call asks for; 0: the watchdog's
}

// Out is the answer.
type Out struct {
	Owner    string // of a grant
	Done     bool   // of all but Count and Remaining
	N, Taken int64  // of Count: how many are free, and taken. A caller gets the sum
	Left     int64  // of Acquire: how many are free then
	Wait     time.Duration
	Overflow bool // of Add
	Other    bool // the key is no count
}

// state is that of one permit semaphore.
type state = engine.State[Permits]

// permits is how many permits a semaphore has that an acquire makes.
const permits = 2

// bad is what an acquire refuses.
var bad = []In{
	{Op: Acquire}, {Op: Acquire, N: -1}, {Op: Acquire, N: 1001}, {Op: Acquire, N: 1, Of: -1},
	{Op: Acquire, N: 1, Fixed: 50 * time.Millisecond},
}

// Primitive declares the permit semaphore.
var Primitive engine.Subject = &engine.Primitive[Permits, In, Out]{
	Name:     "PermitSemaphore",
	Promises: Promises,
	Limit:    "PermitSemaphore.Limit",
	Some:     heldUntil(time.UnixMilli(never)),
	NoTexts:  []string{"1.5", "abc", "99999999999"},
	Special:  cases(),
	Step:     step,
	Ages:     ages,
	Verb:     func(in In) string { return string(in.Op) },
	Asks:     asks,
	Answers:  answers,
	Told:     told,
	Granted:  func(out Out) bool { return out.Done },
	Stored:   stored,
	Channel: func(_ backend.Capabilities, key string) string {
		return engine.SideName("redisson_sc:", key)
	},
	Published: published,
	Ops: []engine.Op[Permits, In, Out]{
		{Name: "TryAcquire", Often: 4, Draw: drawAcquire, Acquire: tryAcquire, Tries: true, Refuses: bad},
		{Name: "Acquire", Often: 3, Draw: drawAcquire, Acquire: acquireOf, Waits: true, Refuses: bad},
		{Name: "Release", Often: 1, Draw: drawHeld(Return), Call: releaseIDs},
		{Name: "UpdateLease", Often: 1, Draw: drawUpdate, Call: updateLease, Refuses: []In{{Op: Update}}},
		{Name: "RemainingLease", Often: 1, Draw: drawHeld(Remaining), Call: remainingLease},
		{Name: "TotalPermits", Often: 1, Draw: draw(Count), Call: totalPermits},
		{Name: "TrySetPermits", Often: 1, Draw: drawMake, Call: trySetPermits, Blind: true, Refuses: []In{{Op: Make, N: -1}}},
		{Name: "SetPermits", Often: 1, Draw: drawSet, Call: setPermits, Refuses: []In{{Op: Set, N: -1}}},
		{Name: "AddPermits", Often: 1, Draw: drawAdd, Call: addPermits, Refuses: []In{{Op: Add, N: math.MinInt32}}},
		{Name: "Delete", Often: 1, Draw: draw(Delete), Call: remove, Blind: true},
	},
	Lived:  func(c *primitives.Client, name string) engine.Lived { return c.NewPermitSemaphore(name, nil) },
	Ready:  ready,
	Blocks: blocks,
	Frees: func(s state) (In, bool) {
		owners := holders(s)
		if len(owners) == 0 {
			return In{Op: Release}, false
		}
		return In{Op: Release, Owner: owners[0]}, true
	},
	Peer: byPeer,
	Hold: &engine.Hold[Permits, In, Out]{
		Of:      holdOf,
		Fixed:   func(in In) time.Duration { return in.Fixed },
		Holders: holders,
		Until:   heldUntil,
		Grant:   func(out Out) (string, int64, bool) { return out.Owner, 0, out.Owner != "" },
		Granted: func(owner string, _ int64) Out { return Out{Owner: owner, Done: true} },
		Release: func(owner string) In { return In{Op: Release, Owner: owner} },
		Apart: func(outer In, _ string, inner In) (awaits In, apart bool, refused error) {
			return inner, inner.N > outer.N, nil
		},
		Done:     func(out Out) bool { return out.Done },
		Conflict: func(out Out) bool { return out.Other },
	},
}

// told is what a caller gets.
func told(out Out) Out {
	out.Left, out.N, out.Taken = 0, out.N+out.Taken, 0
	if out.Done {
		out.Wait = 0
	}
	return out
}

func holdOf(in In) (engine.HoldAct, string, time.Duration) {
	act := map[Op]engine.HoldAct{
		Acquire: engine.Asks, Renew: engine.Renews, Release: engine.Releases,
	}[in.Op]
	return act, in.Owner, in.Lease
}

// blocks takes all that is free, or lets nothing be free.
func blocks(s state) (In, bool) {
	free := s.V.counted().Free
	switch {
	case s.Kind == engine.Absent:
		return In{Op: Acquire, N: permits, Of: permits}, true
	case free <= 100:
		return In{Op: Acquire, N: free, Of: permits}, free > 0
	}
	return In{Op: Set}, true
}

func draw(op Op) func(engine.Dice[Permits]) In {
	return func(engine.Dice[Permits]) In { return In{Op: op} }
}

// drawAcquire draws mostly one permit, and first of all all that there are.
func drawAcquire(d engine.Dice[Permits]) In {
	in := In{Op: Acquire, N: []int64{permits, 1, 1, permits, 1, 1}[d.Which], Of: permits}
	if d.Flag {
		in.Fixed = d.Fixed
	}
	return in
}

// heldUntil is a semaphore of one permit, which another program holds until then.
func heldUntil(at time.Time) state {
	return engine.New(Permits{}.and(hold{owner: peer, ends: at.UnixMilli()}))
}

// unknown is the owner of a permit that there never is.
const unknown = "nobody's permit."

// drawHeld draws who holds something, or nobody.
func drawHeld(op Op) func(engine.Dice[Permits]) In {
	return func(d engine.Dice[Permits]) In {
		in := In{Op: op, Owner: unknown}
		for i, owner := range holders(d.Now) {
			if single := len(owner) == idSize; i <= d.Which/2 && (single || op == Return) {
				in.Owner = owner
			}
		}
		return in
	}
}

// drawUpdate draws a lease that is longer than any other.
func drawUpdate(d engine.Dice[Permits]) In {
	in := drawHeld(Update)(d)
	in.Lease = time.Hour + time.Duration(d.Which)*time.Minute
	return in
}

func drawMake(d engine.Dice[Permits]) In { return In{Op: Make, N: int64(d.Which)} }

func drawSet(d engine.Dice[Permits]) In { return In{Op: Set, N: []int64{4, 2, 2, 1, 3, 0}[d.Which]} }

func drawAdd(d engine.Dice[Permits]) In {
	return In{Op: Add, N: []int64{1, 2, -1, -2, 1, math.MaxInt32}[d.Which]}
}

// of returns what in asks.
func of(c *primitives.Client, name string, in In) *primitives.PermitSemaphore {
	return c.NewPermitSemaphore(name, &primitives.PermitSemaphoreOptions{Permits: int(in.Of), Lease: in.Fixed})
}

// idsOf are the ids of an owner, as callers have them.
func idsOf(owner string) (all []primitives.PermitID) {
	for _, id := range ids(owner) {
		all = append(all, primitives.PermitID([]byte(id)))
	}
	return all
}

func acquireOf(ctx context.Context, c *primitives.Client, name string, in In) (*primitives.Lease, error) {
	return of(c, name, in).Acquire(ctx, int(in.N))
}

func tryAcquire(ctx context.Context, c *primitives.Client, name string, in In) (*primitives.Lease, error) {
	return of(c, name, in).TryAcquire(ctx, int(in.N))
}

// unlessNotHeld is the answer to what is done to some ids.
func unlessNotHeld(err error) (Out, error) {
	if errors.Is(err, primitives.ErrNotHeld) {
		return Out{}, nil
	}
	return Out{Done: err == nil}, err
}

func releaseIDs(ctx context.Context, c *primitives.Client, name string, in In) (Out, error) {
	return unlessNotHeld(of(c, name, in).Release(ctx, idsOf(in.Owner)...))
}

func updateLease(ctx context.Context, c *primitives.Client, name string, in In) (Out, error) {
	id := append(idsOf(in.Owner), primitives.PermitID{})[0]
	return unlessNotHeld(of(c, name, in).UpdateLease(ctx, id, in.Lease))
}

func remainingLease(ctx context.Context, c *primitives.Client, name string, in In) (out Out, err error) {
	out.Wait, err = of(c, name, in).RemainingLease(ctx, idsOf(in.Owner)[0])
	if out.Wait == primitives.NoExpiry {
		out.Wait = -time.Millisecond
	}
	return out, err
}

func totalPermits(ctx context.Context, c *primitives.Client, name string, in In) (Out, error) {
	n, err := of(c, name, in).TotalPermits(ctx)
	return Out{N: int64(n)}, err
}

func trySetPermits(ctx context.Context, c *primitives.Client, name string, in In) (out Out, err error) {
	out.Done, err = of(c, name, in).TrySetPermits(ctx, int(in.N))
	return out, err
}

func setPermits(ctx context.Context, c *primitives.Client, name string, in In) (Out, error) {
	err := of(c, name, in).SetPermits(ctx, int(in.N))
	return Out{Done: err == nil}, err
}

func addPermits(ctx context.Context, c *primitives.Client, name string, in In) (Out, error) {
	err := of(c, name, in).AddPermits(ctx, int(in.N))
	return Out{Done: err == nil}, err
}

func remove(ctx context.Context, c *primitives.Client, name string, in In) (out Out, err error) {
	out.Done, err = of(c, name, in).Delete(ctx)
	return out, err
}
