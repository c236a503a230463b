// Package fairlock declares primitives.FairLock for the suite. What it has in common with other locks is
// that of package lock; its queue is in queue.go.
package fairlock

import (
	"context"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/lock"
	"github.com/hasp-go/hasp/primitives"
)

// In is one thing that happens to a fair lock.
type In struct {
	lock.In
	Allowance time.Duration // of an acquire: as it is sent, 0: it does not queue; of a call, 0: the default
}

// Fair is a fair lock at one time. What it has of its queue outlives its key.
type Fair struct {
	lock.Held
	Base    int64 // scores are above it, or below
	Waiters engine.List[waiter]
}

// state is that of one fair lock.
type state = engine.State[Fair]

// Primitive declares the fair lock.
var Primitive engine.Subject = &engine.Primitive[Fair, In, lock.Out]{
	Name:     "FairLock",
	Promises: promises(),
	Limit:    "FairLock.Exclusion",
	Edge:     &state{V: Fair{Held: lock.Held{Token: lock.OddToken}}},
	Some:     state{Kind: engine.Present, V: Fair{Held: lock.Held{Owner: lock.PeerOwner, Count: 1}}},
	Step:     step,
	Keep:     keep,
	Ages:     ages,
	Verb:     func(in In) string { return string(in.Op) },
	Asks:     asks,
	Answers:  func(s *engine.Script) ([]lock.Out, error) { return lock.Answers(asLock(s)) },
	Told:     lock.Told,
	Granted:  func(out lock.Out) bool { return out.Token > 0 },
	Stored:   stored,
	Channel: func(_ backend.Capabilities, key string) string {
		return engine.SideName("redisson_lock__channel:", key)
	},
	Published: published,
	Queue: &engine.Queue[Fair, In]{
		Key:     func(key string) string { return engine.SideName("redisson_lock_queue:", key) },
		Waiting: func(s state) []string { return s.V.living() },
		Place:   func(in In) time.Duration { return in.Allowance },
		Message: "0",
	},
	Ops: []engine.Op[Fair, In, lock.Out]{
		{Name: "TryLock", Often: 3, Draw: drawAcquire, Acquire: tryLock, Tries: true, Refuses: tooShort},
		{Name: "Lock", Often: 3, Draw: drawAcquire, Acquire: acquire, Waits: true, Refuses: tooShort},
		{Name: "ForceUnlock", Often: 1, Draw: drawForce, Call: forceUnlock},
		{Name: "Query", Often: 2, Draw: drawQuery, Call: query, Blind: true},
	},
	Ready: func(s state, in In) bool {
		first := s.V.at(time.Time{}).survey(in.Owner, "").first
		return s.Kind == engine.Absent && (first == "" || first == in.Owner)
	},
	Blocks: func(s state) (In, bool) { return In{In: lock.In{Op: lock.Acquire}}, s.Kind == engine.Absent },
	Frees: func(s state) (In, bool) {
		return In{In: lock.In{Op: lock.Release, Owner: s.V.Owner}}, s.Kind == engine.Present
	},
	Peer: byPeer,
	Hold: &engine.Hold[Fair, In, lock.Out]{
		Of:       func(in In) (engine.HoldAct, string, time.Duration) { return lock.HoldOf(in.In) },
		Fixed:    func(in In) time.Duration { return in.Fixed },
		Holders:  func(s state) []string { return lock.Holders(locked(s)) },
		Grant:    func(out lock.Out) (string, int64, bool) { return out.Owner, out.Token, out.Token > 0 },
		Granted:  func(owner string, token int64) lock.Out { return lock.Out{Owner: owner, Token: token} },
		Release:  func(owner string) In { return In{In: lock.In{Op: lock.Release, Owner: owner}} },
		Done:     func(out lock.Out) bool { return out.Done },
		Conflict: func(out lock.Out) bool { return out.Other },
	},
}

// promises are those of locks, and what a fair one promises beyond that.
func promises() map[string]string {
	all := lock.PromisesOf("FairLock")
	all["FairLock.Waiting"] = `Waiters get the lock in the order in which they came to the server. A release
wakes the first of them alone. One that leaves is taken out of the queue; one that is dead is passed over
WaitAllowance after its last try, and one that lives is not. TryLock neither queues nor passes those who wait.`
	all["FairLock.Wire"] = `Keys, owners, scores, channels and messages are Redisson's.`
	return all
}

// locked returns a fair lock as one without a queue.
func locked(s state) engine.State[lock.Held] {
	return engine.State[lock.Held]{Kind: s.Kind, V: s.V.Held, Ends: s.Ends}
}

// keep is what of a fair lock outlives its key.
func keep(f Fair) Fair {
	f.Held = lock.Held{Token: f.Token}
	return f
}

