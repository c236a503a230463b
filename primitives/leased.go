package primitives

import (
	"context"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/lease"
)

// leased is embedded by the locks of one server: an object and its leases.
type leased struct {
	object
	leases extend.Leases
}

// newLeases makes the leases of l.
func (l *leased) newLeases(config extend.LeaseConfig) {
	leases, err := l.base.NewLeases(config)
	l.leases = leases
	l.reject(err)
}

// Lock waits until it holds the lock, ctx ends, the client is closed or the backend fails. If nobody holds the lock, or
// waits for a fair one, it takes one round trip. Otherwise Lock tries again after the holder's release, at the end of
// the holder's lease, and at each poll: for a [FairLock] or a [Mutex] in its turn, and for a [SpinLock] after pauses
// instead.
//
// If the first attempt reaches no server, Lock returns [ErrUnavailable] within the bound of the
// backend. If the server has once answered that another owner holds the lock, the caller is a waiter.
// A waiter waits until ctx ends, even while no server can be reached, or while the server accepts no
// writes (OOM, MISCONF, NOREPLICAS). If the outcome of its attempt is unknown, Lock continues as
// another owner, and the client releases a possible grant to the first.
//
// After an error the caller holds nothing: the client releases a possible grant in the background.
// If ctx ended, the error wraps ctx's error, and also
//
//   - [ErrNotAcquired] if the server's last answer was that another owner holds the lock,
//   - [ErrUnavailable] if no server could be reached,
//   - [ErrReplicas] if too few replicas acknowledged the last grant ([LockOptions]),
//   - [ErrIndeterminate] if a request was under way.
//
// Other errors wrap
//
//   - [ErrIndeterminate] if the reply to the first attempt was lost,
//   - [ErrConflict] if the key holds something other than a lock,
//   - [ErrLost] if the grant of the first attempt came too late to be used,
//   - [ErrReplicas] if the server cannot be asked for its replicas, for example because it does not
//     know WAIT: then Lock returns at once,
//   - [ErrClosed], [ErrSelfDeadlock] or a [*FieldError] if nothing was sent.
func (l *leased) Lock(ctx context.Context) (*Lease, error) { return l.leases.Hold(ctx, l.invalid) }

// TryLock is Lock without waiting: it returns [ErrNotAcquired] if Lock would wait, and [ErrReplicas] if Lock would try
// again for lack of replicas. It takes one round trip, and does not queue. It waits only for replicas, if the options ask
// for them. Other errors are the same as for Lock's first attempt.
func (l *leased) TryLock(ctx context.Context) (*Lease, error) {
	return l.leases.TryHold(ctx, l.invalid)
}

// Do acquires the lock like Lock, calls work, and releases the lock, as [Lease.Do] does. work gets a context that ends
// with the lease, and the lease itself, for its fencing token. If Lock fails, Do returns its error and does not call
// work. After a [*ReleaseError] work was called, and a caller that repeats Do runs it again.
func (l *leased) Do(ctx context.Context, work func(ctx context.Context, lease *Lease) error) error {
	return lease.Do(ctx, l.Lock, work)
}
