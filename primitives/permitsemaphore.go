package primitives

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
	"github.com/hasp-go/hasp/primitives/internal/worded"
	"github.com/hasp-go/hasp/primitives/lease"
)

// maxIDs is the most permits that one call acquires or releases.
const maxIDs = 1000

// PermitSemaphoreOptions configure a [PermitSemaphore]. The zero value of each field means its default.
type PermitSemaphoreOptions struct {
	// Permits is as in [SemaphoreOptions].
	//
	// The semaphore does not expire, even if no permit is taken: if a Java process took a permit while an
	// expiry ran, the permit would end with the key, and the next Acquire would grant it a second time.
	// For names that come and go, such as users' names, use a [CountingSemaphore]: its key expires with
	// its last hold.
	//
	// If the semaphore exists with another total, for example from an earlier deployment, that total
	// applies: the client logs a warning, and reports the mismatch to its tracer. SetPermits changes it.
	Permits int

	// Lease is as in [LockOptions].
	Lease time.Duration

	// Replicas and ReplicaTimeout are as in [LockOptions].
	Replicas       int
	ReplicaTimeout time.Duration

	_ struct{}
}

// PermitSemaphore is a counting semaphore whose permits are leased: if a holder crashes, its
// permits return when their leases end, by the server's clock. A caller acquires one or more
// permits, and holds them by one [Lease], like a lock. The watchdog renews the lease until it is
// released. If each holder needs one slot, and waiters should acquire in the order of arrival, use
// a [CountingSemaphore].
//
// A semaphore that does not exist has no permits: an Acquire waits until InitPermits, SetPermits or
// AddPermits creates it. With the option Permits, the first Acquire creates the semaphore, even
// after the server has lost its data. If the semaphore is deleted, its permits are lost: their
// holders learn of the loss at their next renewal.
//
// # Holders
//
// Acquire takes n permits as one hold: all or none, which [Lease.Release] releases together. If
// permits are lost, [Lease.Context] ends before another caller can acquire them, with the four
// exceptions in the package's comment, and a fifth: another process shortens the lease by UpdateLease
// or Java's updateLeaseTime, releases a permit by its id, or is a Java process whose clock is ahead,
// which takes permits back that early. Under a
// [Lease.Reenter] context of a lease, an Acquire of no more permits than the lease has shares them.
// An Acquire of more permits takes new ones. There are no fencing tokens, since several callers
// hold permits at once: [Lease.Token] is 0.
//
// Each permit has an id ([PermitSemaphore.IDs]). Any process that knows the id can release the permit, or
// change its lease: see [PermitSemaphore.Release] and [PermitSemaphore.UpdateLease]. A hold is
// whole: if one of its permits is released by its id, the holder loses the others by its next
// renewal, and the client releases them. To pass on permits that other processes release one by
// one, acquire them one by one, with the option Lease, and call [Lease.Forget] for each lease:
// [Client.Close] would release the permits of a lease that was not forgotten.
//
// # Waiting
//
// A release wakes waiters as for a [Semaphore].
// When a lease ends, its permits become free without a message: each refusal says when the next
// lease ends, and then one waiter of each client tries.
//
// A PermitSemaphore is a name, not a resource, and safe for concurrent use. Do not use one name for
// a [Semaphore] and a PermitSemaphore, which count in the same key. Do not use a name x and the
// name {x} either, since both have the same set of leases. If a semaphore of one of these two names
// exists, creating the other returns [ErrConflict].
//
// Source: Redisson's RPermitExpirableSemaphore: a decimal text at the name, and at {name}:timeout a
// sorted set of the ids, 16 bytes each, with the ends of their leases as scores. Redisson's
// processes set the scores by their own clocks. This package uses the server's clock.
type PermitSemaphore struct {
	number
	leases  extend.Leases
	channel string
	twin    string // the key of the semaphore that would have the same set of leases; if there is none, its own
	total   *int64 // of a semaphore that Acquire creates; nil: it creates none
}

// NewPermitSemaphore returns the permit semaphore called name, as [Client.NewLock] does.
func (c *Client) NewPermitSemaphore(name string, opts *PermitSemaphoreOptions) *PermitSemaphore {
	o := *cmp.Or(opts, new(PermitSemaphoreOptions))
	s := &PermitSemaphore{number: c.newNumber("permit semaphore", name)}
	s.nameKeys()
	if o.Permits != 0 {
		total := int64(o.Permits)
		s.total = &total
		s.reject(countWithin("Permits", o.Permits, 1))
	}
	leases, err := s.base.NewLeases(extend.LeaseConfig{
		Leasable: (*leasablePermits)(s), Kind: c.leaseKind(permitScripts), Owner: newPermits, Lease: o.Lease,
		Replicas: o.Replicas, ReplicaTimeout: o.ReplicaTimeout,
		Wait: s.want(),
	})
	s.leases = leases
	s.reject(err)
	return s
}

