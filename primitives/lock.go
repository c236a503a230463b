package primitives

import (
	"math"
	"time"
)

// NoExpiry is what [Lock.Remaining] and TTL return for a key without an expiry. For a key
// that expires in more than 292 years, which no Duration can say, they return NoExpiry - 1.
const NoExpiry time.Duration = math.MaxInt64

// LockOptions configure a [Lock], a [FencedLock] or a [Mutex]. The zero value of each field means its default.
type LockOptions struct {
	// Lease is how long the lock is held at most: nobody renews it. In whole milliseconds, at least
	// 100 ms. Zero means the client's WatchdogLease, which the watchdog renews until Release.
	Lease time.Duration

	// Replicas is how many replicas must have acknowledged a grant before Lock or TryLock returns it, so
	// that it is less likely to be forgotten over a failover. If too few do so within ReplicaTimeout, or
	// the server cannot be asked, the grant is released, and others may have the lock: TryLock then
	// returns [ErrReplicas], and Lock tries again after a pause, for as long as ctx lasts. Zero means
	// that the primary's answer is enough.
	//
	// This narrows the window in which a failover forgets the lock, and does not close it: a replica that
	// did not acknowledge may be elected. Ask for all replicas that may be, or rely on [Lease.Token].
	// Nobody waits for replicas after a renewal or a release, and re-entry sends nothing.
	//
	// Each try costs a WAIT on a connection for itself, and is not sent together with other calls. At
	// most 8 such tries of a client are under way at a time; others queue, for up to 5 s. If ctx is cancelled,
	// the grant is released when the WAIT has ended. In a cluster a first try returns [ErrUnavailable] while
	// the lock's slot moves. The methods return a [*FieldError] if the backend cannot wait for replicas.
	Replicas int

	// ReplicaTimeout is how long one try waits for replicas. It counts towards the lease. In whole
	// milliseconds, at least 1 ms, and less than the lease. Zero means 1 s, or a third of the lease if
	// that is less.
	ReplicaTimeout time.Duration

	_ struct{}
}

// Lock is mutual exclusion between processes: at any time at most one owner holds it. It is not
// fair. Each call of Lock or TryLock is an owner of its own, also on one Lock value and in one
// process; only [Lease.Reenter] re-enters.
//
// A Lock is a name, not a resource: it needs no closing, and values made with the same arguments
// are the same lock. It is safe for concurrent use.
//
// Source: Redisson's RLock, by key and channel.
type Lock struct {
	exclusiveLock
}

// NewLock returns the lock called name. It sends nothing. The methods return a [*FieldError] for an
// empty name or an invalid option. In a cluster a name with braces must have its hash tag in them.
func (c *Client) NewLock(name string, opts *LockOptions) *Lock {
	l := &Lock{}
	l.init(c, "lock", name, opts, &c.tokenTTL)
	return l
}
