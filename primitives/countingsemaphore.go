package primitives

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// CountingOrder says who is let into a [CountingSemaphore] first.
type CountingOrder int

// The orders of a [CountingSemaphore].
const (
	// ByTime lets in the first who asks while there is room: waiters race for it.
	ByTime CountingOrder = iota

	// ByArrival lets in those who wait in the order in which they came to the server, and nobody before
	// one who came earlier.
	ByArrival
)

// CountingSemaphoreOptions configure a [CountingSemaphore]. The zero value of each field means its default.
type CountingSemaphoreOptions struct {
	// Order is who is let in first. All who use one semaphore set the same. Zero means ByTime.
	Order CountingOrder

	// Lease is how long a hold lasts unless Refresh extends it: nobody renews it. Each holder has its own. In
	// whole milliseconds, at least 100 ms. Zero means the client's WatchdogLease, which the watchdog renews
	// until the lease is released.
	Lease time.Duration

	// WaiterTimeout is after how long without a try one who waits ByArrival loses its place: see
	// [FairLockOptions]. It tries at each poll, and at least three times within it. In whole milliseconds, at
	// least 100 ms. Zero means the client's WatchdogLease. ByTime it has no meaning.
	WaiterTimeout time.Duration

	_ struct{}
}

// CountingSemaphore lets at most limit holders in at a time. Each has a name and a lease of its own on the
// server: if a holder crashes, its slot is free when its lease ends, and one who waits is in then. This is
// what a [Semaphore] cannot do, whose permits are lost with the process that holds them.
//
// Each step is one script that reads the server's clock. So the limit holds whatever the clocks of the
// clients say, and however their calls interleave. It rests on what all leases rest on: see [Lease].
//
// All who use one semaphore give the same limit. One who gives a higher limit is let in by that one, and one
// who gives a lower limit waits until there are fewer holders: so it can be changed while the semaphore is
// in use.
//
// # Orders
//
// ByTime, a release wakes one waiter of each client, and the first whose try comes to the server is in.
//
// ByArrival, a caller that is refused gets a number on the server and waits in a queue; a release wakes the
// first alone. A waiter keeps its place for as long as it lives, because its tries refresh the place. A waiter
// that leaves is taken out of the queue in the background. A waiter whose process has crashed loses its place
// WaiterTimeout after its last try, and keeps the waiters behind it waiting until then. A waiter that can reach no
// server for that long goes to the end. TryAcquire never passes those who wait.
//
// # Leases
//
// A [Lease] from here is like that of a lock: it is renewed by the watchdog or has a length of its own, its
// contexts end when it is lost, and it is released once, by its method Release. Its Token is the server's
// time of the grant in microseconds. It is no fence, because others may hold the semaphore, too: a resource
// must not refuse a holder because it has seen a later one. Under a context by [Lease.Reenter] Acquire
// returns another lease of the same hold, which takes no second slot.
//
// A CountingSemaphore is a name, not a resource, and safe for concurrent use.
//
// Source: the semaphore of the Redis literature, with what docs/design.md, "Counting semaphore", changes in
// it. Redisson has none.
type CountingSemaphore struct {
	object
	limit  int64
	leases extend.Leases

	channel       string // of messages to all; ByArrival each waiter's is this, with its owner behind it
	queueKey      string
	waiterTimeout time.Duration
}

// NewCountingSemaphore returns the counting semaphore called name, which at most limit may hold at a time. It
// sends nothing. The methods return a [*FieldError] for an empty name, a limit under 1 or an invalid
// option. In a cluster a name with braces must have its hash tag in them.
func (c *Client) NewCountingSemaphore(
	name string, limit int, opts *CountingSemaphoreOptions,
) *CountingSemaphore {
	var o CountingSemaphoreOptions
	if opts != nil {
		o = *opts
	}
	s := &CountingSemaphore{object: c.newObject("counting semaphore", name, "zset"), limit: int64(limit)}
	s.channel = extend.SideName(countingChannel, s.base.Key())
	s.reject(countWithin("limit", limit, 1))
	config, err := s.holdBy(c, o)
	s.reject(err)
	config.Lease, config.Wait.Refusal = o.Lease, ErrNotAcquired
	s.leases, err = s.base.NewLeases(config)
	s.reject(err)
	return s
}

