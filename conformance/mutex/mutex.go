// Package mutex declares primitives.Mutex for the suite: its promises, its operations, and what its leases
// hold. Its model is in model.go and queue.go, and what its scripts ask and answer in script.go.
package mutex

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/lock"
	"github.com/hasp-go/hasp/primitives"
)

// worth is what a sign of life is worth, at most.
const worth = 10 * time.Second

// beat shows that owners wait.
const beat lock.Op = "beat"

// In is one thing that happens to a mutex.
type In struct {
	lock.In
	Queues bool   // of an acquire: a refusal leaves it in the queue
	Number int64  // of an acquire: its place; 0: at the end
	Stamp  int64  // of an acquire or a beat
	Owners string // of a beat, with spaces between them
}

// Out is the answer.
type Out struct {
	lock.Out
	Place  int64  // of an acquire that is refused
	Rank   int64  // of a beat
	Status string // of a beat: a number for each owner, with spaces between them
}

// state is that of one mutex.
type state = engine.State[Held]

// Primitive declares the mutex.
var Primitive engine.Subject = &engine.Primitive[Held, In, Out]{
	Name:     "Mutex",
	Promises: promises(),
	Limit:    "Mutex.Exclusion",
	Edge:     &state{V: Held{Token: lock.OddToken}},
	Some:     state{Kind: engine.Present, V: Held{Owner: lock.PeerOwner, Sign: own}},
	Step:     step,
	Keep:     keep,
	Ages:     ages,
	Verb:     func(in In) string { return string(in.Op) },
	Asks:     asks,
	Answers:  answers,
	Told:     told,
	Granted:  func(out Out) bool { return out.Token > 0 },
	Stored:   stored,
	Channel:  func(_ backend.Capabilities, name string) string { return keyOf(name) + ":granted" },
	Published: func(before, after state, _ In) string {
		g, passed := passedOn(after)
		if was, had := passedOn(before); !passed || had && was == g {
			return ""
		}
		return g.message()
	},
	Queue: &engine.Queue[Held, In]{
		Key:     func(name string) string { return keyOf(name) + ":queue" },
		Waiting: func(s state) []string { return s.V.living() },
	},
	Passes: &engine.Passes[Held, In, Out]{
		Worth:   worth,
		Group:   groupOf,
		Signs:   signs,
		Found:   found,
		Granted: func(s state) (engine.Grant, bool) { g, ok := passedOn(s); return engine.Grant(g), ok },
		Read:    func(text string) (engine.Grant, bool) { g, ok := read(text); return engine.Grant(g), ok },
	},
	Ops: []engine.Op[Held, In, Out]{
		{Name: "TryLock", Often: 3, Draw: drawAcquire, Acquire: tryLock, Tries: true, Refuses: tooShort},
		{Name: "Lock", Often: 3, Draw: drawAcquire, Acquire: acquire, Waits: true, Refuses: tooShort},
		{Name: "ForceUnlock", Often: 1, Draw: drawForce, Call: forceUnlock},
		{Name: "Query", Often: 2, Draw: drawQuery, Call: query, Blind: true},
	},
	Ready:  ready,
	Blocks: func(s state) (In, bool) { return In{In: lock.In{Op: lock.Acquire}}, s.Kind == engine.Absent },
	Frees:  func(s state) (In, bool) { return release(s.V.Owner), s.Kind == engine.Present },
	Peer:   byPeer,
	Hold: &engine.Hold[Held, In, Out]{
		Of:       func(in In) (engine.HoldAct, string, time.Duration) { return lock.HoldOf(in.In) },
		Fixed:    func(in In) time.Duration { return in.Fixed },
		Holders:  holders,
		Grant:    func(out Out) (string, int64, bool) { return out.Owner, out.Token, out.Token > 0 },
		Granted:  func(owner string, token int64) Out { return Out{Out: lock.Out{Owner: owner, Token: token}} },
		Release:  release,
		Done:     func(out Out) bool { return out.Done },
		Conflict: func(out Out) bool { return out.Other },
	},
}

// promises are those of locks, and what is another for a mutex.
func promises() map[string]string {
	all := lock.PromisesOf("Mutex")
	all["Mutex.Waiting"] = `Waiters get the mutex in the order in which they came to the server. A release grants it
to the first who lives, and tells that one alone. One that leaves is taken out of the queue. One that was silent
for two thirds of what a sign of life is worth is passed, and comes back to its place. TryLock does not pass those
who wait, and does not queue.`
	all["Mutex.Lease"] += ` After a grant by another's release that is ten seconds, or the lease if it is shorter,
after the waiter sent the last sign of life that the server had.`
	all["Mutex.Wire"] = `The holder is a string at hasp_mutex:{name}, the queue a sorted set beside it, by the
server's microseconds, and the signs of life a hash. A message is the owner, the token, and the number of its sign.`
	return all
}

// keyOf is the own key of the mutex of a name.
func keyOf(name string) string { return engine.SideName("hasp_mutex:", name) }

func release(owner string) In { return In{In: lock.In{Op: lock.Release, Owner: owner}} }

// holders is who holds a mutex.
func holders(s state) []string {
	if s.Kind != engine.Present {
		return nil
	}
	return []string{s.V.Owner}
}

// ready reports whether one who asks may go on: it holds the mutex, or nobody does, nor waits before it.
func ready(s state, in In) bool {
	if s.Kind == engine.Present {
		return s.V.Owner == in.Owner
	}
	first := s.V.first()
	return first == "" || first == in.Owner
}

// tooShort is too short a lease.
var tooShort = []In{{In: lock.In{Op: lock.Acquire, Fixed: 50 * time.Millisecond}}}

func drawAcquire(d engine.Dice[Held]) (in In) {
	if in.Op = lock.Acquire; d.Flag {
		in.Fixed = d.Fixed
	}
	return in
}

func drawForce(engine.Dice[Held]) In { return In{In: lock.In{Op: lock.Force}} }

func drawQuery(d engine.Dice[Held]) In {
	return In{In: lock.In{Op: []lock.Op{lock.IsLocked, lock.Remaining}[d.Which%2]}}
}

func of(c *primitives.Client, name string, in In) *primitives.Mutex {
	return c.NewMutex(name, &primitives.LockOptions{Lease: in.Fixed})
}

func acquire(ctx context.Context, c *primitives.Client, name string, in In) (*primitives.Lease, error) {
	return of(c, name, in).Lock(ctx)
}

func tryLock(ctx context.Context, c *primitives.Client, name string, in In) (*primitives.Lease, error) {
	return of(c, name, in).TryLock(ctx)
}

func forceUnlock(ctx context.Context, c *primitives.Client, name string, in In) (out Out, err error) {
	out.Done, err = of(c, name, in).ForceUnlock(ctx)
	return out, err
}

func query(ctx context.Context, c *primitives.Client, name string, in In) (out Out, err error) {
	m := of(c, name, in)
	if in.Op == lock.IsLocked {
		out.Done, err = m.IsLocked(ctx)
		return out, err
	}
	if out.Left, err = m.Remaining(ctx); out.Left == primitives.NoExpiry {
		out.Left = -time.Millisecond
	}
	return out, err
}
