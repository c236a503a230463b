package primitives

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// readWriteUnits are the units of a read-write lock: a reader needs one, a writer all.
const readWriteUnits = 1 << 30

// ReadWriteLockOptions configure a [ReadWriteLock]. The zero value of each field means its default.
type ReadWriteLockOptions struct {
	// Lease is how long one reader or writer holds the lock at most: nobody renews it. In whole
	// milliseconds, at least 100 ms. Zero means the client's WatchdogLease, which the watchdog renews
	// until Release.
	Lease time.Duration

	// PreferWriters makes readers stand back while a writer waits in Lock: they join no readers that are
	// in, and when these have left, they give the writer 200 ms to enter. All who use the lock must set
	// it: Java's readers and those without it join, and writers without it do not ask for it. A reader
	// that asks again without [Lease.Reenter] may then wait for itself. When the last waiting writer gives
	// up, its client lets the readers that stood back join. After a waiting writer crashes, and no other
	// waits, readers may go on waiting until those that are in have left, or the first of their leases has
	// ended.
	PreferWriters bool

	// Replicas is how many replicas must have acknowledged a grant before Lock or TryLock of either side
	// returns it, and ReplicaTimeout how long one try waits for them: see [LockOptions]. Zero means that
	// the primary's answer is enough, and 1 s, or a third of the lease if that is less.
	Replicas       int
	ReplicaTimeout time.Duration

	_ struct{}
}

// ReadWriteLock lets many readers in at once, or one writer alone. Each call of Lock or TryLock is a
// holder of its own with a lease of its own, which the server enforces: a reader that crashes keeps
// writers out until its own lease ends, even while other readers come and go. Readers that keep joining
// others can keep a writer out for ever, as with Redisson, unless all set PreferWriters. Only the last
// reader's release is published. A waiting writer also tries when the first of the readers' leases ends that it
// was refused for. A poll alone helps if a reader joins later, for a shorter lease, and crashes when the others
// have left: then the writer enters after [Options].PollInterval at the latest.
//
// # Both sides
//
// A writer may let itself in as a reader: it asks for the read lock under the write lease's
// [Lease.Reenter]. When it then releases the write lease, it stays in as a reader, and those who wait
// for the read lock join it.
//
// A reader cannot become a writer: if the write lock is asked for under the Reenter of a read lease, the
// error is [ErrUpgrade], at once. Two readers that waited for each other would wait for ever. Release the
// read lease first, and look again at what was read.
//
// A ReadWriteLock is a name, not a resource, and safe for concurrent use.
//
// Source: Redisson's RReadWriteLock, by keys and channel.
type ReadWriteLock struct {
	read  ReadLock
	write WriteLock
}

// NewReadWriteLock returns the read-write lock called name. It sends nothing. The methods return a
// [*FieldError] for an empty name, an invalid option, or a name whose braces have no hash tag in them:
// the lock has keys that other holders make up, which must be in its slot.
func (c *Client) NewReadWriteLock(name string, opts *ReadWriteLockOptions) *ReadWriteLock {
	var o ReadWriteLockOptions
	if opts != nil {
		o = *opts
	}
	l := &ReadWriteLock{}
	l.read.readWriteSide = c.newReadWriteSide("read lock", name, o.PreferWriters)
	l.write.readWriteSide = c.newReadWriteSide("write lock", name, o.PreferWriters)
	reading := extend.LeaseConfig{
		Leasable: (*leasableRead)(l), Kind: readKind{c.core}, Lease: o.Lease,
		Replicas: o.Replicas, ReplicaTimeout: o.ReplicaTimeout,
	}
	l.read.leases = l.read.newLeases(reading)
	writing := reading
	writing.Leasable, writing.Try = &leasableWrite{l, true}, &leasableWrite{l, false}
	writing.Kind, writing.Wait.Need = writeKind{c.core}, readWriteUnits
	l.write.leases = l.write.newLeases(writing)
	return l
}

// Name returns the lock's name, without the client's prefix.
func (l *ReadWriteLock) Name() string { return l.read.Name() }

// ReadLock returns the side that many may hold at once.
func (l *ReadWriteLock) ReadLock() *ReadLock { return &l.read }

// WriteLock returns the side that one holds alone.
func (l *ReadWriteLock) WriteLock() *WriteLock { return &l.write }

// readWriteSide is one side of a [ReadWriteLock], as its users see it.
type readWriteSide struct {
	object
	readers  string // what the readers' side keys begin with
	channel  string
	tokenKey string
	tokenTTL time.Duration
	leases   extend.Leases

	preferWriters bool
	writers       string // the key of the places of writers that wait
}

