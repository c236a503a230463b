package primitives

import (
	"context"
	"math"
	"time"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// NoExpiry is the result of [Lock.Remaining] and of the TTL methods for a key without an expiry.
// For a key that expires in more than 292 years, which is too long for a Duration, they return
// NoExpiry - 1.
const NoExpiry time.Duration = math.MaxInt64

// LockOptions configure a [Lock] or a [FencedLock]. The zero value of each field means its default.
type LockOptions struct {
	// Lease is the length of a lease that is not renewed. For its holder it ends earlier by [Options].ClockDrift, one
	// of 24 h after 21 h 36 min. In whole milliseconds, at least 100 ms. Zero means the client's WatchdogLease, which the
	// watchdog renews until Release.
	Lease time.Duration

	// MaxHold is the longest time for which the watchdog renews one lease of this lock: see
	// [Options]. At least the client's WatchdogLease, and only without Lease. Zero means the
	// client's MaxHold.
	MaxHold time.Duration

	// Metadata is a text that [Lock.Holder] returns while this caller holds the lock, with the host
	// and the process id of its client: what it does with the lock, for example. At most 1 KiB. The
	// same script that grants the lock stores it in a key of its own, which ends with the lease. A
	// lock without Metadata has no such key, and costs nothing more. With it, Lock and Release cost
	// the server 3 commands more. "" stores nothing.
	Metadata string

	// Replicas is how many replicas must acknowledge a grant before Lock or TryLock returns it, so
	// a failover is less likely to lose the lock. If too few acknowledge within
	// ReplicaTimeout, or the server cannot be asked, the client releases the grant, and another
	// owner may acquire the lock. Then TryLock returns [ErrReplicas], and Lock tries again after a
	// pause, for as long as ctx lasts. Zero means the client's [Options].Replicas, and -1 that the
	// primary's answer is enough.
	//
	// A renewal, or [Lease.Extend], counts only if as many replicas acknowledge it. If too few do, the
	// watchdog repeats it, and the lease ends when it would have ended: so a holder that reaches only a
	// former primary loses the lock in time. Releases do not wait for replicas, and re-entry sends nothing.
	//
	// A failover may still lose the lock: a replica that did not acknowledge may be elected. Ask
	// for all replicas that can be elected, or rely on [Lease.Token]. [Options] says what that costs, and
	// how far the servers' clocks may differ.
	//
	// Each try costs a WAIT on a connection of its own, and is not sent together with other calls.
	// A client has at most 8 such tries under way at a time. Others queue, for up to 5 s. Renewals wait
	// together, up to 100 scripts with one WAIT. If ctx is
	// cancelled, the client releases the grant when the WAIT has ended. In a cluster a first try
	// returns [ErrUnavailable] while the lock's slot moves. The methods return a [*FieldError] if
	// the backend cannot wait for replicas.
	Replicas int

	// ReplicaTimeout is how long one try waits for replicas. It counts towards the lease. A renewal
	// waits for a tenth of the lease at most. In whole
	// milliseconds, at least 1 ms, and less than the lease. Zero means 1 s, or a third of the lease if
	// that is less.
	ReplicaTimeout time.Duration

	_ struct{}
}

// Lock is mutual exclusion between processes: at any time at most one owner holds it on the server.
// The package's comment has the exceptions in which a former holder learns of its loss late. A Lock is
// not fair: see [FairLock] and [Mutex]. Each call of Lock or TryLock is an owner of its own, even in
// one process and on one Lock value. The lock is not reentrant, except under a [Lease.Reenter]
// context.
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

// FencedLock is a [Lock] whose last fencing token never expires. So any process can ask for the
// last token, and Java processes can share the lock as Redisson's RFencedLock, which counts up from
// the last token and restarts at 1 if there is none. A FencedLock leaves a key of about 150 bytes
// for every name that was ever locked. If no Java process shares the lock, the tokens of a Lock are
// as good.
//
// A grant's token is higher than the tokens of all earlier grants of the name: after crashes, after
// the end of a lease, after ForceUnlock, and if the server's clock is set back. If the token key is
// lost, because it is deleted, or because a replica that lags behind is promoted, the next token is
// the server's time in microseconds. That is higher, too, if the servers' clocks differ by less
// than the time between the two grants. But if a Java process gets that next grant, its token is 1.
//
// Do not use one name for a Lock and a FencedLock: the Lock's grants let the last token expire.
//
// Source: Redisson's RFencedLock, by key, token key and channel.
type FencedLock struct {
	exclusiveLock
}

// NewFencedLock returns the fenced lock called name, as [Client.NewLock] does.
func (c *Client) NewFencedLock(name string, opts *LockOptions) *FencedLock {
	l := &FencedLock{}
	l.init(c, "fenced lock", name, opts, nil)
	return l
}

// LastToken returns the token of the last grant, even if its owner no longer holds the lock, or 0
// if there was no grant. A holder reads its own token from [Lease.Token] instead.
func (l *FencedLock) LastToken(ctx context.Context) (int64, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (int64, error) {
		return read(script.LockLastToken(ctx, l.base.Runner(), l.base.Key(), l.tokenKey))
	})
}
