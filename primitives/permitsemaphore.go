package primitives

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// maxIDs is the most permits that one call takes or puts back.
const maxIDs = 1000

// PermitSemaphoreOptions configure a [PermitSemaphore]. The zero value of each field means its default.
type PermitSemaphoreOptions struct {
	// Permits is how many permits a semaphore has that Acquire or TryAcquire makes, if there is none: in
	// the same round trip. All processes that share a semaphore set the same number. Zero means that
	// Acquire makes none, as in Redisson: it waits until somebody else does.
	Permits int

	// Lease is how long permits are held at most: nobody renews it. In whole milliseconds, at least
	// 100 ms. Zero means the client's WatchdogLease, which the watchdog renews until they are released.
	Lease time.Duration

	// Replicas is how many replicas must have acknowledged a grant before Acquire or TryAcquire returns
	// it, and ReplicaTimeout how long one try waits for them: see [LockOptions]. Zero means that the
	// primary's answer is enough, and 1 s, or a third of the lease if that is less.
	Replicas       int
	ReplicaTimeout time.Duration

	_ struct{}
}

// PermitSemaphore is a number of permits that processes share, and of which none gets lost: who takes
// some has a [Lease] of them, as of a lock. The watchdog renews it until it is released. If a process
// crashes, its permits come back when their leases end, by the server's clock, and one who waits is woken
// then.
//
// A semaphore that does not exist has no permits: an Acquire waits until InitPermits, SetPermits or
// AddPermits makes it. With the option Permits the first Acquire makes it, also after the server has lost
// its data. What was held of one that is gone is lost: its holders learn of it by their next renewal.
//
// # Holders
//
// Acquire takes n permits as one hold: all or none, released together by [Lease.Release]. [Lease.Context]
// ends when they are lost, before anybody else can have them, unless UpdateLease, or Java's updateLeaseTime, makes a
// lease end earlier than its holder knows. Under a context of [Lease.Reenter] an Acquire
// of no more permits than that lease has shares them; one of more takes its own. There are no fencing
// tokens, since several hold at once: [Lease.Token] is 0.
//
// Each permit has an id ([PermitIDs]), by which any process can release it, or give it another lease:
// [PermitSemaphore.Release] and [PermitSemaphore.UpdateLease]. A hold is whole: if one of its permits is
// released in this way, its holder loses the others by its next renewal, and they are put back. Who
// passes permits on to be released one by one acquires them one by one, with the option Lease, and
// forgets the leases by [Lease.Forget]: [Client.Close] would put back what is not forgotten.
//
// # Waiting
//
// A release wakes as many waiters as can use what is free then, on every client. Those of one client are
// woken in the order of their coming, but a waiter for many permits holds up none for few: while others
// take permits as fast as they are released, it may wait for ever. Once as many are free as it needs, and
// nobody else takes them, it gets them. Permits whose lease ends are taken without a message: each answer
// says when the next lease ends, and one waiter of each client tries then.
//
// A PermitSemaphore is a name, not a resource, and safe for concurrent use. Do not use one name for a
// [Semaphore] and a PermitSemaphore: they count in the same key. Nor use a name, x, and the same in braces, {x}: they
// have one set of leases. Where the one exists, what would make the other returns [ErrConflict].
//
// Source: Redisson's RPermitExpirableSemaphore: a decimal text at the name, and at {name}:timeout a sorted
// set of the ids, 16 bytes each, by the ends of their leases. Redisson's processes set these by their own
// clocks; this package reads the server's.
type PermitSemaphore struct {
	number
	leases  extend.Leases
	channel string
	twin    string // the key of a semaphore with the same set of leases; if none has, its own
	total   *int64 // of a semaphore that Acquire makes; nil: it makes none
}

// NewPermitSemaphore returns the permit semaphore called name. It sends nothing. The methods return a
// [*FieldError] for an empty name or an invalid option. In a cluster a name with braces must have its hash
// tag in them.
func (c *Client) NewPermitSemaphore(name string, opts *PermitSemaphoreOptions) *PermitSemaphore {
	var o PermitSemaphoreOptions
	if opts != nil {
		o = *opts
	}
	s := &PermitSemaphore{number: c.newNumber("permit semaphore", name)}
	s.nameKeys()
	if o.Permits != 0 {
		total := int64(o.Permits)
		s.total = &total
		s.reject(countWithin("Permits", o.Permits, 1))
	}
	leases, err := s.base.NewLeases(extend.LeaseConfig{
		Leasable: (*leasablePermits)(s), Kind: permitKind{c.core}, Owner: newPermits, Lease: o.Lease,
		Replicas: o.Replicas, ReplicaTimeout: o.ReplicaTimeout,
		Wait: s.want(),
	})
	s.leases = leases
	s.reject(err)
	return s
}

