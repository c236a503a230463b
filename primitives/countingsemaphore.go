package primitives

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
	"github.com/hasp-go/hasp/primitives/internal/worded"
	"github.com/hasp-go/hasp/primitives/lease"
)

// CountingOrder is the order in which waiters acquire a [CountingSemaphore].
type CountingOrder int

// The orders of a [CountingSemaphore].
const (
	// ByTime means that waiters race: a free slot goes to the first try that reaches the server.
	ByTime CountingOrder = iota

	// ByArrival means that waiters acquire in the order in which they came to the server. No caller
	// passes an earlier waiter.
	ByArrival
)

// errNoSlot is the refusal of a counting semaphore.
var errNoSlot = worded.New("no slot is free", ErrNotAcquired)

// CountingSemaphoreOptions configure a [CountingSemaphore]. The zero value of each field means its default.
type CountingSemaphoreOptions struct {
	// Order is the order in which waiters acquire. All users of a semaphore set the same order.
	// Zero means ByTime.
	Order CountingOrder

	// Lease is as in [LockOptions]. Each holder has its own lease. If that is not renewed, only Refresh and Lease.Extend
	// change its length.
	Lease time.Duration

	// WaiterTimeout is as in [FairLockOptions], with the Order ByArrival. With ByTime it has no meaning.
	WaiterTimeout time.Duration

	_ struct{}
}

// CountingSemaphore has at most limit holders at a time, which each hold one slot. It is
// crash-safe: each holder has a lease of its own on the server. If a holder crashes, its slot
// becomes free when its lease ends, and the next waiter acquires it. A plain [Semaphore] does not
// do that. To acquire several permits in one call, or to share permits with Java processes, use a
// [PermitSemaphore].
//
// Each step is one script that reads the server's clock. So the limit holds whatever the clocks of
// the clients say, and however their calls interleave. It relies on the same conditions as every
// [Lease].
//
// All users of a semaphore should give the same limit. Each caller is admitted by its own limit:
// with a higher limit it is admitted sooner, with a lower limit it waits until there are fewer
// holders. So the limit can be changed while the semaphore is in use.
//
// # Orders
//
// With ByTime, a release wakes one waiter of each client, and the first try that reaches the server
// acquires the slot.
//
// With ByArrival, a caller that is refused gets a number on the server and waits in a queue, and a
// release wakes only the first waiter. A waiter's tries keep its place, however long it waits. The
// client removes a waiter that leaves from the queue, in the background. A waiter whose process has
// crashed loses its place WaiterTimeout after its last try, and holds up the waiters behind it
// until then. A waiter that can reach no server for that long goes to the end of the queue.
// TryAcquire never passes a waiter.
//
// # Leases
//
// The [Lease] is like the lease of a lock: the watchdog renews it, or it has a fixed length; its
// contexts end when it is lost; and its holder releases it once. Its Token is the server's time of
// the grant in microseconds. The token is no fence, because others may hold the semaphore, too: a
// resource must not refuse a holder because it has seen a later holder. Under a [Lease.Reenter]
// context, Acquire returns another lease of the same hold, which takes no second slot.
//
// A CountingSemaphore is a name, not a resource, and safe for concurrent use.
//
// Source: the semaphore of the Redis literature, with the changes in docs/internals/design.md, "Counting
// semaphore". Redisson has none.
type CountingSemaphore struct {
	object
	limit  int64
	lease  time.Duration // the option Lease
	leases extend.Leases

	channel       string // of messages to all waiters; ByArrival: each waiter's is this, followed by its owner
	queueKey      string
	waiterTimeout time.Duration
}

// NewCountingSemaphore returns the counting semaphore called name, with at most limit holders at a time, at least 1, as
// [Client.NewLock] does.
func (c *Client) NewCountingSemaphore(name string, limit int, opts *CountingSemaphoreOptions) *CountingSemaphore {
	o := *cmp.Or(opts, new(CountingSemaphoreOptions))
	s := &CountingSemaphore{
		object: c.newObject("counting semaphore", name, "zset"),
		limit:  int64(limit), lease: o.Lease,
	}
	s.channel = extend.SideName(countingChannel, s.base.Key())
	s.reject(countWithin("limit", limit, 1))
	config, err := s.holdBy(c, o)
	s.reject(err)
	config.Lease, config.Wait.Refusal = s.lease, errNoSlot
	s.leases, err = s.base.NewLeases(config)
	s.reject(err)
	return s
}