func (s *PermitSemaphore) nameKeys() {
	key := s.base.Key()
	s.beside = []string{extend.Tagged(key) + permitLeasesKey}
	s.base = s.base.WithTypedKey("set of permits", s.beside[0], "zset")
	s.channel, s.twin = extend.SideName(semaphoreChannel, key), twinOf(key)
}

// twinOf returns {key} for key, and key for {key}: both have the same side key. If key has no such
// twin, twinOf returns key.
func twinOf(key string) string {
	plain := strings.TrimSuffix(strings.TrimPrefix(key, "{"), "}")
	switch {
	case strings.ContainsAny(plain, "{}"):
		return key
	case plain == key:
		return extend.Tagged(key)
	case key == extend.Tagged(plain):
		return plain
	}
	return key
}

// explain returns the error that a script's error code stands for. A caller asked for n permits.
func (s *PermitSemaphore) explain(err error, n int) error {
	switch {
	case errors.Is(err, backend.ScriptError("SHARED")):
		text := fmt.Sprintf("%v: the key %q exists, and a semaphore there has the same leases", ErrConflict, s.twin)
		return worded.New(text, ErrConflict, err)
	case errors.Is(err, backend.ScriptError("TOOMANY")):
		return worded.New(fmt.Sprintf("%v: %d", ErrAboveTotal, n), ErrAboveTotal, err)
	}
	return err
}

// want returns the condition of waiters. Waiters with the option Permits, which would create the
// semaphore, have a condition of their own.
func (s *PermitSemaphore) want() extend.WaitSpec {
	want := extend.WaitSpec{
		Channel: s.channel, FreeUnits: semaphoreFreeUnits, Refusal: errTooFewPermits, Returns: true,
	}
	if s.total != nil {
		want.Condition = "permits, or no semaphore"
	}
	return want
}

// Acquire takes n permits, 1 to 1000, and returns their lease. If enough permits are free, it takes
// one round trip. Otherwise it waits: for a release, for the end of a lease, or for the next poll.
//
// If n is more than the total, the free and the taken permits together, the error is
// [ErrAboveTotal], even for a waiter if the total is reduced while it waits. There are three
// exceptions, in which Acquire waits until the total grows:
//
//   - n is no more than the option Permits,
//   - the semaphore has a total of 0 or less,
//   - the semaphore does not exist, and the option Permits is not set.
//
// Outages and errors are as for [Lock.Lock]. If ctx ended while too few permits were free, the error wraps
// [ErrNotAcquired]. After an error the caller holds nothing: the client releases a possible grant in the background, or
// it ends with its lease.
func (s *PermitSemaphore) Acquire(ctx context.Context, n int) (*Lease, error) {
	return s.acquire(ctx, n, s.leases.AcquireUnits)
}

// TryAcquire takes n permits, 1 to 1000, and returns their lease, or [ErrNotAcquired] if too few
// are free. It takes one round trip, and waits only for replicas, if the options ask for them.
// Other errors are the same as for Acquire's first attempt, such as [ErrAboveTotal].
func (s *PermitSemaphore) TryAcquire(ctx context.Context, n int) (*Lease, error) {
	return s.acquire(ctx, n, s.leases.TryAcquireUnits)
}

// Do is [Lock.Do] for n permits. There is no token.
func (s *PermitSemaphore) Do(ctx context.Context, n int, work func(ctx context.Context, lease *Lease) error) error {
	acquire := func(ctx context.Context) (*Lease, error) { return s.Acquire(ctx, n) }
	return lease.Do(ctx, acquire, work)
}

func (s *PermitSemaphore) acquire(
	ctx context.Context, n int, take func(context.Context, int) (*Lease, error),
) (*Lease, error) {
	return extend.Call(ctx, &s.base, s.validateNumber(n, 1, maxIDs), "acquire", func() (*Lease, error) {
		return take(ctx, n)
	})
}

// reportMismatch reports that the semaphore's total is have, and not the option Permits.
func (s *PermitSemaphore) reportMismatch(have int64) {
	s.base.ReportMismatch("Permits", strconv.FormatInt(*s.total, 10), strconv.FormatInt(have, 10))
}

// Release releases the permits with these ids, 1 to 1000 of them, and wakes waiters. If an id is
// unknown, or its lease has ended, Release releases none of the permits and returns [ErrNotHeld].
// After [ErrIndeterminate] the permits may have been released. A second Release does no harm. A
// holder uses [Lease.Release] instead.
func (s *PermitSemaphore) Release(ctx context.Context, ids ...PermitID) error {
	owner, invalid := ownerOf(ids)
	return s.held(ctx, "release", invalid, func() (bool, error) {
		return script.PermitRelease(ctx, s.base.Insistent(),
			s.base.Key(), s.beside[0], owner, true, s.publish(), s.channel)
	})
}