// nameKeys names the key beside the semaphore's own, and the channel.
func (s *PermitSemaphore) nameKeys() {
	key := s.base.Key()
	s.beside = []string{extend.Tagged(key) + permitLeasesKey}
	s.base = s.base.WithTypedKey("set of permits", s.beside[0], "zset")
	s.channel, s.twin = extend.SideName(semaphoreChannel, key), twinOf(key)
}

// twinOf returns the other one of two keys of which one is the other in braces: their side keys are the same. A key
// without such a twin it returns as it is.
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

// explain adds to an error of the scripts the one that it stands for.
func (s *PermitSemaphore) explain(err error) error {
	var server *backend.ServerError
	if !errors.As(err, &server) {
		return err
	}
	switch server.Code {
	case "SHARED":
		return fmt.Errorf("%w: the key %q exists, and a semaphore there has the same leases: %w", ErrConflict, s.twin, err)
	case "TOOMANY":
		return fmt.Errorf("%w: %w", ErrAboveTotal, err)
	}
	return err
}

// want is what waiters wait for. Those who would make a semaphore do not wait for the same as others.
func (s *PermitSemaphore) want() extend.WaitSpec {
	want := extend.WaitSpec{
		Channel: s.channel, FreeUnits: semaphoreFreeUnits, Refusal: ErrNotAcquired, Returns: true,
	}
	if s.total != nil {
		want.Condition = "permits, or no semaphore"
	}
	return want
}

// Acquire takes n permits, 1 to 1000, and returns their lease. While there are too few it waits: for a
// release, for the end of a lease, or for the next poll. If there are enough it takes one round trip.
//
// More permits than the semaphore has, free and taken ones together, are [ErrAboveTotal], also for those who wait
// when their number is made smaller. Acquire waits all the same, as for a number that will grow again, if the option
// Permits says that there are as many, if the semaphore has none at all, or if it does not exist.
//
// If the first attempt meets no server, Acquire returns [ErrUnavailable] within the bound of the backend.
// Once it was refused it waits on through outages, for as long as ctx lasts.
//
// On error nothing is held, and what may have been taken is put back in the background, or by the end of
// its lease. The errors are those of [Lock.Lock]; if ctx ended while there were too few permits, the error
// wraps [ErrNotAcquired].
func (s *PermitSemaphore) Acquire(ctx context.Context, n int) (*Lease, error) {
	return s.acquire(ctx, n, s.leases.AcquireUnits)
}

// TryAcquire takes n permits, 1 to 1000, and returns their lease, or [ErrNotAcquired] if there are too
// few. It takes one round trip and waits for nothing but replicas, if it is to. Other errors are those of
// Acquire's first attempt, such as [ErrAboveTotal].
func (s *PermitSemaphore) TryAcquire(ctx context.Context, n int) (*Lease, error) {
	return s.acquire(ctx, n, s.leases.TryAcquireUnits)
}

// Do is [Lock.Do] for n permits. There is no token.
func (s *PermitSemaphore) Do(ctx context.Context, n int, work func(ctx context.Context, lease *Lease) error) error {
	acquire := func(ctx context.Context) (*Lease, error) { return s.Acquire(ctx, n) }
	return extend.Do(ctx, acquire, work)
}

func (s *PermitSemaphore) acquire(
	ctx context.Context, n int, take func(context.Context, int) (*Lease, error),
) (*Lease, error) {
	return extend.Call(ctx, &s.base, s.validateNumber(n, 1, maxIDs), "acquire", func() (*Lease, error) {
		return take(ctx, n)
	})
}