// holdBy returns the configuration of the leases of s for the order.
func (s *CountingSemaphore) holdBy(c *Client, o CountingSemaphoreOptions) (extend.LeaseConfig, error) {
	switch o.Order {
	case ByTime:
		return extend.LeaseConfig{
			Leasable: (*leasableByTime)(s), Kind: c.leaseKind(countingScripts), Wait: s.waitByTime(),
		}, nil
	case ByArrival:
		kind := c.newLeaseKind(arrivalScripts)
		kind.limit = s.limit
		var err error
		s.waiterTimeout, err = c.waiterTimeout(o.WaiterTimeout)
		s.queueKey = extend.Tagged(s.base.Key()) + countingQueueKey
		s.base = s.base.WithTypedKey("queue", s.queueKey, "zset").WithSideKey("counter", s.counterKey()).
			WithRights(&arrivalRights)
		return extend.LeaseConfig{
			Leasable: leasableByArrival{s, &s.waiterTimeout}, Try: leasableByArrival{s, nil},
			Kind:       kind,
			Wait:       extend.WaitSpec{FreeUnits: lockFreeUnits},
			OwnChannel: func(owner string) string { return s.channel + ":" + owner },
			QueueTTL:   s.waiterTimeout,
		}, err
	}
	return extend.LeaseConfig{}, &FieldError{Field: "Order", Problem: fmt.Sprintf("%d is neither ByTime nor ByArrival", o.Order)}
}

func (s *CountingSemaphore) waitByTime() extend.WaitSpec {
	return extend.WaitSpec{
		Channel: s.channel, FreeUnits: semaphoreFreeUnits,
		Condition: "fewer than " + strconv.FormatInt(s.limit, 10), // Other callers may have another limit.
	}
}

// counterKey returns the key of the last number that a waiter got.
func (s *CountingSemaphore) counterKey() string {
	return extend.Tagged(s.base.Key()) + countingCounterKey
}

// Acquire waits until it holds the semaphore, ctx ends, the client is closed or the backend fails.
// If a slot is free, and with ByArrival no other caller waits, it takes one round trip. Otherwise
// it tries again when a message wakes it, when the first hold ends, and at each poll.
//
// Outages and errors are as for [Lock.Lock]. If the outcome of a later attempt is unknown, Acquire continues as another
// owner, with ByArrival at the end of the queue. After an error the caller holds nothing: the client releases a possible
// grant, and the place in the queue, in the background.
func (s *CountingSemaphore) Acquire(ctx context.Context) (*Lease, error) {
	return s.leases.Hold(ctx, s.invalid)
}

// TryAcquire is Acquire without waiting: if Acquire would wait, it returns [ErrNotAcquired]. It takes one round trip, and
// does not queue. Other errors are the same as for Acquire's first attempt.
func (s *CountingSemaphore) TryAcquire(ctx context.Context) (*Lease, error) {
	return s.leases.TryHold(ctx, s.invalid)
}

// Do is [Lock.Do] for a holder of the semaphore. The lease's token is no fence.
func (s *CountingSemaphore) Do(ctx context.Context, work func(ctx context.Context, lease *Lease) error) error {
	return lease.Do(ctx, s.Acquire, work)
}

// Refresh is [Lease.Extend] to the lease's whole length. Leases that the watchdog renews it renews early. If lease is nil,
// or not a lease of this semaphore and this client, the error is a [*FieldError]. The error of a lost lease also wraps
// [ErrConflict] if another program has overwritten the key.
func (s *CountingSemaphore) Refresh(ctx context.Context, lease *Lease) error {
	return s.do(ctx, s.invalid, "refresh", func() error { return s.leases.Refresh(ctx, lease) })
}

// Holders returns the number of holders by the server's clock, whatever their limits.
func (s *CountingSemaphore) Holders(ctx context.Context) (int, error) {
	return extend.Call(ctx, &s.base, s.invalid, "query", func() (int, error) {
		n, err := script.CountingHolders(ctx, s.base.Runner(), s.base.Key())
		return int(n), err
	})
}
