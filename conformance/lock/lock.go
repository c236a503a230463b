// Package lock is what the declarations of locks have in common: what happens to them, their operations, what
// their leases hold, what their scripts say, and the model of a lock that one owner holds.
package lock

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/primitives"
)

// Op is the kind of an operation.
type Op string

// The operations.
const (
	Acquire   Op = "acquire"
	Release   Op = "release"
	Renew     Op = "renew"
	Force     Op = "force release"
	Revoke    Op = "revoke"
	IsLocked  Op = "is locked"
	IsHeldBy  Op = "is held by"
	HoldCount Op = "hold count"
	Remaining Op = "remaining"
	LastToken Op = "last token"
	Holds     Op = "holders" // of a counting semaphore: how many owners hold it
)

// In is an operation on a lock.
type In struct {
	Op    Op
	Owner string
	Lease time.Duration // of an acquire or a renewal, as it is sent
	Fixed time.Duration // the lease that a call asks for; 0: the watchdog's

	WaiterTimeout  time.Duration // of a queue: of an acquire as it is sent, 0: no place; of a call, 0: the default
	Limit          int64         // of a counting semaphore
	Side           Side          // of a read-write lock
	Under          string        // the writer under whose hold a reader asks
	Prefer, Queues bool          // readers stand back for waiting writers; a writer that readers refuse gets a place

	Waiters       string // of a mutex: the owners that queue, or send heartbeats, with spaces between them
	Number, Stamp int64  // of a mutex: the place of an acquire, 0: at the end; and of a heartbeat
}

// Side is one side of a read-write lock.
type Side string

// The sides, by the mode of a lock that is held.
const (
	Read  Side = "read"
	Write Side = "write"
)

// Out is the answer.
type Out struct {
	Owner string        // of a grant; of a renewal of a lost lock: the owner that holds it
	Token int64         // of a grant
	Done  bool          // of a release, a renewal, a query
	Other bool          // the key is no lock
	Count int64         // of a query: a hold count, or the last token; of an acquire that a mutex refuses: its place
	Left  time.Duration // of a refusal, and of Remaining; negative: the key has no expiry
	Said  string        // of a mutex: what a beat says of its owners
}

// Held is a lock at one time.
type Held struct {
	Owner string
	Count int64
	Token int64 // the last one granted
}

// state is the state of one lock.
type state = engine.State[Held]

const (
	// TokenLife is how long a token is kept, by default.
	TokenLife = time.Hour
	// OddToken is a token that a double cannot hold.
	OddToken = 1<<53 + 1
	// PeerOwner is the owner that another program uses, and Nobody that of a hold that was revoked.
	PeerOwner, Nobody = "5f0c2a9e-0000-4000-8000-00000000000a:77", "00000000-0000-0000-0000-000000000000:0"
)

// Locker is a lock that one owner holds at a time.
type Locker interface {
	Lock(ctx context.Context) (*primitives.Lease, error)
	TryLock(ctx context.Context) (*primitives.Lease, error)
	ForceUnlock(ctx context.Context) (bool, error)
	Revoke(ctx context.Context, owner string) (time.Duration, error)
	IsLocked(ctx context.Context) (bool, error)
	IsHeldBy(ctx context.Context, owner string) (bool, error)
	HoldCount(ctx context.Context, owner string) (int64, error)
	Remaining(ctx context.Context) (time.Duration, error)
}

// Maker makes a lock.
type Maker func(c *primitives.Client, name string, in In) Locker

// Declare returns the part of a declaration that all locks have in common.
func Declare[S comparable](
	name, channel string, holders func(s engine.State[S]) []string,
) *engine.Primitive[S, In, Out] {
	return &engine.Primitive[S, In, Out]{
		Name: name, Promises: PromisesOf(name), Limit: name + ".Exclusion",
		Verb: func(in In) string { return string(in.Op) }, Asks: Asks, Answers: Answers,
		Granted: func(out Out) bool { return out.Token > 0 },
		Channel: func(_ backend.Capabilities, key string) string { return engine.SideName(channel, key) },
		Blocks: func(s engine.State[S]) (In, bool) {
			return In{Op: Acquire, Limit: 1, Side: Write}, s.Kind != engine.Other && len(holders(s)) == 0
		},
		Frees: func(s engine.State[S]) (In, bool) {
			all := append(holders(s), "")
			return release(all[0]), all[0] != ""
		},
		Hold: &engine.Hold[S, In, Out]{
			Of: HoldOf, Fixed: func(in In) time.Duration { return in.Fixed }, Holders: holders, Release: release,
			Grant:   func(out Out) (string, int64, bool) { return out.Owner, out.Token, out.Token > 0 },
			Granted: func(owner string, token int64) Out { return Out{Owner: owner, Token: token} },
			Done:    func(out Out) bool { return out.Done },
		},
	}
}

