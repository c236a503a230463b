// Package counting declares primitives.CountingSemaphore for the suite, once for each of its orders. Its model is
// in model.go.
package counting

import (
	"context"
	"slices"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/fairlock"
	"github.com/hasp-go/hasp/conformance/lock"
	"github.com/hasp-go/hasp/primitives"
)

// state is the state of one counting semaphore.
type state = engine.State[Held]

// order is the difference between the two declarations.
type order struct{ primitives.CountingOrder }

// queues reports whether waiters queue on the server.
func (o order) queues() bool { return o.CountingOrder == primitives.ByArrival }

// Primitive declares the semaphore whose waiters race, and ByArrival the one whose waiters queue.
var (
	Primitive engine.Subject = order{primitives.ByTime}.declare("CountingSemaphore")
	ByArrival engine.Subject = order{primitives.ByArrival}.declare("FairCountingSemaphore")
)

func (o order) declare(name string) *engine.Primitive[Held, lock.In, lock.Out] {
	p := lock.Declare(name, "hasp_semaphore:", holders)
	o.promise(name, p.Promises)
	p.Some = byPeerUntil(time.UnixMilli(farOff))
	p.Step, p.Ready, p.Published, p.Stored = o.step, o.ready, o.published, o.stored
	p.Keep, p.Ages, p.Peer = keep, ages, o.byPeer
	p.Asks, p.Answers, p.CallerView = asks, answers, answered
	p.Hold.Until = byPeerUntil
	refuses := []lock.In{{Op: lock.Acquire}, lock.Short}
	if o.queues() {
		refuses = append(refuses, fairlock.ShortPlace)
		p.Queue = fairlock.QueueAt[Held]("", ":owner", Held.queue)
	}
	try, wait := (*primitives.CountingSemaphore).TryAcquire, (*primitives.CountingSemaphore).Acquire
	p.Ops = []engine.Op[Held, lock.In, lock.Out]{
		{Name: "TryAcquire", Weight: 3, Generate: o.draw, Acquire: lock.Call(o.of, try), Tries: true, Refuses: refuses},
		{Name: "Acquire", Weight: 3, Generate: o.draw, Acquire: lock.Call(o.of, wait), Waits: true, Refuses: refuses},
		{Name: "Holders", Weight: 2, Generate: func(engine.Params[Held]) lock.In { return lock.In{Op: lock.Holds, Limit: 1} }, Call: o.holders},
	}
	p.Special = o.cases(p.Promises, name)
	return p
}

// promise adds the promises that differ from those of a lock.
func (o order) promise(name string, all map[string]string) {
	all[name+".Exclusion"] = `At any time at most as many owners hold a counting semaphore as the limit by
which they acquired it. Each hold has a lease of its own, by the server's clock.`
	all[name+".Waiting"] = `Acquire acquires when there is room: by a message, at the end of the first hold, or by
a bounded poll. A woken waiter that leaves wakes the next one.`
	all[name+".Token"] = "A grant's number is the server's time in microseconds."
	all[name+".Queries"] = `Holders returns how many owners hold the semaphore by the server's clock. A key of
another kind is ErrConflict and is not touched.`
	all[name+".Refresh"] = "Refresh gives a lease its whole length again, or reports that the hold was lost."
	all[name+".Wire"] = `The name is a zset of owners and ends of holds, in milliseconds. A release publishes 1.`
	if o.queues() {
		all[name+".Waiting"] = fairlock.WaitingPromise
		all[name+".Wire"] = `The name is a zset of owners and ends of holds, in milliseconds, and of waiters and
ends of places, negative. Next to it are a zset of waiters and numbers, and the last number.`
	}
}

// asks returns what a script asks of each of its semaphores.
func asks(s *engine.Script) []lock.In {
	limit, like := 0, *s
	switch s.Name {
	case "counting_acquire", "arrival_acquire", "arrival_release":
		limit = 1
		like.Args = slices.Delete(slices.Clone(s.Args), 1, 2)
	case "arrival_release_all":
		like.Args = s.Args[1:]
	default:
		return lock.Asks(s)
	}
	ins := lock.Asks(&like)
	for i := range ins {
		ins[i].Limit = lock.Whole(s.Args[limit])
	}
	if s.Name == "arrival_acquire" {
		ins[0].WaiterTimeout = lock.Millis(s.Args[3])
	}
	return ins
}

// answers returns what a script answers for each of its semaphores. The count of a grant is the room that is left.
func answers(s *engine.Script) (outs []lock.Out, err error) {
	outs, err = lock.Answers(s)
	if items, _ := s.Reply.Items(); s.Name == "counting_acquire" && len(items) == 3 && err == nil {
		outs[0].Count, err = items[2].Int()
	}
	return outs, err
}

// answered returns the part of an answer that a caller gets.
func answered(out lock.Out) lock.Out {
	if out.Token > 0 {
		out.Count = 0
	}
	return out
}

// draw draws a limit, mostly of 2; if nothing else is drawn, of 1, so one holder leaves no room.
func (o order) draw(d engine.Params[Held]) lock.In {
	in := lock.Generate(d)
	if in.Limit = 2; d.Which == 0 {
		in.Limit = 1
	}
	if o.queues() {
		in.WaiterTimeout = fairlock.DrawPlace(d)
	}
	return in
}

func (o order) of(c *primitives.Client, name string, in lock.In) *primitives.CountingSemaphore {
	return c.NewCountingSemaphore(name, int(in.Limit), &primitives.CountingSemaphoreOptions{
		Order: o.CountingOrder, Lease: in.Fixed, WaiterTimeout: in.WaiterTimeout,
	})
}

func (o order) holders(ctx context.Context, c *primitives.Client, name string, in lock.In) (out lock.Out, err error) {
	n, err := o.of(c, name, in).Holders(ctx)
	out.Count = int64(n)
	return out, err
}

// byPeerUntil returns a semaphore that another program holds until a time.
func byPeerUntil(at time.Time) state {
	return engine.New(Held{}.with(member{owner: lock.PeerOwner, ends: at.UnixMilli()}))
}

// byPeer lets another program acquire the semaphore, even if there is no room, or release it, with a message.
func (o order) byPeer(d engine.Params[Held]) (c engine.Change[Held], ok bool) {
	v := d.Now.V.without(lock.PeerOwner)
	if d.Flag && d.Now.V.holds(lock.PeerOwner) {
		if c.Message = "1"; o.queues() {
			c.Message, _ = v.queue().First("", "")
		}
		d.Now.V = v
		if c.Next = engine.New(v); v.Members == (engine.List[member]{}) {
			c.Next = d.Now.Gone(keep)
		}
		return c, true
	}
	ends := d.At.UnixMilli() + d.For.Milliseconds() + 1
	c.Next = engine.New(v.with(append(v.Members.All(), member{owner: lock.PeerOwner, ends: ends})...))
	return c, true
}