// stored are the keys of a fair lock.
func stored(key string, s state) []engine.Key {
	list, scores, deadlines := []string{}, map[string]int64{}, map[string]int64{}
	for _, w := range s.V.Waiters.All() {
		list = append(list, w.Owner)
		scores[w.Owner] = s.V.Base + w.Score
		if w.ours() {
			deadlines[w.Owner] = w.Deadline
		}
	}
	return append(lock.Stored(key, locked(s), lock.TokenLife),
		engine.Key{Name: engine.SideName("redisson_lock_queue:", key), List: list},
		engine.Key{Name: engine.SideName("redisson_lock_timeout:", key), Set: scores},
		engine.Key{Name: engine.SideName("hasp_lock_deadline:", key), Set: deadlines})
}

// asLock returns a script of ours as that of a lock which does the same.
func asLock(s *engine.Script) *engine.Script {
	as := *s
	as.Name = strings.Replace(s.Name, "fair_", "lock_", 1)
	if s.Name == "fair_release_all" {
		as.Keys = s.Keys[:len(s.Keys)/4] // There are three beside each.
	}
	return &as
}

// asks returns what a script asks of each of its locks.
func asks(s *engine.Script) (ins []In) {
	for _, in := range lock.Asks(asLock(s)) {
		ins = append(ins, In{In: in})
	}
	if s.Name == "fair_acquire" {
		ins[0].Allowance = lock.Millis(s.Args[3])
	}
	return ins
}

// tooShort are too short a lease, and too short an allowance.
var tooShort = []In{
	{In: lock.In{Op: lock.Acquire, Fixed: 50 * time.Millisecond}},
	{In: lock.In{Op: lock.Acquire}, Allowance: 50 * time.Millisecond},
}

// drawAcquire draws an allowance where the time is known; else it is the watchdog's lease.
func drawAcquire(d engine.Dice[Fair]) (in In) {
	in.Op = lock.Acquire
	if !d.At.IsZero() {
		const long = 10 * time.Hour
		in.Allowance = []time.Duration{0, 10 * time.Second, 10 * time.Second, long, long, long}[d.Which]
	}
	if d.Flag {
		in.Fixed = d.Fixed
	}
	return in
}

func drawForce(engine.Dice[Fair]) In { return In{In: lock.In{Op: lock.Force}} }

func drawQuery(d engine.Dice[Fair]) In {
	return In{In: lock.DrawQuery(engine.Dice[lock.Held]{Which: d.Which, Flag: d.Flag, Now: locked(d.Now)})}
}

func of(c *primitives.Client, name string, in In) *primitives.FairLock {
	return c.NewFairLock(name, &primitives.FairLockOptions{Lease: in.Fixed, WaitAllowance: in.Allowance})
}

func acquire(ctx context.Context, c *primitives.Client, name string, in In) (*primitives.Lease, error) {
	return of(c, name, in).Lock(ctx)
}

func tryLock(ctx context.Context, c *primitives.Client, name string, in In) (*primitives.Lease, error) {
	return of(c, name, in).TryLock(ctx)
}

func forceUnlock(ctx context.Context, c *primitives.Client, name string, in In) (out lock.Out, err error) {
	out.Done, err = of(c, name, in).ForceUnlock(ctx)
	return out, err
}

func query(ctx context.Context, c *primitives.Client, name string, in In) (lock.Out, error) {
	return lock.Query(ctx, of(c, name, in), in.In)
}

// byPeer lets another program hold the lock or release it, as other locks' does, wait in the queue, dead
// or alive, and leave it, with the lock if it is its turn.
func byPeer(d engine.Dice[Fair]) (c engine.Change[Fair], ok bool) {
	held, q := d.Now.Kind == engine.Present, d.Now.V.at(d.At)
	first, waits := q.survey("", "").first, q.place(lock.PeerOwner) >= 0
	c.Next = d.Now
	switch {
	case held && d.Flag && d.Now.V.Owner != lock.PeerOwner:
		return c, false
	case held && d.Flag:
		c.Next, c.Message = d.Now.Gone(keep), first
	case waits:
		q.leave(lock.PeerOwner)
		if !held && first == lock.PeerOwner {
			c.Next, c.Life = taken(d), time.Minute
		}
	case d.Which%2 == 1:
		q.push(lock.PeerOwner, q.now)
		if d.Which == 5 {
			q.all[len(q.all)-1].Score -= 1000 * share
		}
	default:
		c.Next = taken(d)
		if d.Which < 4 {
			c.Life = d.For.Truncate(time.Millisecond) + time.Millisecond
		}
	}
	c.Next.V = q.of(c.Next.V)
	return c, true
}

// taken is a fair lock that a peer holds, once or twice.
func taken(d engine.Dice[Fair]) state {
	s := engine.New(d.Now.V)
	s.V.Held = lock.Held{Owner: lock.PeerOwner, Count: int64(1 + d.Which%2), Token: d.Now.V.Token}
	return s
}
