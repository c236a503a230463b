package lock

import (
	"context"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/primitives"
)

// Op is what happens to a lock.
type Op string

// What happens to a lock.
const (
	Acquire   Op = "acquire"
	Release   Op = "release"
	Renew     Op = "renew"
	Force     Op = "force release"
	IsLocked  Op = "is locked"
	IsHeldBy  Op = "is held by"
	HoldCount Op = "hold count"
	Remaining Op = "remaining"
	LastToken Op = "last token"
)

// In is one thing that happens to a lock.
type In struct {
	Op    Op
	Owner string
	Lease time.Duration // of an acquire or a renewal, as it is sent
	Fixed time.Duration // the lease that a call asks for; 0: the watchdog's
}

// Out is the answer.
type Out struct {
	Owner string        // of a grant
	Token int64         // of a grant
	Done  bool          // of a release, a renewal, a query
	Other bool          // the key is no lock
	Count int64         // of a query: a hold count, or the last token
	Left  time.Duration // of a refusal, and of Remaining; negative: the key has no end
}

// Held is a lock at one time.
type Held struct {
	Owner string
	Count int64
	Token int64 // the last one granted
}

// state is that of one lock.
type state = engine.State[Held]

const (
	// TokenLife is how long a token is kept, by default.
	TokenLife = time.Hour
	// OddToken is one that a double cannot hold.
	OddToken = 1<<53 + 1
)

// short is too short a lease.
var short = []In{{Op: Acquire, Fixed: 50 * time.Millisecond}}

// Locker is what locks that exclude have in common.
type Locker interface {
	Lock(ctx context.Context) (*primitives.Lease, error)
	TryLock(ctx context.Context) (*primitives.Lease, error)
	ForceUnlock(ctx context.Context) (bool, error)
	IsLocked(ctx context.Context) (bool, error)
	IsHeldBy(ctx context.Context, owner string) (bool, error)
	HoldCount(ctx context.Context, owner string) (int64, error)
	Remaining(ctx context.Context) (time.Duration, error)
}

// maker makes a lock of a kind.
type maker func(c *primitives.Client, name string, o *primitives.LockOptions) Locker

// Primitive declares the lock.
var Primitive engine.Subject = Exclusive

// Exclusive is the same declaration with its types, of which those of other locks are made.
var Exclusive = declare("Lock", TokenLife, func(
	c *primitives.Client, name string, o *primitives.LockOptions,
) Locker {
	return c.NewLock(name, o)
})

// declare declares a kind of locks, whose last tokens are kept for a time; 0: for ever.
func declare(name string, tokenLife time.Duration, make maker) *engine.Primitive[Held, In, Out] {
	return &engine.Primitive[Held, In, Out]{
		Name:     name,
		Promises: PromisesOf(name),
		Limit:    name + ".Exclusion",
		Edge:     &state{V: Held{Token: OddToken}},
		Step:     Step,
		Keep:     keep,
		Verb:     func(in In) string { return string(in.Op) },
		Asks:     Asks,
		Answers:  Answers,
		Told:     Told,
		Granted:  func(out Out) bool { return out.Token > 0 },
		Stored:   func(key string, s state) []engine.Key { return Stored(key, s, tokenLife) },
		Channel: func(_ backend.Capabilities, key string) string {
			return engine.SideName("redisson_lock__channel:", key)
		},
		Published: func(before, after state, in In) string {
			if (in.Op == Release || in.Op == Force) && before.Kind != after.Kind {
				return "0"
			}
			return ""
		},
		Ops: []engine.Op[Held, In, Out]{
			{Name: "TryLock", Often: 3, Draw: drawAcquire, Acquire: make.tryLock, Tries: true, Refuses: short},
			{Name: "Lock", Often: 2, Draw: drawAcquire, Acquire: make.lock, Waits: true, Refuses: short},
			{Name: "ForceUnlock", Often: 1, Draw: drawForce, Call: make.forceUnlock},
			{Name: "Query", Often: 2, Draw: DrawQuery, Call: make.query, Blind: true},
		},
		Ready:  func(s state, _ In) bool { return s.Kind == engine.Absent },
		Blocks: func(s state) (In, bool) { return In{Op: Acquire}, s.Kind == engine.Absent },
		Frees:  func(s state) (In, bool) { return In{Op: Release, Owner: s.V.Owner}, s.Kind == engine.Present },
		Peer:   byPeer,
		Some:   state{Kind: engine.Present, V: Held{Owner: PeerOwner, Count: 1}},
		Hold: &engine.Hold[Held, In, Out]{
			Of:       HoldOf,
			Fixed:    func(in In) time.Duration { return in.Fixed },
			Holders:  Holders,
			Grant:    func(out Out) (string, int64, bool) { return out.Owner, out.Token, out.Token > 0 },
			Granted:  func(owner string, token int64) Out { return Out{Owner: owner, Token: token} },
			Release:  func(owner string) In { return In{Op: Release, Owner: owner} },
			Done:     func(out Out) bool { return out.Done },
			Conflict: func(out Out) bool { return out.Other },
		},
	}
}

// keep is what of a lock outlives its key.
func keep(h Held) Held { return Held{Token: h.Token} }

