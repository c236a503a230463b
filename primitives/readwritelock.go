package primitives

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// readWriteUnits is the number of units of a read-write lock: a reader needs one unit, a writer
// all.
const readWriteUnits = 1 << 30

// ReadWriteLockOptions configure a [ReadWriteLock]. The zero value of each field means its default.
type ReadWriteLockOptions struct {
	// Lease is as in [LockOptions].
	Lease time.Duration

	// PreferWriters makes readers stand back while a writer waits in Lock: they do not join readers
	// that hold the lock, and when these have released it, they give the writer 200 ms to acquire
	// it. All users of the lock must set PreferWriters: readers without it, and Java's readers, do
	// not stand back, and writers without it do not make readers stand back. A reader that calls
	// Lock again without [Lease.Reenter] may then wait for itself. When the last waiting writer
	// gives up, its client wakes the readers that stood back. If the last waiting writer crashes,
	// readers may keep waiting until the present readers have released the lock, or the first of
	// their leases has ended.
	PreferWriters bool

	// Replicas and ReplicaTimeout are as in [LockOptions], for grants of either side.
	Replicas       int
	ReplicaTimeout time.Duration

	_ struct{}
}

// ReadWriteLock is held by many readers at once, or by one writer alone. Each call of Lock or
// TryLock is an owner with a lease of its own on the server: a reader that crashes blocks writers
// until its own lease ends, whatever other readers do. As in Redisson, readers that keep joining
// each other can block a writer forever, unless all set PreferWriters.
//
// Only the last reader's release sends a message. When a writer is refused, it also tries again at
// the first end of a lease of the present readers. If a reader joins later with a shorter lease,
// and its lease ends without a release after the other readers have left (it crashed, or its client
// got no answer), the writer notices at its next poll, after [Options].PollInterval at the latest.
//
// # Both sides
//
// A writer may also become a reader: it acquires the read lock under the [Lease.Reenter] context of
// its write lease. When it then releases the write lease, it keeps the read lease, and other
// readers may join it.
//
// A reader cannot become a writer: if it asks for the write lock under a context of its
// read lease, the error is [ErrUpgrade], at once. Two such readers would wait for each other
// forever. Release the read lease first, acquire the write lock, and read the data again.
//
// A ReadWriteLock is a name, not a resource, and safe for concurrent use.
//
// Source: Redisson's RReadWriteLock, by keys and channel.
type ReadWriteLock struct {
	read  ReadLock
	write WriteLock
}

// NewReadWriteLock returns the read-write lock called name. It sends nothing. The methods return a
// [*FieldError] for an empty name, an invalid option, or a name whose braces have no hash tag in
// them: each reader has a key of its own, which must be in the lock's slot.
func (c *Client) NewReadWriteLock(name string, opts *ReadWriteLockOptions) *ReadWriteLock {
	o := *cmp.Or(opts, new(ReadWriteLockOptions))
	l := &ReadWriteLock{}
	l.read.readWriteSide = c.newReadWriteSide("read lock", name, o.PreferWriters)
	l.write.readWriteSide = c.newReadWriteSide("write lock", name, o.PreferWriters)
	reading := extend.LeaseConfig{
		Leasable: (*leasableRead)(l), Kind: c.leaseKind(readScripts), Lease: o.Lease,
		Replicas: o.Replicas, ReplicaTimeout: o.ReplicaTimeout, ExcludedBy: &l.write.base,
	}
	l.read.leaseBy(reading)
	writing := reading
	writing.Leasable, writing.Try = &leasableWrite{l, true}, &leasableWrite{l, false}
	writing.Kind, writing.Wait.Need = c.leaseKind(writeScripts), readWriteUnits
	l.write.leaseBy(writing)
	return l
}

// Name returns the lock's name, without the client's prefix.
func (l *ReadWriteLock) Name() string { return l.read.Name() }

// ReadLock returns the side that many readers may hold at once.
func (l *ReadWriteLock) ReadLock() *ReadLock { return &l.read }

// WriteLock returns the side that one writer holds alone.
func (l *ReadWriteLock) WriteLock() *WriteLock { return &l.write }

// readWriteSide is embedded by the two sides of a [ReadWriteLock].
type readWriteSide struct {
	leased
	readers  string // the beginning of the readers' side keys
	channel  string
	tokenKey string
	tokenTTL time.Duration

	preferWriters bool
	writers       string // the key of the waiting writers
}

func (c *Client) newReadWriteSide(kind, name string, preferWriters bool) readWriteSide {
	s := readWriteSide{
		leased: leased{object: c.newObject(kind, name, "hash")}, tokenTTL: c.tokenTTL, preferWriters: preferWriters,
	}
	key := s.base.Key()
	s.readers, s.channel = extend.Tagged(key), extend.SideName(readWriteChannel, key)
	s.tokenKey, s.writers = extend.SideName(lockTokenKey, key), extend.SideName(waitingWritersKey, key)
	s.base = s.base.WithSideKey("token key", s.tokenKey).WithTypedKey("hash of waiting writers", s.writers, "hash")
	if _, rest, _ := strings.Cut(s.readers, "{"); strings.IndexByte(rest, '}') < 1 {
		s.reject(&FieldError{Field: "name", Problem: fmt.Sprintf("%q has no hash tag in its braces", key)})
	}
	return s
}