// Release puts the permits with these ids back, 1 to 1000 of them, and wakes waiters: all of them or,
// with [ErrNotHeld], none, if one is unknown or its lease has ended. After [ErrIndeterminate] they may
// have been put back; a second Release does no harm. A holder releases its own by [Lease.Release].
func (s *PermitSemaphore) Release(ctx context.Context, ids ...PermitID) error {
	owner, invalid := ownerOf(ids)
	return s.held(ctx, "release", invalid, func() (bool, error) {
		return script.PermitRelease(ctx, s.base.Runner(),
			s.base.Key(), s.beside[0], owner, true, s.publish(), s.channel)
	})
}

// UpdateLease makes the lease of the permit with this id end d from now, by the server's clock, in whole
// milliseconds and at least one. It returns [ErrNotHeld] if the id is unknown, or its lease has ended.
// It may be repeated.
//
// It is for permits that were passed on. A [Lease] does not know of it, and its watchdog goes on renewing:
// a shorter lease than the holder's own may end while the holder still trusts it. Waiters that know of a
// later end find out at their next poll.
func (s *PermitSemaphore) UpdateLease(ctx context.Context, id PermitID, d time.Duration) error {
	invalid := extend.AtLeast("d", d, time.Millisecond)
	return s.held(ctx, "update a lease of", invalid, func() (bool, error) {
		return script.PermitUpdate(ctx, s.base.Runner(), s.base.Key(), s.beside[0], string(id[:]), d)
	})
}

// Remaining returns how long the lease of the permit with this id still runs by the server's clock: 0
// if the id is unknown or its lease has ended, [NoExpiry] if it has no end, as Redisson's may. A holder
// asks [Lease.Remaining] of its own lease instead.
func (s *PermitSemaphore) Remaining(ctx context.Context, id PermitID) (time.Duration, error) {
	return extend.Call(ctx, &s.base, s.invalid, "query", func() (time.Duration, error) {
		return remaining(script.PermitRemaining(
			ctx, s.base.Runner(), s.base.Key(), s.beside[0], string(id[:])))
	})
}

// InitPermits makes the semaphore with n permits, and reports false, and changes nothing, if it exists.
func (s *PermitSemaphore) InitPermits(ctx context.Context, n int) (bool, error) {
	return s.set(ctx, n, false)
}

// SetPermits makes the semaphore one of n permits, free and taken ones together, and wakes waiters if more
// are free then. What is taken stays taken: if that is more than n, AvailablePermits is less than 0 until
// enough was released. It makes a semaphore that does not exist. It may be repeated.
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
		return set, s.explain(err)
	})
}

// AddPermits adds n permits, and wakes waiters if it is more than 0. If it is less, it takes permits away,
// whether they are free or not, as SetPermits does. It makes a semaphore that does not exist. More than a
// Java int holds are [ErrOverflow]. After [ErrIndeterminate] they may have been added: SetPermits, which
// may be repeated, is the safer one.
func (s *PermitSemaphore) AddPermits(ctx context.Context, n int) error {
	invalid := s.validateNumber(n, -maxPermits, maxPermits)
	_, err := extend.Call(ctx, &s.base, invalid, "add to", func() (bool, error) {
		added, err := script.PermitAdd(ctx, s.base.Runner(),
			s.base.Key(), s.beside[0], s.twin, int64(n), s.publish(), s.channel)
		return added, s.explain(err)
	})
	return err
}

// AvailablePermits returns how many permits are free, those included whose leases have ended: less than 0
// if more are taken than the semaphore has.
func (s *PermitSemaphore) AvailablePermits(ctx context.Context) (int, error) {
	free, _, err := s.count(ctx)
	return free, err
}

// AcquiredPermits returns how many permits are taken, by leases that still run.
func (s *PermitSemaphore) AcquiredPermits(ctx context.Context) (int, error) {
	_, acquired, err := s.count(ctx)
	return acquired, err
}

// TotalPermits returns how many permits the semaphore has, free and taken ones together: 0 if it does not
// exist.
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

// Delete deletes the semaphore with all its permits, and reports whether there was one. Its holders learn
// of it by their next renewal or by Release. Waiters go on waiting.
func (s *PermitSemaphore) Delete(ctx context.Context) (bool, error) { return s.remove(ctx) }

// validateNumber checks the semaphore's arguments and a number of permits.
func (s *PermitSemaphore) validateNumber(n, least, most int) error {
	if s.invalid != nil {
		return s.invalid
	}
	return within("n", n, least, most)
}
