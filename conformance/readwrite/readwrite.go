// Package readwrite declares primitives.ReadWriteLock for the suite: its promises, its model, its
// operations, and what the leases of its two sides hold. What a writer does alone is what the holder of
// a lock does, whose declaration it uses. PreferWriters is not declared.
package readwrite

import (
	"context"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/lock"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// Side is one of the two.
type Side string

// The sides, by the mode of a lock that somebody holds.
const (
	Read  Side = "read"
	Write Side = "write"
)

// In is one thing that happens to one side. Step knows the side of a holder by its owner.
type In struct {
	lock.In
	Side  Side
	Under string // the writer that lets itself in as a reader
}

// state is that of one read-write lock.
type state = engine.State[Held]

// peer is one who knows nothing of this package.
const peer = "5f0c2a9e-0000-4000-8000-00000000000a:77"

// Primitive declares the read-write lock.
var Primitive engine.Subject = &engine.Primitive[Held, In, lock.Out]{
	Name:     "ReadWriteLock",
	Promises: promises(),
	Limit:    "ReadWriteLock.Exclusion",
	Edge:     &state{V: Held{Token: 1<<53 + 1}}, // No double has that number.
	Some:     engine.New(Held{Writer: peer}),
	Step:     step,
	Ages:     ages,
	Keep:     keep,
	Verb:     func(in In) string { return string(in.Op) },
	Asks:     asks,
	Answers:  func(s *engine.Script) ([]lock.Out, error) { return lock.Exclusive.Answers(asLock(s)) },
	Told:     lock.Exclusive.Told,
	Granted:  lock.Exclusive.Granted,
	Stored:   stored,
	Channel: func(_ backend.Capabilities, key string) string {
		return engine.SideName("redisson_rwlock:", key)
	},
	Published: published,
	Ops: []engine.Op[Held, In, lock.Out]{
		{Name: "TryLock", Often: 4, Draw: draw(lock.Acquire), Acquire: tryLock, Tries: true, Refuses: short},
		{Name: "Lock", Often: 3, Draw: draw(lock.Acquire), Acquire: waitLock, Waits: true, Refuses: short},
		{Name: "ForceUnlock", Often: 1, Draw: draw(lock.Force), Call: forceUnlock},
		{Name: "Remaining", Often: 3, Draw: draw(lock.Remaining), Call: remaining},
	},
	Ready: ready,
	Blocks: func(s state) (In, bool) {
		return In{In: lock.In{Op: lock.Acquire}, Side: Write}, s.Kind == engine.Absent
	},
	Frees: func(s state) (In, bool) { return release(s.V.Writer), s.V.Writer != "" },
	Peer:  byPeer,
	Hold: &engine.Hold[Held, In, lock.Out]{
		Of:       func(in In) (engine.HoldAct, string, time.Duration) { return lock.Exclusive.Hold.Of(in.In) },
		Fixed:    func(in In) time.Duration { return in.Fixed },
		Holders:  holders,
		Grant:    lock.Exclusive.Hold.Grant,
		Granted:  lock.Exclusive.Hold.Granted,
		Release:  release,
		Apart:    apart,
		Done:     lock.Exclusive.Hold.Done,
		Conflict: lock.Exclusive.Hold.Conflict,
	},
	Special: []harness.Case{
		harness.NewCase(promises(), "ReadWriteLockWriterStaysAsAReader", "ReadWriteLock.Reenter", nil, stays),
	},
}

// short are too short leases.
var short = []In{{In: lock.In{Fixed: 50 * time.Millisecond}}, {In: lock.In{Fixed: 50 * time.Millisecond}, Side: Read}}

// promises are those of a lock, but for what two sides change.
func promises() map[string]string {
	all := map[string]string{}
	for clause, text := range lock.Promises {
		all["ReadWrite"+clause] = text
	}
	all["ReadWriteLock.Exclusion"] = `At any time many owners hold the read lock, or one the write lock. Each
reader has a lease of its own, which the server enforces, also if it crashes.`
	all["ReadWriteLock.Reenter"] = `Under a lease's Reenter context its own side is re-entered. A writer lets
itself in as a reader, and stays when it releases the write lock. A reader cannot become a writer: ErrUpgrade.`
	all["ReadWriteLock.Token"] = "The tokens of writers rise. A reader has that of the last writer before it."
	all["ReadWriteLock.Wire"] = `Keys, owners, channels and messages are Redisson's: a hash of mode and holds
at the name, a key for each reader's lease, the message 0 after the last reader and 1 after a writer.`
	return all
}

func release(owner string) In { return In{In: lock.In{Op: lock.Release, Owner: owner}} }

// apart lets a writer in as a reader, and refuses a reader who would be a writer.
func apart(outer In, owner string, inner In) (awaits In, apart bool, refused error) {
	awaits = inner
	if awaits.Under = owner; inner.Side == Write {
		refused = primitives.ErrUpgrade
	}
	return awaits, outer.Side != inner.Side, refused
}

// asLock returns a script as that of a lock which does the same.
func asLock(s *engine.Script) *engine.Script {
	like := *s
	_, what, _ := strings.Cut(s.Name, "_")
	like.Name = "lock_" + what
	switch items, _ := s.Reply.Items(); {
	case s.Name == "read_acquire":
		like.Args = []string{s.Args[0], s.Args[2]}
	case s.Name == "write_acquire" && len(items) == 3:
		like.Reply = backend.ArrayReply(items[:2]) // The third only says who else may try.
	case strings.HasSuffix(s.Name, "_release_all"):
		like.Keys = s.Keys[len(s.Keys)/2:] // Each lock has two.
	}
	return &like
}

// asks returns what a script asks of each of its locks.
func asks(s *engine.Script) (ins []In) {
	by, _, _ := strings.Cut(s.Name, "_")
	for _, in := range lock.Exclusive.Asks(asLock(s)) {
		ask := In{In: in, Side: Side(by)}
		switch {
		case s.Name == "read_acquire":
			ask.Under = s.Args[1]
		case in.Op == lock.Force:
			ask.Side = Side(s.Args[0])
		}
		ins = append(ins, ask)
	}
	return ins
}

// draw draws one side, that of writers first.
func draw(op lock.Op) func(d engine.Dice[Held]) In {
	return func(d engine.Dice[Held]) In {
		in := In{In: lock.In{Op: op}, Side: []Side{Write, Write, Read, Read, Write, Read}[d.Which]}
		if op == lock.Acquire && d.Flag {
			in.Fixed = d.Fixed
		}
		return in
	}
}

// side is what the two have in common.
type side interface {
	Lock(ctx context.Context) (*primitives.Lease, error)
	TryLock(ctx context.Context) (*primitives.Lease, error)
	ForceUnlock(ctx context.Context) (bool, error)
	Remaining(ctx context.Context) (time.Duration, error)
}

func sideOf(c *primitives.Client, name string, in In) side {
	l := c.NewReadWriteLock(name, &primitives.ReadWriteLockOptions{Lease: in.Fixed})
	if in.Side == Read {
		return l.ReadLock()
	}
	return l.WriteLock()
}

func waitLock(ctx context.Context, c *primitives.Client, name string, in In) (*primitives.Lease, error) {
	return sideOf(c, name, in).Lock(ctx)
}

func tryLock(ctx context.Context, c *primitives.Client, name string, in In) (*primitives.Lease, error) {
	return sideOf(c, name, in).TryLock(ctx)
}

func forceUnlock(ctx context.Context, c *primitives.Client, name string, in In) (out lock.Out, err error) {
	out.Done, err = sideOf(c, name, in).ForceUnlock(ctx)
	return out, err
}

func remaining(ctx context.Context, c *primitives.Client, name string, in In) (out lock.Out, err error) {
	out.Left, err = sideOf(c, name, in).Remaining(ctx)
	if out.Left == primitives.NoExpiry {
		out.Left = -time.Millisecond
	}
	return out, err
}

// stays lets a writer in as a reader, and ends the write hold: another reader joins it then, and no writer.
func stays(ctx context.Context, e *harness.Env) {
	clients := engine.Clients(ctx, e, 2)
	as := func(i int, s Side) side { return sideOf(clients[i], e.Key("object"), In{Side: s}) }
	writes := must.Get(as(0, Write).TryLock(ctx))
	reads := must.Get(as(0, Read).TryLock(writes.Reenter(ctx)))
	joins := must.Beside(func() { must.Do(must.Get(as(1, Read).Lock(ctx)).Unlock(ctx)) })
	harness.NotYet("another reader", joins)
	must.Do(writes.Unlock(ctx))
	harness.Finish("another reader", joins)
	must.Refuse[*primitives.Lease]("writing", primitives.ErrNotAcquired)(as(1, Write).TryLock(ctx))
	must.Refuse[*primitives.Lease]("an upgrade", primitives.ErrUpgrade)(as(0, Write).TryLock(reads.Reenter(ctx)))
	must.Do(reads.Unlock(ctx))
	must.Do(must.Get(as(1, Write).TryLock(ctx)).Unlock(ctx))
}