// UpdateLease sets the end of the lease of the permit with this id to d from now, by the server's
// clock, in whole milliseconds and at least one. It returns [ErrNotHeld] if the id is unknown, or
// its lease has ended. It may be repeated.
//
// It is for permits that were passed on. The holder's [Lease] does not notice the change, and the
// watchdog continues to renew it: if UpdateLease shortens the lease, it may end while the holder
// still trusts it. Waiters that expect a later end notice the earlier end at their next poll.
func (s *PermitSemaphore) UpdateLease(ctx context.Context, id PermitID, d time.Duration) error {
	invalid := extend.AtLeast("d", d, time.Millisecond)
	return s.held(ctx, "update a lease of", invalid, func() (bool, error) {
		return script.PermitUpdate(ctx, s.base.Insistent(), s.base.Key(), s.beside[0], string(id[:]), d)
	})
}

// Remaining returns how long the lease of the permit with this id still lasts by the server's
// clock: 0 if the id is unknown or its lease has ended, [NoExpiry] if the lease has no expiry, which
// is possible for Redisson's leases. A holder uses [Lease.Remaining] instead.
func (s *PermitSemaphore) Remaining(ctx context.Context, id PermitID) (time.Duration, error) {
	return extend.Call(ctx, &s.base, s.invalid, "query", func() (time.Duration, error) {
		return remaining(script.PermitRemaining(
			ctx, s.base.Runner(), s.base.Key(), s.beside[0], string(id[:])))
	})
}

// InitPermits creates the semaphore with n permits. If it exists, InitPermits changes nothing and
// reports false.
func (s *PermitSemaphore) InitPermits(ctx context.Context, n int) (bool, error) {
	return s.set(ctx, n, false)
}

// SetPermits sets the total of the semaphore to n permits, the free and the taken permits together,
// and wakes waiters if permits become free. It creates a missing semaphore. Taken permits stay
// taken: if there are more than n, AvailablePermits is less than 0 until enough are released.
// SetPermits may be repeated.
func (s *PermitSemaphore) SetPermits(ctx context.Context, n int) error {
	_, err := s.set(ctx, n, true)
	return err
}

func (s *PermitSemaphore) set(ctx context.Context, n int, change bool) (bool, error) {
	return extend.Call(ctx, &s.base, s.validateNumber(n, 0, maxPermits), "set", func() (bool, error) {
		set, err := script.PermitSet(ctx, s.base.Runner(), script.PermitSetParams{
			Permits: s.base.Key(), Leases: s.beside[0], Twin: s.twin, Total: int64(n), Change: change,
			Publish: s.publish(), Released: s.channel,
		})
		return set, s.explain(err, n)
	})
}

// AddPermits adds n permits to the total, and wakes waiters if n is more than 0. If n is less than
// 0, it removes permits, free or taken, like SetPermits. It creates a missing semaphore. If the
// total would not fit into a Java int, the error is [ErrOverflow]. After [ErrIndeterminate] the
// permits may have been added: use SetPermits, which may be repeated, where you can.
func (s *PermitSemaphore) AddPermits(ctx context.Context, n int) error {
	invalid := s.validateNumber(n, -maxPermits, maxPermits)
	_, err := extend.Call(ctx, &s.base, invalid, "add to", func() (bool, error) {
		added, err := script.PermitAdd(ctx, s.base.Runner(),
			s.base.Key(), s.beside[0], s.twin, int64(n), s.publish(), s.channel)
		return added, s.explain(err, n)
	})
	return err
}

// AvailablePermits returns how many permits are free, including permits whose leases have ended. It
// is less than 0 if more permits are taken than the semaphore has.
func (s *PermitSemaphore) AvailablePermits(ctx context.Context) (int, error) {
	free, _, err := s.count(ctx)
	return free, err
}

// AcquiredPermits returns how many permits are taken by leases that have not ended.
func (s *PermitSemaphore) AcquiredPermits(ctx context.Context) (int, error) {
	_, acquired, err := s.count(ctx)
	return acquired, err
}

// TotalPermits returns how many permits the semaphore has, the free and the taken permits together,
// or 0 if it does not exist.
func (s *PermitSemaphore) TotalPermits(ctx context.Context) (int, error) {
	free, acquired, err := s.count(ctx)
	return free + acquired, err
}

func (s *PermitSemaphore) count(ctx context.Context) (free, acquired int, err error) {
	counts, err := extend.Call(ctx, &s.base, s.invalid, "query", func() (script.PermitCountResult, error) {
		return script.PermitCount(ctx, s.base.Runner(), s.base.Key(), s.beside[0])
	})
	return int(counts.Free), int(counts.Acquired), err
}

// Delete deletes the semaphore with all its permits, and reports whether it existed. The holders
// learn of the loss at their next renewal, or at Release. Waiters keep waiting.
func (s *PermitSemaphore) Delete(ctx context.Context) (bool, error) { return s.remove(ctx) }
