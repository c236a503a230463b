// Package fairlock declares primitives.FairLock for the suite. Its model is in
// model.go; queue.go has what all queues on the server have in common.
package fairlock

import (
	"fmt"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/lock"
	"github.com/hasp-go/hasp/primitives"
)

// Primitive declares the fair lock.
var Primitive engine.Subject = declare()

func declare() *engine.Primitive[Fair, lock.In, lock.Out] {
	p := lock.Declare("FairLock", "redisson_lock__channel:", holders)
	p.Promises["FairLock.Waiting"] = WaitingPromise
	p.Promises["FairLock.Wire"] = `Keys, owners, scores, channels and messages are Redisson's.`
	p.Some = state{Kind: engine.Present, V: Fair{Held: lock.Held{Owner: lock.PeerOwner, Count: 1}}}
	p.Edge = &state{V: Fair{Held: lock.Held{Token: lock.OddToken}}}
	p.Step, p.Keep, p.Ages, p.Peer = step, keep, ages, byPeer
	p.Asks, p.Stored, p.Published = asks, stored, published
	p.Queue = QueueAt[Fair]("redisson_lock_queue:", "", func(f Fair) Queue { return f.at(time.Time{}).owners() })
	p.Ready = func(s state, in lock.In) bool {
		first, _ := s.V.at(time.Time{}).owners().First(in.Owner, "")
		return s.Kind == engine.Absent && (first == "" || first == in.Owner)
	}
	p.Ops = lock.Ops(of, draw, holders, lock.Short, ShortPlace)
	p.Ops[1].Weight = 3
	return p
}

func of(c *primitives.Client, name string, in lock.In) lock.Locker {
	return c.NewFairLock(name, &primitives.FairLockOptions{Lease: in.Fixed, WaiterTimeout: in.WaiterTimeout})
}

func draw(d engine.Params[Fair]) lock.In {
	in := lock.Generate(d)
	in.WaiterTimeout = DrawPlace(d)
	return in
}

func holders(s state) []string { return lock.Holders(locked(s)) }

// locked returns a fair lock as one without a queue.
func locked(s state) engine.State[lock.Held] {
	return engine.State[lock.Held]{Kind: s.Kind, V: s.V.Held, Ends: s.Ends}
}

// keep returns the part of a fair lock that outlives its key.
func keep(f Fair) Fair {
	f.Held = lock.Held{Token: f.Token}
	return f
}

// stored returns the keys of a fair lock.
func stored(key string, s state) []engine.Key {
	list, scores, deadlines := []string{}, map[string]int64{}, map[string]string{}
	for _, w := range s.V.Waiters.All() {
		list = append(list, w.Owner)
		scores[w.Owner] = s.V.Base + w.Score
		if w.ours() {
			deadlines[w.Owner] = fmt.Sprint(w.Deadline, " ", w.WaiterTimeout.Milliseconds())
		}
	}
	return append(lock.Stored(key, locked(s), lock.TokenLife),
		engine.Key{Name: engine.SideName("redisson_lock_queue:", key), List: list},
		engine.Key{Name: engine.SideName("redisson_lock_timeout:", key), Set: scores},
		engine.Key{Name: engine.SideName("hasp_lock_deadline:", key), Fields: deadlines})
}

// asks returns what a script asks of each of its locks.
func asks(s *engine.Script) []lock.In {
	ins := lock.Asks(s)
	if s.Name == "fair_acquire" {
		ins[0].WaiterTimeout = lock.Millis(s.Args[3])
	}
	return ins
}

// byPeer lets another program acquire or release the lock, join the queue, with a place that may have ended, and
// leave the queue, as the holder if it is first.
func byPeer(d engine.Params[Fair]) (c engine.Change[Fair], ok bool) {
	held, q := d.Now.Kind == engine.Present, d.Now.V.at(d.At)
	waits := q.place(lock.PeerOwner) >= 0
	first, _ := q.owners().First("", "")
	c.Next = d.Now
	switch {
	case held && d.Flag && d.Now.V.Owner != lock.PeerOwner:
		return c, false
	case held && d.Flag:
		c.Next, c.Message = d.Now.Gone(keep), first
	case waits:
		q.leave(lock.PeerOwner)
		if !held && first == lock.PeerOwner {
			c.Next, c.Life = taken(d), time.Minute
		}
	case d.Which%2 == 1:
		q.push(lock.PeerOwner, q.now)
		if d.Which == 5 {
			q.all[len(q.all)-1].Score -= 1000 * share
		}
	default:
		c.Next = taken(d)
		if d.Which < 4 {
			c.Life = d.For.Truncate(time.Millisecond) + time.Millisecond
		}
	}
	c.Next.V = q.of(c.Next.V)
	return c, true
}

// taken returns a fair lock that a peer holds, once or twice.
func taken(d engine.Params[Fair]) state {
	s := engine.New(d.Now.V)
	s.V.Held = lock.Held{Owner: lock.PeerOwner, Count: int64(1 + d.Which%2), Token: d.Now.V.Token}
	return s
}

// WaitingPromise is the promise of a queue on the server.
const WaitingPromise = `Waiters acquire in the order in which they came to the server; a release wakes the first
waiter only. A waiter that leaves, or is silent for WaiterTimeout, loses its place. A try never queues or overtakes.`

// Waiter is an owner in a queue.
type Waiter struct {
	Owner string
	Ended bool // its place
}

// Queue are the owners that wait, the next one first.
type Queue []Waiter

// First returns the first waiter whose place has not ended, and the owners before it. A caller's own place has not
// ended, and a leaver does not count.
func (q Queue) First(caller, leaver string) (first string, ended []string) {
	for _, w := range q {
		switch {
		case w.Owner == leaver:
		case w.Owner == caller, !w.Ended:
			return w.Owner, ended
		default:
			ended = append(ended, w.Owner)
		}
	}
	return "", ended
}

// QueueAt declares a queue whose key has a text before the object's name, and another text after it.
func QueueAt[S comparable](before, behind string, of func(v S) Queue) *engine.Queue[S, lock.In] {
	return &engine.Queue[S, lock.In]{
		Key: func(key string) string { return engine.SideName(before, key) + behind },
		Waiting: func(s engine.State[S]) (owners []string) {
			for _, w := range of(s.V) {
				if !w.Ended {
					owners = append(owners, w.Owner)
				}
			}
			return owners
		},
		Place:   func(in lock.In) time.Duration { return in.WaiterTimeout },
		Message: "0",
	}
}

// ShortPlace is an acquire with too short a timeout.
var ShortPlace = lock.In{Op: lock.Acquire, Limit: 1, WaiterTimeout: 50 * time.Millisecond}

// DrawPlace draws a timeout where the time is known; else it is the watchdog's lease.
func DrawPlace[S comparable](d engine.Params[S]) time.Duration {
	if d.At.IsZero() {
		return 0
	}
	const long = 10 * time.Hour
	return []time.Duration{0, 10 * time.Second, 10 * time.Second, long, long, long}[d.Which]
}
