// Package mutex declares primitives.Mutex for the suite. What it has in common with other locks is in package
// lock. Its model is in model.go.
package mutex

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/lock"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

const (
	beat      lock.Op = "beat"           // a heartbeat of owners
	worth             = 10 * time.Second // for which it counts, at most
	queueLife         = time.Minute      // after the last beat or newcomer
)

// Primitive declares the mutex.
var Primitive engine.Subject = declare()

func declare() *engine.Primitive[Held, lock.In, lock.Out] {
	p := lock.Declare("Mutex", "hasp_mutex:", holders)
	promise(p.Promises)
	p.Edge = &state{V: Held{Token: lock.OddToken}}
	p.Some = state{Kind: engine.Present, V: Held{Owner: lock.PeerOwner}}
	p.Step, p.Keep, p.Ages, p.Peer, p.Ready = step, keep, ages, byPeer, ready
	p.Asks, p.Answers, p.Stored = asks, answers, stored
	p.Channel = func(_ backend.Capabilities, name string) string { return keyOf(name) + ":granted" }
	p.Published = func(before, after state, in lock.In) string {
		lost := strings.TrimPrefix(map[lock.Op]string{lock.Force: before.V.Owner}[in.Op], lock.Nobody) // Whose channel no client hears.
		return lost + map[bool]string{true: "," + after.V.Told}[after.V.Told != before.V.Told]
	}
	p.Queue = &engine.Queue[Held, lock.In]{
		Key: func(name string) string { return keyOf(name) + ":queue" },
		Waiting: func(s state) (active []string) {
			for _, w := range s.V.Waiters.Without(func(w waiter) bool { return w.dead }).All() {
				active = append(active, w.owner)
			}
			return active
		},
	}
	p.Passes = &engine.Passes[lock.In]{
		Worth: worth, Group: groupOf, Read: read,
		Signs: func(in lock.In) ([]string, int64) { return strings.Fields(in.Waiters), in.Stamp },
	}
	draw, short := lock.Generate[Held], []lock.In{lock.Short}
	p.Ops = []engine.Op[Held, lock.In, lock.Out]{
		{Name: "TryLock", Weight: 3, Generate: draw, Acquire: lock.Call(of, (*primitives.Mutex).TryLock), Tries: true},
		{Name: "Lock", Weight: 3, Generate: draw, Acquire: lock.Call(of, (*primitives.Mutex).Lock), Waits: true},
		{Name: "ForceUnlock", Weight: 1, Generate: drawOne(lock.Force, lock.Revoke), Call: query},
		{Name: "Query", Weight: 2, Generate: drawOne(lock.IsLocked, lock.Remaining), Call: query, WriteOnly: true},
	}
	p.Ops[0].Refuses, p.Ops[1].Refuses = short, short
	return p
}

// promise adds what is another for a mutex to the promises of locks.
func promise(all map[string]string) {
	all["Mutex.Waiting"] = `Waiters get the mutex in the order in which they came to the server. A release grants it
to the first active waiter, and sends a message to it alone. A waiter that leaves is taken out of the queue. A waiter
that was silent for two thirds of the time for which a heartbeat counts is passed, and comes back to its place.
TryLock does not pass waiters, and does not queue.`
	all["Mutex.Lease"] += ` After a grant by another's release that is ten seconds, or the lease if it is shorter,
after the waiter sent the last heartbeat that the server had.`
	all["Mutex.Wire"] = `The holder is a string at hasp_mutex:{name}, the queue a sorted set beside it, by the
server's microseconds, and the heartbeats a hash. A message is the owner, the token, and the number of its heartbeat.`
}

// keyOf is the own key of the mutex of a name.
func keyOf(name string) string { return engine.SideName("hasp_mutex:", name) }

// groupOf is the group of an owner: its client, and how long its heartbeats count.
func groupOf(owner string) string { return owner[:max(0, strings.LastIndex(owner, ":"))] }

func of(c *primitives.Client, name string, in lock.In) *primitives.Mutex {
	return c.NewMutex(name, &primitives.MutexOptions{Lease: in.Fixed})
}

// drawOne draws one of some operations.
func drawOne(ops ...lock.Op) func(d engine.Params[Held]) lock.In {
	return func(d engine.Params[Held]) lock.In { return lock.In{Op: ops[d.Which%len(ops)]} }
}

func query(ctx context.Context, c *primitives.Client, name string, in lock.In) (out lock.Out, err error) {
	switch m := of(c, name, in); in.Op {
	case lock.Force:
		out.Done, err = m.ForceUnlock(ctx)
	case lock.Revoke:
		out.Left, err = m.Revoke(ctx, in.Owner)
	case lock.IsLocked:
		out.Done, err = m.IsLocked(ctx)
	default:
		out.Left, err = lock.Left(m.Remaining(ctx))
	}
	return out, err
}

