package primitives

import (
	"cmp"
	"context"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// FairLockOptions configure a [FairLock]. The zero value of each field means its default.
type FairLockOptions struct {
	// Lease is as in [LockOptions].
	Lease time.Duration

	// WaiterTimeout is how long a waiter of this client may go without a try before the waiters
	// behind it may pass. Waiters try at each poll, and at least three times within WaiterTimeout.
	// A shorter timeout costs more tries. An outage that is longer than the timeout costs waiters
	// their place. The timeout may differ between clients. In whole milliseconds, at least 100 ms.
	// Zero means the client's WatchdogLease: a process that is silent for a whole lease loses its
	// locks, too.
	WaiterTimeout time.Duration

	// Replicas and ReplicaTimeout are as in [LockOptions].
	Replicas       int
	ReplicaTimeout time.Duration

	_ struct{}
}

// FairLock is a [Lock] that waiters acquire in the order in which they came to the server. A try
// that is refused puts the waiter into a queue on the server, and a release wakes only the first
// waiter. [Mutex] costs less, but Java processes cannot use it.
//
// If a waiter leaves without the lock, for whatever reason, the client removes it from the queue in
// the background, at once if a server can be reached, and wakes the next waiter if that may acquire
// the lock. A waiter keeps its place, however long it waits, unless it can reach no server for
// longer than its WaiterTimeout: then it goes to the end of the queue.
//
// If a waiter's process crashes or loses its link, the server keeps the waiter's place for
// WaiterTimeout after the waiter's last try. The next try of another waiter then removes the place.
// That try comes at most one poll later. The time runs for all waiters of that process at once.
// Each try removes at most a thousand such waiters, so no script keeps the server busy for
// long. If more are left, TryLock and Lock try again at once.
//
// If a holder's lease expires without a release, the first waiter notices at its next poll, or
// earlier if the holder's client is still running, reaches a server and releases.
//
// A waiter that continues as another owner, because the outcome of its attempt is unknown, is at the end of the queue. If
// too few replicas acknowledge a grant, the client releases it, which wakes the next waiter, and the caller goes to the
// end of the queue, after a pause, as another owner. So a waiter that asks for replicas loses its place only when it was
// its turn, and such waiters take turns.
//
// TryLock never passes a waiter. All waiters, Java's included, are in one order, by the server's clock. A fair lock costs
// more than a Lock: a hand-over takes a constant number of commands, and two of these read and write the scores of all
// waiters. Each waiter subscribes to a channel of its own, and polls by itself.
//
// Places expire by the server's clock: docs/internals/design.md has what happens when that is set.
//
// Do not use one name for a Lock and a FairLock: the Lock's waiters do not queue, and are not woken.
//
// # Java
//
// Queue, scores and channels are Redisson's. Java processes treat each waiter of this package as a
// waiter with Redisson's default timeout of five minutes (fairLockWaitTimeout): if only Java
// processes wait behind a crashed waiter of this package, they pass it after that time, by its
// score. Waiters of this package pass it earlier, by deadlines in a key that Redisson does not
// know. A Java waiter without a score loses its place. If the server's clock is set back, a crashed
// Java waiter keeps its place for that much longer.
//
// Source: Redisson's RFairLock, by key, queue, scores and channels.
type FairLock struct {
	ownedLock
	queueKey, timeoutsKey, deadlinesKey string

	turn          string // each waiter's channel is this, followed by its owner
	waiterTimeout time.Duration
}

// NewFairLock returns the fair lock called name, as [Client.NewLock] does.
func (c *Client) NewFairLock(name string, opts *FairLockOptions) *FairLock {
	o := *cmp.Or(opts, new(FairLockOptions))
	waiterTimeout, invalid := c.waiterTimeout(o.WaiterTimeout)
	l := &FairLock{waiterTimeout: waiterTimeout}
	l.init(c, "fair lock", name, &c.tokenTTL)
	l.nameKeys()
	l.reject(invalid)
	l.newLeases(extend.LeaseConfig{
		Leasable: leasableFairLock{l, &l.waiterTimeout}, Try: leasableFairLock{l, nil},
		Kind:       c.leaseKind(fairScripts),
		Wait:       extend.WaitSpec{FreeUnits: lockFreeUnits, Refusal: ErrNotAcquired},
		OwnChannel: func(owner string) string { return l.turn + ":" + owner },
		QueueTTL:   l.waiterTimeout, Lease: o.Lease, ExcludedBy: &l.base,
		Replicas: o.Replicas, ReplicaTimeout: o.ReplicaTimeout,
	})
	return l
}

// leastWaiterTimeout is the shortest WaiterTimeout. It leaves time for three tries.
const leastWaiterTimeout = 100 * time.Millisecond

func (c *Client) waiterTimeout(option time.Duration) (time.Duration, error) {
	option = cmp.Or(option, c.core.WatchdogLease())
	return option.Truncate(time.Millisecond), extend.AtLeast("WaiterTimeout", option, leastWaiterTimeout)
}

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

// ForceUnlock is [Lock.ForceUnlock] for this kind of lock. It wakes the first waiter. The holder learns of the loss as
// after [Lock.Revoke].
func (l *FairLock) ForceUnlock(ctx context.Context) (bool, error) {
	return extend.Call(ctx, &l.base, l.invalid, "force release of", func() (bool, error) {
		return script.FairForceRelease(ctx, l.base.Runner(),
			l.base.Key(), l.queueKey, l.timeoutsKey, l.deadlinesKey, l.publish(), l.turn)
	})
}

// leasableFairLock is a fair lock, for its owners' leases.
type leasableFairLock struct {
	*FairLock
	wait *time.Duration // the waiter timeout of an owner that queues if it is refused; nil: it does not queue
}

func (l leasableFairLock) Acquire(
	ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
) (int64, extend.Answer, error) {
	result, err := script.FairAcquire(ctx, r, script.FairAcquireParams{
		Lock: l.base.Key(), Queue: l.queueKey, Timeouts: l.timeoutsKey, Deadlines: l.deadlinesKey,
		Token: l.tokenKey, Owner: owner, Lease: lease, Tokenttl: l.tokenTTL, WaiterTimeout: l.wait,
		Publish: l.publish(), Turn: l.turn, Asks: l.base.AsksRights(),
	})
	answer := extend.Answer{Granted: result.TokenOK}
	if err == nil && !answer.Granted {
		answer.RetryIn, answer.Queued = retryWithin(l.waiterTimeout, result.Wait), l.wait != nil
		answer.Again = l.wait == nil && result.Wait == 0
	}
	return result.Token, answer, err
}

func (l leasableFairLock) Release(ctx context.Context, r backend.ScriptRunner, owner string) (bool, error) {
	return script.FairRelease(ctx, r, script.FairReleaseParams{
		Lock: l.base.Key(), Queue: l.queueKey, Timeouts: l.timeoutsKey, Deadlines: l.deadlinesKey,
		Owner: owner, Publish: l.publish(), Turn: l.turn,
	})
}

// retryWithin returns the time until a waiter tries again if no message wakes it: soon enough to
// keep its place, or after the given wait if that is shorter.
func retryWithin(waiterTimeout, wait time.Duration) time.Duration {
	switch {
	case wait < 0:
		return waiterTimeout / 3
	case wait == 0:
		return time.Nanosecond // Less than a millisecond, which PTTL rounds to 0.
	}
	return min(wait, waiterTimeout/3)
}

// fairScripts renew and release many fair locks of a client.
var fairScripts = &leaseScripts{
	objects: "fair locks", channel: sideNames(lockChannel),
	freed: func(key, _ string) []string {
		return []string{
			key, extend.SideName(fairQueueKey, key), extend.SideName(fairTimeoutsKey, key), extend.SideName(fairDeadlinesKey, key),
		}
	},
	renew: renewLocks, release: publishing(script.FairReleaseAll),
}