// Ops returns the operations of a lock that one owner holds at a time.
func Ops[S comparable](
	of Maker, draw func(d engine.Params[S]) In, holders func(s engine.State[S]) []string, refuses ...In,
) []engine.Op[S, In, Out] {
	query := func(d engine.Params[S]) In {
		in := In{Op: []Op{IsLocked, IsHeldBy, Remaining, Remaining, HoldCount, HoldCount}[d.Which], Owner: "nobody"}
		if all := holders(d.Now); len(all) > 0 && d.Flag {
			in.Owner = all[0]
		}
		return in
	}
	force := func(d engine.Params[S]) In { return In{Op: []Op{Force, Revoke}[d.Which%2], Owner: query(d).Owner} }
	return []engine.Op[S, In, Out]{
		{Name: "TryLock", Weight: 3, Generate: draw, Acquire: Call(of, Locker.TryLock), Tries: true, Refuses: refuses},
		{Name: "Lock", Weight: 2, Generate: draw, Acquire: Call(of, Locker.Lock), Waits: true, Refuses: refuses},
		{Name: "ForceUnlock", Weight: 1, Generate: force, Call: of.Query},
		{Name: "Query", Weight: 2, Generate: query, Call: of.Query, WriteOnly: true},
	}
}

// Short is an acquire with too short a lease.
var Short = In{Op: Acquire, Limit: 1, Fixed: 50 * time.Millisecond}

// Generate generates an acquire.
func Generate[S comparable](d engine.Params[S]) In {
	if d.Flag {
		return In{Op: Acquire, Fixed: d.Fixed}
	}
	return In{Op: Acquire}
}

// Call calls a method of the object that make makes.
func Call[M ~func(*primitives.Client, string, In) L, L, A any](
	make M, method func(l L, ctx context.Context) (A, error),
) func(ctx context.Context, c *primitives.Client, name string, in In) (A, error) {
	return func(ctx context.Context, c *primitives.Client, name string, in In) (A, error) {
		return method(make(c, name, in), ctx)
	}
}

func release(owner string) In { return In{Op: Release, Owner: owner} }

// Keep returns the part of a lock that outlives its key.
func Keep(h Held) Held { return Held{Token: h.Token} }

// Step is the model.
func Step(s state, at time.Time, in In, out Out) (state, bool) {
	mine := s.Kind == engine.Present && s.V.Owner == in.Owner
	switch other := s.Kind == engine.Other; {
	case out.Other, other && in.Op != Remaining:
		return s, out == Out{Other: true} && other
	case in.Op == Acquire && out.Token == 0:
		return s, s.Kind == engine.Present && s.Remains(at, out.Left)
	case in.Op == Acquire:
		next := s.Is(Held{Owner: out.Owner, Count: 1, Token: out.Token}).Until(at.Add(in.Lease))
		return next, s.Kind == engine.Absent && Follows(s.V.Token, at, out.Token)
	case in.Op == Renew && mine:
		return s.Until(at.Add(in.Lease)), out == Out{Done: true}
	case in.Op == Renew:
		return s, out == Out{Owner: strings.Join(Holders(s), "")}
	case in.Op == Release && mine:
		return s.Gone(Keep), out == Out{Done: true}
	case in.Op == Force:
		return s.Gone(Keep), out.Done == (s.Kind == engine.Present)
	case in.Op == Revoke && s.Kind == engine.Present && (in.Owner == "" || mine || s.V.Owner == Nobody):
		next := s
		next.V.Owner, next.V.Count = Nobody, 1
		return Revoked(s, next, at, in, out)
	case in.Op == IsLocked:
		return s, out.Done == (s.Kind == engine.Present)
	case in.Op == HoldCount:
		return s, mine && out.Count == s.V.Count || !mine && out.Count == 0
	case in.Op == Remaining:
		return s, s.Remains(at, out.Left)
	case in.Op == LastToken:
		return s, out.Count == s.V.Token
	}
	return s, out == Out{Done: mine}
}

// Revoked is the model of a revocation, with its state after it: the hold ends when it did, in whole milliseconds.
func Revoked[S comparable](s, next engine.State[S], at time.Time, in In, out Out) (engine.State[S], bool) {
	ok := out.Left >= 0 && s.Remains(at, out.Left) || s.Ends.IsZero() && out.Left == in.Lease
	if s != next {
		next = next.Until(at.Add(out.Left))
	}
	return next, ok && out == Out{Left: out.Left}
}