// asks returns what a script asks of each of its mutexes.
func asks(s *engine.Script) []lock.In {
	switch s.Name {
	case "mutex_acquire":
		in := lock.In{Op: lock.Acquire, Owner: s.Args[0], Lease: lock.Millis(s.Args[1])}
		if s.Args[3] != "" {
			in.Waiters, in.Number, in.Stamp = in.Owner, lock.Whole(s.Args[3]), lock.Whole(s.Args[4])
		}
		return []lock.In{in}
	case "mutex_beat":
		in := lock.In{Op: beat, Lease: lock.Millis(s.Args[0])}
		in.Waiters, in.Stamp = strings.Join(s.Args[5:], " "), lock.Whole(s.Args[2])
		return []lock.In{in}
	case "mutex_release_all": // Its time for tokens is before what all have.
		return lock.Asks(&engine.Script{Name: s.Name, Args: s.Args[1:]})
	}
	return lock.Asks(s)
}

// answers returns what a script answers for each of its mutexes.
func answers(s *engine.Script) ([]lock.Out, error) {
	switch {
	case s.Err != nil:
		return nil, s.Err
	case s.Name == "mutex_acquire":
		return []lock.Out{acquired(s)}, nil
	case s.Name == "mutex_beat":
		return []lock.Out{beaten(s)}, nil
	case s.Name == "mutex_holder":
		return []lock.Out{{Done: !s.Reply.IsNil()}}, nil
	}
	return lock.Answers(s)
}

// acquired reads the answer to an acquire: a token, or how long the holder's lease still runs, and the place.
func acquired(s *engine.Script) lock.Out {
	words := strings.Fields(must.Get(s.Reply.Text()))
	if len(words) == 1 {
		return lock.Out{Owner: s.Args[0], Token: lock.Whole(words[0])}
	}
	return lock.Out{Left: lock.Millis(words[0]), Count: lock.Whole(words[1])}
}

// beaten reads the answer to a beat. Its owner is the one that holds the mutex, if one of those in the beat does.
func beaten(s *engine.Script) (out lock.Out) {
	items := must.Get(s.Reply.Tuple(4))
	out.Left, out.Said = must.Get(items[0].Duration(time.Millisecond)), fmt.Sprint(must.Get(items[1].Int()))
	for i, item := range must.Get(items[3].Items()) {
		status := must.Get(item.Int())
		if status == 2 {
			out.Owner, out.Token = s.Args[5+i], lock.Whole(must.Get(items[2].Text()))
		}
		out.Said += fmt.Sprint(" ", status)
	}
	return out
}

// read reads a message about a grant.
func read(text string) (g engine.Grant) {
	must.Get(fmt.Sscan(text+" 0 -1", &g.Owner, &g.Token, &g.Stamp)) // The owner alone: it lost the mutex.
	return g
}

// stored are the keys of a mutex.
func stored(name string, s state) []engine.Key {
	key := keyOf(name)
	own := engine.Key{Name: key, Text: strings.Join(holders(s), "")}
	last := engine.Key{Name: key + ":token", Life: lock.TokenLife, After: time.UnixMicro(s.V.Token)}
	if s.V.Token > 0 {
		last.Text = fmt.Sprint(s.V.Token)
	}
	queue := engine.Key{Name: key + ":queue", Set: map[string]int64{}, Ends: s.V.Ends}
	signs := engine.Key{Name: key + ":signs", Fields: map[string]string{}, Ends: s.V.Shown}
	for _, w := range s.V.Waiters.All() {
		if queue.Set[w.owner] = w.number; w.sign > 0 {
			signs.Fields[w.owner] = fmt.Sprint(w.sign, " ", w.stamp)
		}
	}
	return []engine.Key{own, last, queue, signs}
}

// byPeer lets another program hold the mutex, or end its hold by a release as ours.
func byPeer(d engine.Params[Held]) (c engine.Change[Held], ok bool) {
	s := d.Now
	switch held := s.Kind == engine.Present && d.Flag; {
	case held && s.V.Owner != lock.PeerOwner:
		return c, false
	case held: // What is written again has whole milliseconds.
		s.V.Ends, s.V.Shown = s.V.Ends.Truncate(time.Millisecond), s.V.Shown.Truncate(time.Millisecond)
		c.Next = pass(s, d.At)
		if c.Message = c.Next.V.Told; c.Message != "" {
			c.Life = c.Next.Ends.Sub(d.At)
		}
	default:
		s.V.Owner, s.V.Told = lock.PeerOwner, ""
		if c.Next = engine.New(s.V); d.Which < 4 {
			c.Life = d.For.Truncate(time.Millisecond) + time.Millisecond
		}
	}
	return c, true
}
