// Package readwrite declares primitives.ReadWriteLock for the suite. Its model is in model.go. Where times are not
// known nobody prefers writers.
package readwrite

import (
	"strings"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/lock"
	"github.com/hasp-go/hasp/primitives"
)

// state is the state of one read-write lock.
type state = engine.State[Held]

// Primitive declares the read-write lock.
var Primitive engine.Subject = declare()

func declare() *engine.Primitive[Held, lock.In, lock.Out] {
	p := lock.Declare("ReadWriteLock", "redisson_rwlock:", holders)
	p.Promises["ReadWriteLock.Exclusion"] = `At any time many owners hold the read lock, or one the write lock. Each
reader has a lease of its own, which the server enforces.`
	p.Promises["ReadWriteLock.Reenter"] = `Under a lease's Reenter context its own side is re-entered. A writer acquires
the read lock, and keeps it when it releases the write lock. A reader's attempt to write is ErrUpgrade.`
	p.Promises["ReadWriteLock.Token"] = "The tokens of writers rise. A reader has the last writer's token."
	p.Promises["ReadWriteLock.Wire"] = `Keys, owners, channels and messages are Redisson's: a hash of mode and holds
at the name, a key for each reader's lease, the message 0 after the last reader and 1 after a writer.`
	p.Edge = &state{V: Held{Token: lock.OddToken}}
	p.Some = engine.New(Held{Writer: lock.PeerOwner})
	p.Step, p.Ages, p.Keep, p.Peer, p.Ready = step, ages, keep, byPeer, ready
	p.Asks, p.Stored, p.Published = asks, stored, published
	p.Frees = func(s state) (lock.In, bool) { return p.Hold.Release(s.V.Writer), s.V.Writer != "" }
	p.Hold.Apart, p.Hold.Places = apart, func(s state) []string { return s.V.Waiting.All() }
	short := []lock.In{{Side: lock.Write, Fixed: 50 * time.Millisecond}, {Side: lock.Read, Fixed: 50 * time.Millisecond}}
	p.Ops = []engine.Op[Held, lock.In, lock.Out]{
		{Name: "TryLock", Weight: 4, Generate: acquires, Acquire: lock.Call(sideOf, lock.Locker.TryLock), Tries: true, Refuses: short},
		{Name: "Lock", Weight: 3, Generate: acquires, Acquire: lock.Call(sideOf, lock.Locker.Lock), Waits: true, Refuses: short},
		{Name: "ForceUnlock", Weight: 1, Generate: draw(lock.Force, lock.Revoke), Call: lock.Maker(sideOf).Query},
		{Name: "Remaining", Weight: 3, Generate: draw(lock.Remaining), Call: lock.Maker(sideOf).Query},
	}
	return p
}

// apart has a writer acquire the read lock, and refuses the write lock to a reader.
func apart(outer lock.In, owner string, inner lock.In) (awaits lock.In, apart bool, refused error) {
	awaits = inner
	if awaits.Under = owner; inner.Side == lock.Write {
		refused = primitives.ErrUpgrade
	}
	return awaits, outer.Side != inner.Side, refused
}

// asks returns what a script asks of each of its locks.
func asks(s *engine.Script) []lock.In {
	by, _, _ := strings.Cut(s.Name, "_")
	ins := lock.Asks(s)
	for i := range ins {
		ins[i].Side = lock.Side(by)
		switch {
		case s.Name == "read_acquire":
			ins[i].Under, ins[i].Lease, ins[i].Prefer = s.Args[1], lock.Millis(s.Args[2]), s.Args[4] == "1"
		case s.Name == "write_acquire":
			ins[i].Prefer, ins[i].Queues = s.Args[3] == "1", s.Args[4] == "1"
		case ins[i].Op == lock.Release:
			ins[i].Prefer = s.Name != "read_release" || s.Args[3] == "1"
		case ins[i].Op == lock.Force:
			ins[i].Side = lock.Side(s.Args[0])
		}
	}
	return ins
}

// draw draws a side, mostly the write lock first, and what is to be done. All holds are revoked, or the first.
func draw(ops ...lock.Op) func(d engine.Params[Held]) lock.In {
	return func(d engine.Params[Held]) lock.In {
		w, r := lock.Write, lock.Read
		in := lock.In{Op: ops[d.Which%len(ops)], Side: []lock.Side{w, w, r, r, w, r}[d.Which]}
		if all := holders(d.Now); in.Op == lock.Revoke && d.Flag && len(all) > 0 {
			in.Owner = all[0]
		}
		return in
	}
}

func acquires(d engine.Params[Held]) lock.In {
	in := lock.Generate(d)
	in.Side, in.Prefer = draw(in.Op)(d).Side, d.Which%2 == 0 && !d.At.IsZero()
	return in
}

func sideOf(c *primitives.Client, name string, in lock.In) lock.Locker {
	l := c.NewReadWriteLock(name, &primitives.ReadWriteLockOptions{Lease: in.Fixed, PreferWriters: in.Prefer})
	if in.Side == lock.Read {
		return l.ReadLock()
	}
	return l.WriteLock()
}
