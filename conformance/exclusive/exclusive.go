// Package exclusive declares primitives.Lock, FencedLock, SpinLock and PlainLock for the suite. Their model is in package lock.
package exclusive

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/lock"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// state is the state of one lock.
type state = engine.State[lock.Held]

// Lock, Fenced and Spin declare a lock each.
var (
	Lock   engine.Subject = declare("Lock", lock.TokenLife, newLock)
	Fenced engine.Subject = fenced()
	Spin   engine.Subject = spin()
)

func newLock(c *primitives.Client, name string, in lock.In) lock.Locker {
	return c.NewLock(name, &primitives.LockOptions{Lease: in.Fixed})
}

// declare declares a lock whose last token is kept for tokenLife; 0: for ever.
func declare(name string, tokenLife time.Duration, of lock.Maker) *engine.Primitive[lock.Held, lock.In, lock.Out] {
	p := lock.Declare(name, "redisson_lock__channel:", lock.Holders)
	p.Some = state{Kind: engine.Present, V: lock.Held{Owner: lock.PeerOwner, Count: 1}}
	p.Edge = &state{V: lock.Held{Token: lock.OddToken}}
	p.Step, p.Keep, p.Peer = lock.Step, lock.Keep, byPeer("0")
	p.Stored = func(key string, s state) []engine.Key { return lock.Stored(key, s, tokenLife) }
	p.Published = func(before, after state, in lock.In) string {
		return map[bool]string{true: map[lock.Op]string{lock.Release: "0", lock.Force: "0,2"}[in.Op]}[before.Kind != after.Kind]
	}
	p.Ready = func(s state, _ lock.In) bool { return s.Kind == engine.Absent }
	p.Ops = lock.Ops(of, lock.Generate[lock.Held], lock.Holders, lock.Short)
	return p
}

func fenced() *engine.Primitive[lock.Held, lock.In, lock.Out] {
	p := declare("FencedLock", 0, func(c *primitives.Client, name string, in lock.In) lock.Locker {
		return c.NewFencedLock(name, &primitives.LockOptions{Lease: in.Fixed})
	})
	p.Promises["FencedLock.Token"] = `A grant's token is higher than that of every earlier grant of the name.
Re-entry does not raise it. The last token is kept for ever, and LastToken returns it.`
	p.Ops = append(p.Ops, engine.Op[lock.Held, lock.In, lock.Out]{
		Name: "LastToken", Weight: 1, Generate: func(engine.Params[lock.Held]) lock.In { return lock.In{Op: lock.LastToken} },
		Call: func(ctx context.Context, c *primitives.Client, name string, _ lock.In) (out lock.Out, err error) {
			out.Count, err = c.NewFencedLock(name, nil).LastToken(ctx)
			return out, err
		},
	})
	return p
}

func spin() *engine.Primitive[lock.Held, lock.In, lock.Out] {
	const longest = 2 * time.Second
	p := declare("SpinLock", lock.TokenLife, func(c *primitives.Client, name string, in lock.In) lock.Locker {
		return c.NewSpinLock(name, &primitives.SpinLockOptions{
			Lease: in.Fixed, FirstDelay: 10 * time.Millisecond, MaxDelay: longest,
		})
	})
	p.Promises["SpinLock.Waiting"] = `Lock acquires after a pause, which doubles with each refusal up to MaxDelay,
or at the end of the holder's lease. A client's waiters share their tries.`
	p.Promises["SpinLock.Wire"] = `Key and owners are Redisson's. No message is sent.`
	p.Channel, p.Published, p.Retry, p.Peer = nil, nil, longest, byPeer("")
	return p
}

// byPeer lets another program hold the lock, once or twice, with a lease or without, or release it with a message.
func byPeer(message string) func(d engine.Params[lock.Held]) (engine.Change[lock.Held], bool) {
	return func(d engine.Params[lock.Held]) (c engine.Change[lock.Held], ok bool) {
		if d.Now.Kind == engine.Present && d.Flag {
			return engine.Change[lock.Held]{Next: d.Now.Gone(lock.Keep), Message: message}, d.Now.V.Owner == lock.PeerOwner
		}
		c.Next = engine.New(lock.Held{Owner: lock.PeerOwner, Count: int64(1 + d.Which%2), Token: d.Now.V.Token})
		if d.Which < 4 {
			c.Life = d.For.Truncate(time.Millisecond) + time.Millisecond
		}
		return c, true
	}
}

