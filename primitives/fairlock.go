package primitives

import (
	"context"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// FairLockOptions configure a [FairLock]. The zero value of each field means its default.
type FairLockOptions struct {
	// Lease is how long the lock is held at most: nobody renews it. In whole milliseconds, at least
	// 100 ms. Zero means the client's WatchdogLease, which the watchdog renews until Release.
	Lease time.Duration

	// WaiterTimeout is how long a waiter of this client may go without a try before the waiters behind it
	// may pass. Waiters try at each poll, and at least three times within it. A shorter one
	// costs more tries; an outage that is longer costs waiters their place. It may differ from
	// client to client. In whole milliseconds, at least 100 ms. Zero means the client's WatchdogLease: a
	// process that is silent for a whole lease loses its holds, too.
	WaiterTimeout time.Duration

	// Replicas is how many replicas must have acknowledged a grant before Lock or TryLock returns it, and
	// ReplicaTimeout how long one try waits for them: see [LockOptions]. Zero means that the primary's
	// answer is enough, and 1 s, or a third of the lease if that is less.
	Replicas       int
	ReplicaTimeout time.Duration

	_ struct{}
}

// FairLock is a [Lock] that waiters get in the order in which they came to the server: its script puts
// each into a queue there when it refuses it. A release wakes the first of them alone.
//
// A waiter that leaves without the lock, for whatever reason, is taken out of the queue in the
// background, at once if a server can be reached, and the next one is woken if it may have the lock. If
// its process has crashed or lost its link, a waiter loses its place at the first try of another waiter more than
// WaiterTimeout after its own last try, at most a poll later. The time runs for all waiters of that process at
// once, and each try removes a thousand of them at most, so that no script keeps the server busy for long: TryLock then
// returns [ErrNotAcquired], and Lock continues. A waiter that lives keeps its place, however long it waits, unless it can
// reach no server for longer than its WaiterTimeout: then it goes to the end of the queue. If a holder's lease expires
// without a release, the first waiter notices at its next poll, or when the holder's client, if it lives,
// can reach a server and releases.
//
// Each call of Lock or TryLock is an owner of its own; only [Lease.Reenter] re-enters. TryLock never
// passes those who wait. All are fair to each other by the server's clock, those of Java processes too.
// A fair lock costs more than a Lock: a hand-over takes a constant number of commands, of which two
// read and write the scores of all waiters; each waiter subscribes to a channel of its own, and polls
// by itself.
//
// Places end by the server's clock. Where that is set back, the next try finds deadlines that are too late, and sets
// them right: a crashed waiter keeps its place for its WaiterTimeout from then, and live waiters keep theirs. Where it
// is set forward by more than WaiterTimeout, all waiters may lose their places at once: they queue again at their next
// polls, in another order.
//
// A FairLock is a name, not a resource, and safe for concurrent use. Do not use one name for a Lock and
// a FairLock: the Lock's waiters do not queue, and are not woken.
//
// # Java
//
// Queue, scores and channels are Redisson's, and its processes see each of our waiters as one with the
// default of five minutes (fairLockWaitTimeout): if only Java processes wait behind a crashed waiter of
// ours, they pass it by its score. Ours are passed earlier, by deadlines in a key that Java
// does not know. A Java waiter without a score loses its place. If the server's clock is set back, a crashed Java waiter
// keeps its place for that much longer.
//
// Source: Redisson's RFairLock, by key, queue, scores and channels.
type FairLock struct {
	ownedLock
	queueKey, timeoutsKey, deadlinesKey string

	turn          string // each waiter's channel is this, with its owner behind it
	waiterTimeout time.Duration
}

// NewFairLock returns the fair lock called name. It sends nothing. The methods return a [*FieldError]
// for an empty name or an invalid option. In a cluster a name with braces must have its hash tag in
// them.
func (c *Client) NewFairLock(name string, opts *FairLockOptions) *FairLock {
	var o FairLockOptions
	if opts != nil {
		o = *opts
	}
	waiterTimeout, invalid := c.waiterTimeout(o.WaiterTimeout)
	l := &FairLock{waiterTimeout: waiterTimeout}
	l.init(c, "fair lock", name, &c.tokenTTL)
	l.nameKeys()
	l.reject(invalid)
	leases, err := l.base.NewLeases(extend.LeaseConfig{
		Leasable: leasableFairLock{l, &l.waiterTimeout}, Try: leasableFairLock{l, nil},
		Kind:       fairKind{lockKind{c.core}},
		Wait:       extend.WaitSpec{FreeUnits: lockFreeUnits, Refusal: ErrNotAcquired},
		OwnChannel: func(owner string) string { return l.turn + ":" + owner },
		QueueTTL:   l.waiterTimeout, Lease: o.Lease,
		Replicas: o.Replicas, ReplicaTimeout: o.ReplicaTimeout,
	})
	l.leases = leases
	l.reject(err)
	return l
}

// leastWaiterTimeout leaves time for three tries.
const leastWaiterTimeout = 100 * time.Millisecond

// waiterTimeout returns how long a waiter in a queue may go without a try, by the option.
func (c *Client) waiterTimeout(option time.Duration) (time.Duration, error) {
	if option == 0 {
		option = c.core.WatchdogLease()
	}
	option = option.Truncate(time.Millisecond)
	return option, extend.AtLeast("WaiterTimeout", option, leastWaiterTimeout)
}

// nameKeys names the keys beside the lock's own, and the channels.
func (l *FairLock) nameKeys() {
	key := l.base.Key()
	l.queueKey = extend.SideName(fairQueueKey, key)
	l.timeoutsKey = extend.SideName(fairTimeoutsKey, key)
	l.deadlinesKey = extend.SideName(fairDeadlinesKey, key)
	l.turn = extend.SideName(lockChannel, key)
	l.base = l.base.WithTypedKey("queue", l.queueKey, "list").
		WithTypedKey("set of scores", l.timeoutsKey, "zset").
		WithTypedKey("deadlines", l.deadlinesKey, "hash")
}

// Lock waits until it holds the lock, ctx ends, the client is closed or the backend fails. A free lock
// for which nobody waits takes one round trip. Otherwise Lock waits in the queue for its turn.
//
// If the first attempt meets no server, Lock returns [ErrUnavailable] within the bound of the backend.
// Once it was refused it waits on through outages, for as long as ctx lasts. If the outcome of a later
// attempt is unknown, Lock goes on as another owner, at the end of the queue: the server may grant the
// lock to the first owner yet, and it is released instead.
//
// If a grant is undone because too few replicas acknowledged it ([FairLockOptions]), the next in the queue
// is woken, and Lock goes to the end of the queue, after a pause, as another owner. So a waiter that asks
// for replicas loses its place only when it was its turn, and those who ask for the same take turns.
//
// On error nothing is held, and what may have been taken is released in the background, as is the place
// in the queue. The errors are those of [Lock.Lock].
func (l *FairLock) Lock(ctx context.Context) (*Lease, error) {
	return extend.Call(ctx, &l.base, l.invalid, "acquire", func() (*Lease, error) {
		return l.leases.Acquire(ctx)
	})
}

// TryLock acquires the lock if it is free and nobody waits for it, and returns [ErrNotAcquired]
// otherwise. It takes one round trip, waits for nothing but replicas, if it is to, and does not queue.
// Other errors are those of Lock's first attempt.
func (l *FairLock) TryLock(ctx context.Context) (*Lease, error) {
	return extend.Call(ctx, &l.base, l.invalid, "acquire", func() (*Lease, error) {
		return l.leases.TryAcquire(ctx)
	})
}

// Do is [Lock.Do] for this kind of lock.
func (l *FairLock) Do(ctx context.Context, work func(ctx context.Context, lease *Lease) error) error {
	return extend.Do(ctx, l.Lock, work)
}

// ForceUnlock frees the lock no matter who holds it, wakes the first waiter, and reports whether the
// lock was held. The holder learns of it by its next renewal or by Release, up to a third of its lease
// later, or, of a fixed lease, by Release or at its end: only its fencing token protects the resource until then. Errors
// are those of Lock.
func (l *FairLock) ForceUnlock(ctx context.Context) (bool, error) {
	return extend.Call(ctx, &l.base, l.invalid, "force release of", func() (bool, error) {
		return script.FairForceRelease(ctx, l.base.Runner(),
			l.base.Key(), l.queueKey, l.timeoutsKey, l.deadlinesKey, l.publish(), l.turn)
	})
}

// leasableFairLock is a fair lock as its owners hold it.
type leasableFairLock struct {
	*FairLock
	wait *time.Duration // the waiter timeout of an owner that queues if it is refused; nil: it does not
}

// Acquire implements [extend.Leasable].
func (l leasableFairLock) Acquire(
	ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
) (int64, extend.Answer, error) {
	result, err := script.FairAcquire(ctx, r, script.FairAcquireParams{
		Lock: l.base.Key(), Queue: l.queueKey, Timeouts: l.timeoutsKey, Deadlines: l.deadlinesKey,
		Token: l.tokenKey, Owner: owner, Lease: lease, Tokenttl: l.tokenTTL, WaiterTimeout: l.wait,
		Publish: l.publish(), Turn: l.turn,
	})
	answer := extend.Answer{Granted: result.TokenOK}
	if err == nil && !answer.Granted {
		answer.RetryIn, answer.Queued = retryWithin(l.waiterTimeout, result.Wait), l.wait != nil
	}
	return result.Token, answer, err
}

// Release implements [extend.Leasable].
func (l leasableFairLock) Release(
	ctx context.Context, r backend.ScriptRunner, owner string,
) (bool, error) {
	return script.FairRelease(ctx, r, script.FairReleaseParams{
		Lock: l.base.Key(), Queue: l.queueKey, Timeouts: l.timeoutsKey, Deadlines: l.deadlinesKey,
		Owner: owner, Publish: l.publish(), Turn: l.turn,
	})
}

// retryWithin returns when a waiter tries again that nobody wakes: soon enough to be taken for alive by its
// timeout. There may be something for it before, after the given wait.
func retryWithin(waiterTimeout, wait time.Duration) time.Duration {
	switch {
	case wait < 0:
		return waiterTimeout / 3
	case wait == 0:
		return time.Nanosecond // Less than a millisecond, which PTTL rounds to 0.
	}
	return min(wait, waiterTimeout/3)
}

// fairKind renews and releases many fair locks of a client.
type fairKind struct{ lockKind }

// ReleaseAll implements [extend.LeasableKind].
func (k fairKind) ReleaseAll(
	ctx context.Context, r backend.ScriptRunner, keys, owners []string,
) ([]extend.Status, error) {
	objects, turns := make([]string, 0, 4*len(keys)), make([]string, len(keys))
	for i, key := range keys {
		objects = append(objects, key, extend.SideName(fairQueueKey, key),
			extend.SideName(fairTimeoutsKey, key), extend.SideName(fairDeadlinesKey, key))
		turns[i] = extend.SideName(lockChannel, key)
	}
	statuses, err := script.FairReleaseAll(
		ctx, r, objects, k.core.Capabilities().Publish(), owners, turns)
	if err != nil {
		return nil, fmt.Errorf("release fair locks: %w", err)
	}
	return statusesOf(statuses), nil
}
