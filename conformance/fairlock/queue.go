package fairlock

import (
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/lock"
)

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