// Plain declares the lock in one string.
var Plain engine.Subject = plain()

// plainLock is a plain lock, as the other kinds are.
type plainLock struct{ *primitives.PlainLock }

// HoldCount implements lock.Locker. It is never asked.
func (plainLock) HoldCount(context.Context, string) (int64, error) { return 0, nil }

func plain() *engine.Primitive[lock.Held, lock.In, lock.Out] {
	p := declare("PlainLock", 0, func(c *primitives.Client, name string, in lock.In) lock.Locker {
		return plainLock{c.NewPlainLock(name, &primitives.PlainLockOptions{Lease: in.Fixed})}
	})
	delete(p.Promises, "PlainLock.Token")
	p.Promises["PlainLock.Waiting"] += ` Other programs publish nothing, and a refusal says no time: one waiter of a
client tries again 250 ms later at the latest.`
	p.Promises["PlainLock.Wire"] = `The key is the name, and its value the owner, as SET NX PX stores it, which other
programs' locks do. Nothing else is stored. The message 0 is published at the release.`
	p.Some, p.Edge, p.Retry = state{Kind: engine.Present, V: lock.Held{Owner: "their-text", Count: 1}}, nil, 250*time.Millisecond
	p.Step, p.Keep, p.Asks, p.Answers, p.Peer = stepPlain, nil, asksPlain, answersPlain, plainPeer
	p.Granted = func(out lock.Out) bool { return out.Done }
	p.Hold.Grant = func(out lock.Out) (string, int64, bool) { return out.Owner, 0, out.Done && out.Owner != "" }
	p.Hold.Granted = func(owner string, _ int64) lock.Out { return lock.Out{Owner: owner, Done: true} }
	p.Channel = func(_ backend.Capabilities, key string) string { return engine.SideName("hasp_plain_lock:", key) }
	p.Stored = func(key string, s state) []engine.Key { return []engine.Key{{Name: key, Text: s.V.Owner}} }
	p.Ops[3].Generate = func(d engine.Params[lock.Held]) lock.In {
		return lock.In{Op: []lock.Op{lock.IsLocked, lock.Remaining}[d.Which%2]}
	}
	return p
}

// stepPlain is the model: that of a lock without tokens, whose refusals say no time.
func stepPlain(s state, at time.Time, in lock.In, out lock.Out) (state, bool) {
	switch {
	case in.Op != lock.Acquire || out.Other || s.Kind == engine.Other:
		return lock.Step(s, at, in, out)
	case !out.Done:
		return s, s.Kind == engine.Present && out == lock.Out{}
	}
	return s.Is(lock.Held{Owner: out.Owner, Count: 1}).Until(at.Add(in.Lease)), s.Kind == engine.Absent
}

// asksPlain returns what a script asks of each of its locks.
func asksPlain(s *engine.Script) []lock.In {
	if s.Name == "plain_set" {
		return []lock.In{{Op: lock.Acquire, Owner: s.Args[0], Lease: lock.Millis(s.Args[4])}}
	}
	return lock.Asks(s)
}

// answersPlain returns what a script answers for each of its locks.
func answersPlain(s *engine.Script) ([]lock.Out, error) {
	switch {
	case s.Err != nil:
		return nil, s.Err
	case s.Name == "mutex_holder":
		return []lock.Out{{Done: !s.Reply.IsNil()}}, nil
	case s.Name != "plain_set" && s.Name != "plain_acquire":
		return lock.Answers(s)
	case s.Reply.IsNil():
		return []lock.Out{{Owner: s.Args[0], Done: true}}, nil
	}
	must.Not(must.Get(s.Reply.Text()) == s.Args[0], "%s holds the lock, and has not asked before", s.Args[0])
	return []lock.Out{{}}, nil
}

// plainPeer lets another program hold the lock, with an expiry or without, or release it. It publishes nothing.
func plainPeer(d engine.Params[lock.Held]) (c engine.Change[lock.Held], ok bool) {
	c, ok = byPeer("")(d)
	c.Next.V.Owner, c.Next.V.Count = "their-text", 1
	if d.Now.Kind == engine.Present && d.Flag {
		return engine.Change[lock.Held]{Next: d.Now.Gone(nil)}, d.Now.V.Owner == "their-text"
	}
	return c, ok
}