// Follows reports whether a grant can have the token behind the last one.
func Follows(last int64, at time.Time, token int64) bool {
	return at.IsZero() && token > last || token == max(last+1, at.UnixMicro())
}

// Stored returns a lock's keys. The last token is kept for tokenLife; 0: for ever.
func Stored(key string, s state, tokenLife time.Duration) []engine.Key {
	own, last := engine.Key{Name: key}, engine.Key{
		Name: engine.SideName("redisson_lock_token:", key), Life: tokenLife, After: time.UnixMicro(s.V.Token),
	}
	if s.Kind == engine.Present {
		own.Fields = map[string]string{s.V.Owner: fmt.Sprint(s.V.Count)}
	}
	if s.V.Token > 0 {
		last.Text = fmt.Sprint(s.V.Token)
	}
	return []engine.Key{own, last}
}

// Holders returns the owner that holds a lock, if there is one.
func Holders(s state) []string { return strings.Fields(s.V.Owner) }

// HoldOf returns what an input does to a hold, the owner of that hold, and the lease.
func HoldOf(in In) (engine.HoldAct, string, time.Duration) {
	act := map[Op]engine.HoldAct{Acquire: engine.Asks, Renew: engine.Renews, Release: engine.Releases}[in.Op]
	return act, in.Owner, in.Lease
}

// Query calls the method that in asks for.
func (make Maker) Query(ctx context.Context, c *primitives.Client, name string, in In) (out Out, err error) {
	l := make(c, name, in)
	switch in.Op {
	case Force:
		out.Done, err = l.ForceUnlock(ctx)
	case Revoke:
		out.Left, err = l.Revoke(ctx, in.Owner)
	case IsLocked:
		out.Done, err = l.IsLocked(ctx)
	case IsHeldBy:
		out.Done, err = l.IsHeldBy(ctx, in.Owner)
	case HoldCount:
		out.Count, err = l.HoldCount(ctx, in.Owner)
	default:
		out.Left, err = Left(l.Remaining(ctx))
	}
	return out, err
}

// Left returns the result of Remaining in the form of a PTTL.
func Left(left time.Duration, err error) (time.Duration, error) {
	if left == primitives.NoExpiry {
		left = -time.Millisecond
	}
	return left, err
}

// PromisesOf returns the promises of a kind of locks.
func PromisesOf(name string) map[string]string {
	all := map[string]string{}
	for clause, text := range Promises {
		all[strings.Replace(clause, "Lock", name, 1)] = text
	}
	return all
}

// Promises are the promises of a lock.
var Promises = map[string]string{
	"Lock.Exclusion": `At any time at most one owner holds a lock. Each call of Lock or TryLock is
an owner of its own, even on one Lock value and under a lease's Context.`,
	"Lock.Waiting": `Lock acquires when the lock becomes free: by a message, at the end of the
holder's lease, or by a bounded poll. A woken waiter that leaves wakes the next one.`,
	"Lock.Lease": `A lease is lost at its last confirmed end less the clock drift, counted from before the
request was sent. Then its contexts end with cause ErrLost, for good.`,
	"Lock.Renewal": `A lock without a fixed lease is renewed every third of the watchdog's lease until
Release, while its owner holds it. A bad key costs only itself.`,
	"Lock.Release": `Release ends the lease's contexts and then frees the lock, even under a context
that has ended. A nil error proves that the lock was held to the end.`,
	"Lock.Reenter": `Under a lease's Reenter context Lock and TryLock re-enter its hold, with the same
options. Each lease is released once, and the last release frees the lock.`,
	"Lock.GivingBack": `A cancelled acquire returns at once, and a grant that it may have got is released.
That release never touches another hold.`,
	"Lock.Token": `A grant's token is higher than that of every earlier grant of the name. Re-entry
does not raise it.`,
	"Lock.Input": `Bad input gets a typed error that names the field, at once, with nothing sent.`,
	"Lock.Close": `Close ends waiting and the contexts of held leases with ErrClosed, releases the holds,
and leaves no subscription and no goroutine.`,
	"Lock.Queries": `IsLocked, IsHeldBy, HoldCount and Remaining return the server's state. ForceUnlock
frees the lock no matter who holds it, and Revoke keeps it, for an owner that no client has, until the lease has ended. A key of another kind is ErrConflict and is not touched.`,
	"Lock.Wire": `Keys, owners, channels and messages are Redisson's: a hash of owner and hold
count at the name, the message 0 on its channel at the release.`,
}
