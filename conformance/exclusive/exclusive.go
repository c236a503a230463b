// Package exclusive declares primitives.Lock, FencedLock, SpinLock and PlainLock for the suite. Their model is in package lock.
package exclusive

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/lock"
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