// holdBy returns how owners hold s in an order.
func (s *CountingSemaphore) holdBy(c *Client, o CountingSemaphoreOptions) (extend.LeaseConfig, error) {
	switch o.Order {
	case ByTime:
		return extend.LeaseConfig{
			Leasable: (*leasableByTime)(s), Kind: countingKind{c.core},
			Wait: extend.WaitSpec{
				Channel: s.channel, FreeUnits: semaphoreFreeUnits,
				Condition: "fewer than " + strconv.FormatInt(s.limit, 10), // Others may have another limit.
			},
		}, nil
	case ByArrival:
		var err error
		s.waiterTimeout, err = c.waiterTimeout(o.WaiterTimeout)
		s.nameQueue()
		return extend.LeaseConfig{
			Leasable: leasableByArrival{s, &s.waiterTimeout}, Try: leasableByArrival{s, nil},
			Kind:       arrivalKind{countingKind{c.core}, s.limit},
			Wait:       extend.WaitSpec{FreeUnits: lockFreeUnits},
			OwnChannel: func(owner string) string { return s.channel + ":" + owner },
			QueueTTL:   s.waiterTimeout,
		}, err
	}
	return extend.LeaseConfig{}, &FieldError{Field: "Order", Problem: fmt.Sprintf("%d is none", o.Order)}
}

// nameQueue names the keys of the queue.
func (s *CountingSemaphore) nameQueue() {
	s.queueKey = extend.Tagged(s.base.Key()) + countingQueueKey
	s.base = s.base.WithTypedKey("queue", s.queueKey, "zset").WithSideKey("counter", s.counterKey())
}

// counterKey is the key of the last number in the queue.
func (s *CountingSemaphore) counterKey() string {
	return extend.Tagged(s.base.Key()) + countingCounterKey
}

// Acquire waits until it holds the semaphore, ctx ends, the client is closed or the backend fails. If there
// is room, and ByArrival nobody waits, it takes one round trip. Otherwise it tries again when it is woken,
// when the first of the holds ends, and at each poll.
//
// If the first attempt meets no server, Acquire returns [ErrUnavailable] within the bound of the backend.
// Once it was refused it waits on through outages, for as long as ctx lasts. If the outcome of a later
// attempt is unknown, it goes on as another owner, ByArrival at the end of the queue: what the first may
// have got is released.
//
// On error nothing is held: what may have been taken, a place in the queue included, is released in the
// background. The errors are those of [Lock.Lock].
func (s *CountingSemaphore) Acquire(ctx context.Context) (*Lease, error) {
	return extend.Call(ctx, &s.base, s.invalid, "acquire", func() (*Lease, error) {
		return s.leases.Acquire(ctx)
	})
}

// TryAcquire is Acquire, but returns [ErrNotAcquired] where that would wait. It takes one round trip, and
// does not queue. Other errors are those of Acquire's first attempt.
func (s *CountingSemaphore) TryAcquire(ctx context.Context) (*Lease, error) {
	return extend.Call(ctx, &s.base, s.invalid, "acquire", func() (*Lease, error) {
		return s.leases.TryAcquire(ctx)
	})
}

// Do is [Lock.Do] for a holder of the semaphore. The lease's token is no fence.
func (s *CountingSemaphore) Do(ctx context.Context, work func(ctx context.Context, lease *Lease) error) error {
	return extend.Do(ctx, s.Acquire, work)
}

// Refresh gives a lease its whole length again, from now on, and returns nil if the server has extended it.
// The lease must be of this semaphore and this client: else, as for nil, the error is a [*FieldError]. Refresh
// takes one round trip. It is for leases with a length of their own, which nobody else renews; the others it
// renews early.
//
// If the server has dropped the holder, Refresh ends the lease and returns an error that wraps
// [ErrNotHeld] and [ErrLost], and [ErrConflict] if another program has overwritten the key. If the lease had ended
// before, the error wraps ErrNotHeld and what had ended it, and nothing is sent. After any other error, such as [ErrUnavailable], the lease is as it was: it lasts
// until its former end, and Refresh may be called again.
func (s *CountingSemaphore) Refresh(ctx context.Context, lease *Lease) error {
	_, err := extend.Call(ctx, &s.base, s.invalid, "refresh", func() (struct{}, error) {
		return struct{}{}, s.leases.Refresh(ctx, lease)
	})
	return err
}

// Holders returns how many hold the semaphore by the server's clock, whatever limit they gave.
func (s *CountingSemaphore) Holders(ctx context.Context) (int, error) {
	return extend.Call(ctx, &s.base, s.invalid, "query", func() (int, error) {
		n, err := script.CountingHolders(ctx, s.base.Runner(), s.base.Key())
		return int(n), err
	})
}