// Step is the model.
func Step(s state, at time.Time, in In, out Out) (state, bool) {
	if out.Other {
		return s, s.Kind == engine.Other
	}
	locked := s.Kind == engine.Present
	mine := locked && s.V.Owner == in.Owner
	if s.Kind == engine.Other && in.Op != IsLocked && in.Op != Remaining {
		return s, false
	}
	switch in.Op {
	case Acquire:
		return acquire(s, at, in, out)
	case Renew:
		if mine {
			s = s.Until(at.Add(in.Lease))
		}
		return s, out.Done == mine
	case Release:
		if mine {
			s = s.Gone(keep)
		}
		return s, out.Done == mine
	case Force:
		return s.Gone(keep), out.Done == locked
	case IsLocked:
		return s, out.Done == (s.Kind != engine.Absent)
	case IsHeldBy:
		return s, out.Done == mine
	case HoldCount:
		return s, mine && out.Count == s.V.Count || !mine && out.Count == 0
	case Remaining:
		return s, s.Remains(at, out.Left)
	case LastToken:
		return s, out.Count == s.V.Token
	}
	return s, false
}

func acquire(s state, at time.Time, in In, out Out) (state, bool) {
	if out.Token == 0 {
		return s, s.Kind == engine.Present && s.Remains(at, out.Left)
	}
	last := s.V.Token
	ok := s.Kind == engine.Absent && (at.IsZero() && out.Token > last || out.Token == max(last+1, at.UnixMicro()))
	next := s.Is(Held{Owner: out.Owner, Count: 1, Token: out.Token})
	return next.Until(at.Add(in.Lease)), ok
}

// Stored are a lock's keys. The last token is kept for tokenLife; 0: for ever.
func Stored(key string, s state, tokenLife time.Duration) []engine.Key {
	own, last := engine.Key{Name: key}, engine.Key{
		Name: engine.SideName("redisson_lock_token:", key), Life: tokenLife, After: time.UnixMicro(s.V.Token),
	}
	if s.Kind == engine.Present {
		own.Fields = map[string]string{s.V.Owner: strconv.FormatInt(s.V.Count, 10)}
	}
	if s.V.Token > 0 {
		last.Text = strconv.FormatInt(s.V.Token, 10)
	}
	return []engine.Key{own, last}
}

// Told is what a caller gets: nothing remains of a free lock.
func Told(out Out) Out {
	if out.Left == -2*time.Millisecond {
		out.Left = 0
	}
	return out
}

// PeerOwner is one who knows nothing of this package.
const PeerOwner = "5f0c2a9e-0000-4000-8000-00000000000a:77"

// byPeer lets another program hold the lock, once or twice, with a lease or without, or release it.
func byPeer(d engine.Dice[Held]) (c engine.Change[Held], ok bool) {
	if d.Now.Kind == engine.Present && d.Now.V.Owner == PeerOwner && d.Flag {
		return engine.Change[Held]{Next: d.Now.Gone(keep), Message: "0"}, true
	}
	if d.Now.Kind == engine.Present && d.Flag {
		return c, false
	}
	held := Held{Owner: PeerOwner, Count: int64(1 + d.Which%2), Token: d.Now.V.Token}
	c.Next = engine.New(held)
	if d.Which < 4 {
		c.Life = d.For.Truncate(time.Millisecond) + time.Millisecond
	}
	return c, true
}

// Holders is who holds a lock.
func Holders(s state) []string {
	if s.Kind != engine.Present {
		return nil
	}
	return []string{s.V.Owner}
}

// HoldOf says what something does to whose hold.
func HoldOf(in In) (engine.HoldAct, string, time.Duration) {
	act := map[Op]engine.HoldAct{
		Acquire: engine.Asks, Renew: engine.Renews, Release: engine.Releases,
	}[in.Op]
	return act, in.Owner, in.Lease
}

func drawAcquire(d engine.Dice[Held]) In {
	if d.Flag {
		return In{Op: Acquire, Fixed: d.Fixed}
	}
	return In{Op: Acquire}
}

func drawForce(engine.Dice[Held]) In { return In{Op: Force} }

// DrawQuery draws one of the queries.
func DrawQuery(d engine.Dice[Held]) In {
	in := In{Op: []Op{IsLocked, IsHeldBy, Remaining, Remaining, HoldCount, HoldCount}[d.Which], Owner: "nobody"}
	if d.Now.V.Owner != "" && d.Flag {
		in.Owner = d.Now.V.Owner
	}
	return in
}

func options(in In) *primitives.LockOptions { return &primitives.LockOptions{Lease: in.Fixed} }

func (make maker) lock(ctx context.Context, c *primitives.Client, name string, in In) (*primitives.Lease, error) {
	return make(c, name, options(in)).Lock(ctx)
}

func (make maker) tryLock(ctx context.Context, c *primitives.Client, name string, in In) (*primitives.Lease, error) {
	return make(c, name, options(in)).TryLock(ctx)
}

func (make maker) forceUnlock(ctx context.Context, c *primitives.Client, name string, _ In) (out Out, err error) {
	out.Done, err = make(c, name, nil).ForceUnlock(ctx)
	return out, err
}

func (make maker) query(ctx context.Context, c *primitives.Client, name string, in In) (Out, error) {
	return Query(ctx, make(c, name, nil), in)
}

// Query calls the method that in asks for.
func Query(ctx context.Context, l Locker, in In) (out Out, err error) {
	switch in.Op {
	case IsLocked:
		out.Done, err = l.IsLocked(ctx)
	case IsHeldBy:
		out.Done, err = l.IsHeldBy(ctx, in.Owner)
	case HoldCount:
		out.Count, err = l.HoldCount(ctx, in.Owner)
	default:
		out.Left, err = l.Remaining(ctx)
		if out.Left == primitives.NoExpiry {
			out.Left = -time.Millisecond
		}
	}
	return out, err
}