func (l *readWriteSide) leaseBy(config extend.LeaseConfig) {
	config.Wait.Channel, config.Wait.Refusal = l.channel, ErrNotAcquired
	config.Wait.FreeUnits = readWriteFreeUnits
	l.newLeases(config)
}

// readWriteFreeUnits reads a message. After any other than forced the lock is free, or held by readers. A refused try
// reports which.
func readWriteFreeUnits(payload string) int {
	if payload == forced {
		return -extend.AllUnits
	}
	return readWriteUnits
}

// forceRelease ends all holds if the lock is in the given mode.
func (l *readWriteSide) forceRelease(ctx context.Context, mode, message string) (bool, error) {
	return extend.Call(ctx, &l.base, l.invalid, "force release of", func() (bool, error) {
		return script.ReadwriteForceRelease(
			ctx, l.base.Runner(), l.base.Key(), mode, l.publish(), l.channel, message)
	})
}

// ReadLock is the side of a [ReadWriteLock] that many readers may hold at once.
//
// The token of a read lease is the token of the last write lease before it. So it does not rise
// from reader to reader: it says which writer's work the reader sees. A reader can lose its lease
// and not notice it. A later writer then claims the resource with a higher token. After that
// the resource refuses the reader's lower token. Before that, the resource still accepts the reader.
// Java's writers do not count, since they make no tokens.
//
// A Lock waits only for a writer. One message wakes all readers of a client. Under a [Lease.Reenter] context of a read
// lease, Lock returns another lease of the same hold; under one of the write lease, a lease with an owner of its own.
type ReadLock struct {
	readWriteSide
}

// ForceUnlock ends the leases of all readers, and reports whether there was a reader. While a writer holds the lock, it
// does nothing. The readers learn of the loss as the holder after [Lock.ForceUnlock]. Errors are the same as for Lock.
func (l *ReadLock) ForceUnlock(ctx context.Context) (bool, error) {
	return l.forceRelease(ctx, "read", "0")
}

// IsLocked reports whether there is a reader whose lease has not ended. The reader may be the
// writer itself.
func (l *ReadLock) IsLocked(ctx context.Context) (bool, error) {
	left, err := l.Remaining(ctx)
	return left > 0, err
}

// IsHeldBy reports whether owner is a reader whose lease has not ended: see [Lease.Owner].
func (l *ReadLock) IsHeldBy(ctx context.Context, owner string) (bool, error) {
	count, err := l.HoldCount(ctx, owner)
	return count > 0, err
}

// HoldCount returns how many read leases owner has on the server: 0 or 1 for owners of this
// package, and any number for owners in Java.
func (l *ReadLock) HoldCount(ctx context.Context, owner string) (int64, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (int64, error) {
		return script.ReadHoldCount(ctx, l.base.Runner(), l.base.Key(), l.readers, owner)
	})
}

// Holders returns the number of readers whose leases have not ended. The writer itself may be one of them.
func (l *ReadLock) Holders(ctx context.Context) (int, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (int, error) {
		n, err := script.ReadHolders(ctx, l.base.Runner(), l.base.Key(), l.readers)
		return int(n), err
	})
}

// Remaining returns how long the longest lease of the present readers lasts by the server's clock,
// or 0 if there is no reader. A holder uses [Lease.Remaining] instead.
func (l *ReadLock) Remaining(ctx context.Context) (time.Duration, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (time.Duration, error) {
		return remaining(script.ReadRemaining(ctx, l.base.Runner(), l.base.Key(), l.readers))
	})
}

// WriteLock is the side of a [ReadWriteLock] that one writer holds alone. The tokens of its leases rise, like those of a
// [Lock]. Under a [Lease.Reenter] context of the write lease, Lock returns another lease of the same hold, and under one
// of a read lease [ErrUpgrade].
type WriteLock struct {
	readWriteSide
}

// ForceUnlock ends the writer's lease, and the leases of its own readers, and reports whether there was a writer, which
// learns of the loss as the holder after [Lock.ForceUnlock]. Errors are the same as for Lock.
func (l *WriteLock) ForceUnlock(ctx context.Context) (bool, error) {
	return l.forceRelease(ctx, "write", "1")
}

// IsLocked reports whether there is a writer.
func (l *WriteLock) IsLocked(ctx context.Context) (bool, error) {
	left, err := l.Remaining(ctx)
	return left > 0, err
}

// IsHeldBy reports whether owner is the writer: see [Lease.Owner].
func (l *WriteLock) IsHeldBy(ctx context.Context, owner string) (bool, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (bool, error) {
		return script.LockHeldBy(ctx, l.base.Runner(), l.base.Key(), writeField(owner))
	})
}

// HoldCount returns how often owner holds the write lock on the server: 0 or 1 for owners of this
// package, and any number for owners in Java.
func (l *WriteLock) HoldCount(ctx context.Context, owner string) (int64, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (int64, error) {
		count, _, err := script.LockHoldCount(ctx, l.base.Runner(), l.base.Key(), writeField(owner))
		return count, err
	})
}

// Remaining returns how long the present writer's lease lasts by the server's clock: 0 if there is
// no writer, [NoExpiry] if its key has no expiry. If the writer is also a reader with a longer
// lease, Remaining returns the rest of that lease. A holder uses [Lease.Remaining] instead.
func (l *WriteLock) Remaining(ctx context.Context) (time.Duration, error) {
	return remaining(ask(ctx, &l.object, "query", script.WriteRemaining))
}
