package lease

import "errors"

// The errors of leases. Package primitives has them under the same names.
var (
	// ErrNotHeld means that Release released nothing, because the lease had ended before. The error
	// also wraps the reason: [ErrLost], [ErrReleased] or [github.com/hasp-go/hasp/backend.ErrClosed].
	ErrNotHeld = errors.New("not held")

	// ErrLost means that a lease ended before it was released: the client could not renew it in
	// time, or the server no longer had it. It is matched by a [*LossError], the cause with which the
	// lease's contexts end.
	ErrLost = errors.New("lease lost")

	// ErrReleased means that a lease was released. It is also the cause with which the lease's
	// contexts end at Release.
	ErrReleased = errors.New("lease released")

	// ErrSelfDeadlock means that the caller would wait for itself: it waits for a lock that its own
	// lease excludes it from, under a context of that lease. Under [Lease.Reenter] it re-enters the
	// lock. Nothing was sent, and the lease is unchanged.
	ErrSelfDeadlock = errors.New("self-deadlock: the context is of a lease that excludes this call; " +
		"use Lease.Reenter, or release that lease first")

	// ErrOverdue means that the watchdog is late with the renewal of held leases: see primitives.Client.Healthy.
	ErrOverdue = errors.New("renewals of held leases are overdue")
)
