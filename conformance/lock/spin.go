package lock

import (
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/primitives"
)

// Spin declares the spin lock.
var Spin engine.Subject = spin()

// spinDelay is the longest pause of those who wait.
const spinDelay = 2 * time.Second

func spin() *engine.Primitive[Held, In, Out] {
	p := declare("SpinLock", TokenLife, func(
		c *primitives.Client, name string, o *primitives.LockOptions,
	) Locker {
		spin := &primitives.SpinLockOptions{FirstDelay: 10 * time.Millisecond, MaxDelay: spinDelay}
		if o != nil {
			spin.Lease = o.Lease
		}
		return c.NewSpinLock(name, spin)
	})
	p.Promises["SpinLock.Waiting"] = `Lock acquires when the lock becomes free: after a pause, which doubles with
each refusal up to MaxDelay, or at the end of the holder's lease. A client's waiters share their tries.`
	p.Promises["SpinLock.Wire"] = `Key and owners are Redisson's. No message is sent.`
	p.Channel, p.Published, p.Retry = nil, nil, spinDelay
	p.Peer = func(d engine.Dice[Held]) (engine.Change[Held], bool) {
		c, ok := byPeer(d)
		c.Message = ""
		return c, ok
	}
	return p
}
