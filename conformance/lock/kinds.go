package lock

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/primitives"
)

// Primitive declares the lock, Fenced the fenced lock, and Spin the spin lock.
var (
	Primitive engine.Subject = declare("Lock", TokenLife, func(c *primitives.Client, name string, in In) Locker {
		return c.NewLock(name, &primitives.LockOptions{Lease: in.Fixed})
	})
	Fenced engine.Subject = fenced()
	Spin   engine.Subject = spin()
)

// declare declares a lock of which one owner is all, and whose last token is kept for a time; 0: for ever.
func declare(name string, tokenLife time.Duration, of Maker) *engine.Primitive[Held, In, Out] {
	p := Declare(name, "redisson_lock__channel:", Holders)
	p.Some = state{Kind: engine.Present, V: Held{Owner: PeerOwner, Count: 1}}
	p.Edge = &state{V: Held{Token: OddToken}}
	p.Step, p.Keep, p.Peer = Step, keep, byPeer
	p.Stored = func(key string, s state) []engine.Key { return Stored(key, s, tokenLife) }
	p.Published = func(before, after state, in In) string {
		if (in.Op == Release || in.Op == Force) && before.Kind != after.Kind {
			return "0"
		}
		return ""
	}
	p.Ready = func(s state, _ In) bool { return s.Kind == engine.Absent }
	p.Ops = Ops(of, Draw[Held], Holders, Short)
	return p
}

func fenced() *engine.Primitive[Held, In, Out] {
	p := declare("FencedLock", 0, func(c *primitives.Client, name string, in In) Locker {
		return c.NewFencedLock(name, &primitives.LockOptions{Lease: in.Fixed})
	})
	p.Promises["FencedLock.Token"] = `A grant's token is higher than that of every earlier grant of the name.
Re-entry does not raise it. The last token is kept for ever, and LastToken returns it.`
	p.Ops = append(p.Ops, engine.Op[Held, In, Out]{
		Name: "LastToken", Often: 1, Draw: func(engine.Dice[Held]) In { return In{Op: LastToken} },
		Call: func(ctx context.Context, c *primitives.Client, name string, _ In) (out Out, err error) {
			out.Count, err = c.NewFencedLock(name, nil).LastToken(ctx)
			return out, err
		},
	})
	return p
}

func spin() *engine.Primitive[Held, In, Out] {
	const longest = 2 * time.Second
	p := declare("SpinLock", TokenLife, func(c *primitives.Client, name string, in In) Locker {
		return c.NewSpinLock(name, &primitives.SpinLockOptions{
			Lease: in.Fixed, FirstDelay: 10 * time.Millisecond, MaxDelay: longest,
		})
	})
	p.Promises["SpinLock.Waiting"] = `Lock acquires after a pause, which doubles with each refusal up to MaxDelay,
or at the end of the holder's lease. A client's waiters share their tries.`
	p.Promises["SpinLock.Wire"] = `Key and owners are Redisson's. No message is sent.`
	p.Channel, p.Published, p.Retry = nil, nil, longest
	p.Peer = func(d engine.Dice[Held]) (engine.Change[Held], bool) {
		c, ok := byPeer(d)
		c.Message = ""
		return c, ok
	}
	return p
}
