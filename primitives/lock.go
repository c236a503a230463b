package primitives

import (
	"math"
	"time"
)

// NoExpiry is what [Lock.Remaining] and RemainingLife return for a key without an expiry. For a key
// that expires in more than 292 years, which no Duration can say, they return NoExpiry - 1.
const NoExpiry time.Duration = math.MaxInt64

// LockOptions configure a [Lock] or a [FencedLock]. The zero value of each field means its default.
type LockOptions struct {
	// Lease is how long the lock is held at most: nobody renews it. In whole milliseconds, at least
	// 100 ms. Zero means the client's WatchdogLease, which the watchdog renews until Unlock.
	Lease time.Duration

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