func (c *Client) newReadWriteSide(kind, name string, preferWriters bool) readWriteSide {
	s := readWriteSide{
		object: c.newObject(kind, name, "hash"), tokenTTL: c.tokenTTL, preferWriters: preferWriters,
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

// newLeases returns what hands out leases of s.
func (s *readWriteSide) newLeases(config extend.LeaseConfig) extend.Leases {
	config.Wait.Channel, config.Wait.Refusal = s.channel, ErrNotAcquired
	// Whatever the message says, the lock is free, or the readers'. Who is refused knows which.
	config.Wait.FreeUnits = func(string) int { return readWriteUnits }
	leases, err := s.base.NewLeases(config)
	s.reject(err)
	return leases
}

// TryLock is Lock, but returns [ErrNotAcquired] where that would wait, and [ErrReplicas] where that would
// try again. It takes one round trip.
func (s *readWriteSide) TryLock(ctx context.Context) (*Lease, error) {
	return extend.Call(ctx, &s.base, s.invalid, "acquire", func() (*Lease, error) {
		return s.leases.TryAcquire(ctx)
	})
}

// forceRelease ends all holds if the lock is in the given mode.
func (s *readWriteSide) forceRelease(ctx context.Context, mode, message string) (bool, error) {
	return extend.Call(ctx, &s.base, s.invalid, "force release of", func() (bool, error) {
		return script.ReadwriteForceRelease(
			ctx, s.base.Runner(), s.base.Key(), mode, s.publish(), s.channel, message)
	})
}

// ReadLock is the side of a [ReadWriteLock] that many may hold at once.
//
// A read lease's token is that of the last write lease before it, so that it does not rise from reader
// to reader: it says which writer's work the reader may see. A resource that remembers the highest token
// of the writers, and refuses lower ones, also refuses readers that do not know of their loss, once a
// later writer was there. Java's writers do not count: they make no tokens.
type ReadLock struct {
	readWriteSide
}

// Lock waits until it is in, ctx ends, the client is closed or the backend fails. If no writer keeps it
// out it takes one round trip. Otherwise Lock waits for the writer's release, for the end of its lease, or
// for the next poll, and tries again. One message lets all readers of a client in.
//
// Under a context by [Lease.Reenter] of a read lease it returns another lease of the same hold. Under one
// of the write lease it returns a hold of its own, with an owner and a lease of its own.
//
// Errors are those of [Lock.Lock].
func (l *ReadLock) Lock(ctx context.Context) (*Lease, error) {
	return extend.Call(ctx, &l.base, l.invalid, "acquire", func() (*Lease, error) {
		return l.leases.Acquire(ctx)
	})
}

// Do is [Lock.Do] for a reader.
func (l *ReadLock) Do(ctx context.Context, work func(ctx context.Context, lease *Lease) error) error {
	return extend.Do(ctx, l.Lock, work)
}

// ForceUnlock ends the leases of all readers, and reports whether there was one. While a writer is in,
// it does nothing. The readers learn of it by their next renewal or by Release, up to a third of their
// lease later, or, of a fixed lease, by Release or at its end. Errors are those of Lock.
func (l *ReadLock) ForceUnlock(ctx context.Context) (bool, error) {
	return l.forceRelease(ctx, "read", "0")
}

// IsLocked reports whether there is a reader whose lease still runs, be it the writer itself.
func (l *ReadLock) IsLocked(ctx context.Context) (bool, error) {
	left, err := l.Remaining(ctx)
	return left > 0, err
}

// IsHeldBy reports whether owner is a reader whose lease still runs: see [Lease.Owner].
func (l *ReadLock) IsHeldBy(ctx context.Context, owner string) (bool, error) {
	count, err := l.HoldCount(ctx, owner)
	return count > 0, err
}

// HoldCount returns how many read leases owner has on the server: 0 or 1 for this package's owners,
// and any number for a Java peer's.
func (l *ReadLock) HoldCount(ctx context.Context, owner string) (int64, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (int64, error) {
		return script.ReadHoldCount(ctx, l.base.Runner(), l.base.Key(), l.readers, owner)
	})
}

// Remaining returns how long the longest lease of the present readers lasts by the server's clock; 0 if
// there is no reader. A holder asks [Lease.Remaining] of its own lease instead.
func (l *ReadLock) Remaining(ctx context.Context) (time.Duration, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (time.Duration, error) {
		return remaining(script.ReadRemaining(ctx, l.base.Runner(), l.base.Key(), l.readers))
	})
}

// WriteLock is the side of a [ReadWriteLock] that one holds alone. The tokens of its leases rise, as
// those of a [Lock] do.
type WriteLock struct {
	readWriteSide
}

// Lock waits until it is in alone, ctx ends, the client is closed or the backend fails. If nobody is in
// it takes one round trip. Otherwise Lock waits for a release, for the end of the leases, or for the next
// poll, and tries again.
//
// Under a context by [Lease.Reenter] of the write lease it returns another lease of the same hold. Under
// one of a read lease it returns [ErrUpgrade]. Other errors are those of [Lock.Lock].
func (l *WriteLock) Lock(ctx context.Context) (*Lease, error) {
	return extend.Call(ctx, &l.base, l.invalid, "acquire", func() (*Lease, error) {
		return l.leases.Acquire(ctx)
	})
}

// Do is [Lock.Do] for a writer.
func (l *WriteLock) Do(ctx context.Context, work func(ctx context.Context, lease *Lease) error) error {
	return extend.Do(ctx, l.Lock, work)
}

// ForceUnlock ends the writer's lease, and with it those of its own readers, and reports whether there
// was a writer. The writer learns of it by its next renewal or by Release, up to a third of its lease
// later, or, of a fixed lease, by Release or at its end: only its fencing token protects the resource until then. Errors
// are those of Lock.
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

// HoldCount returns how often owner holds the write lock on the server: 0 or 1 for this package's
// owners, and any number for a Java peer's.
func (l *WriteLock) HoldCount(ctx context.Context, owner string) (int64, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (int64, error) {
		count, _, err := script.LockHoldCount(ctx, l.base.Runner(), l.base.Key(), writeField(owner))
		return count, err
	})
}

// Remaining returns how long the present writer's lease lasts by the server's clock: 0 if there is no
// writer, [NoExpiry] if its key has no expiry. It includes that of the writer's own readers, if that is
// longer. A holder asks [Lease.Remaining] of its own lease instead.
func (l *WriteLock) Remaining(ctx context.Context) (time.Duration, error) {
	return extend.Call(ctx, &l.base, l.invalid, "query", func() (time.Duration, error) {
		return remaining(script.WriteRemaining(ctx, l.base.Runner(), l.base.Key()))
	})
}
