package primitives

import (
	"cmp"
	"context"
	"time"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// exclusiveLock is embedded by the locks that one owner at a time holds, in a hash of owner and
// hold count, and for which waiters race.
type exclusiveLock struct {
	ownedLock
	anonymous bool // grants store neither the host's name nor the process id; set before init
}

func (l *exclusiveLock) init(c *Client, kind, name string, opts *LockOptions, tokenTTL *time.Duration) {
	l.newLeases(l.configure(c, kind, name, opts, tokenTTL))
}

// configure is init without leases: it returns their configuration.
func (l *exclusiveLock) configure(
	c *Client, kind, name string, opts *LockOptions, tokenTTL *time.Duration,
) extend.LeaseConfig {
	o := *cmp.Or(opts, new(LockOptions))
	l.ownedLock.init(c, kind, name, tokenTTL)
	l.channel = extend.SideName(lockChannel, l.base.Key())
	var leasable extend.Leasable = (*leasableLock)(&l.ownedLock)
	scripts := lockScripts
	if o.Metadata != "" {
		leasable, scripts = l.described(o.Metadata), describedScripts
	}
	return extend.LeaseConfig{
		Leasable: leasable, Kind: c.leaseKind(scripts), Lease: o.Lease,
		MaxHold: o.MaxHold, ExcludedBy: &l.base,
		Replicas: o.Replicas, ReplicaTimeout: o.ReplicaTimeout,
		Wait: extend.WaitSpec{Channel: l.channel, FreeUnits: lockFreeUnits, Refusal: ErrNotAcquired},
	}
}

// acquireBy acquires the lock for a caller whose leasable looks at a record first.
func (l *exclusiveLock) acquireBy(
	ctx context.Context, leasable extend.Leasable, config extend.LeaseConfig,
	acquire func(*extend.Leases, context.Context) (*Lease, error),
) (*Lease, error) {
	return extend.Call(ctx, &l.base, nil, "acquire", func() (*Lease, error) {
		config.Leasable = leasable
		leases, err := l.base.NewLeases(config)
		if err := cmp.Or(l.notReentered(ctx), err); err != nil {
			return nil, err
		}
		return acquire(&leases, ctx)
	})
}

// notReentered returns [ErrSelfDeadlock] if ctx re-enters the lock: a re-entry would not look at the record.
func (l *exclusiveLock) notReentered(ctx context.Context) error {
	if l.base.Holder(ctx) != "" {
		return ErrSelfDeadlock
	}
	return nil
}

// ForceUnlock frees the lock, whichever owner holds it, and reports whether it was held. If the holder's
// client has waiters for the lock, the holder learns of the loss at once. Otherwise it learns at its next
// renewal, up to a third of its lease later, or at Release; with a fixed lease, at Release or at the end of
// the lease. Until then only its fencing token protects the resource: [Lock.Revoke] leaves no such time. Errors are
// the same as for Lock.
func (l *exclusiveLock) ForceUnlock(ctx context.Context) (bool, error) {
	return extend.Call(ctx, &l.base, l.invalid, "force release of", func() (bool, error) {
		return script.LockForceRelease(ctx, l.base.Runner(), l.base.Key(), l.publish(), l.channel)
	})
}

// lockFreeUnits reads a message on a lock's channel. "0" means that one waiter may try. "1", which
// Redisson understands, too, means that all waiters may try. Redisson ignores "2".
func lockFreeUnits(payload string) int {
	switch payload {
	case "1":
		return extend.AllUnits
	case forced:
		return -extend.AllUnits
	}
	return 1
}

// forced is the message that ForceUnlock has ended a hold.
const forced = "2"

// lockScripts renew and release many locks of a client.
var lockScripts = &leaseScripts{
	objects: "locks", channel: sideNames(lockChannel),
	renew: renewLocks, release: publishing(script.LockReleaseAll),
}
