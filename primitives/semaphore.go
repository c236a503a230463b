package primitives

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// maxPermits is the most that Redisson can count.
const maxPermits = math.MaxInt32

// SemaphoreOptions configure a [Semaphore]. The zero value of each field means its default.
type SemaphoreOptions struct {
	// Permits is how many permits a semaphore has that Acquire or TryAcquire makes, if there is none: in
	// the same round trip. All processes that share a semaphore set the same number. Release then makes
	// no semaphore, since it would have too few permits. Zero means that Acquire makes none, as in
	// Redisson: it waits until somebody else does.
	Permits int

	// TTL is how long a semaphore exists that InitPermits, Acquire or TryAcquire makes, in whole
	// milliseconds. Permits that were acquired before it expires, and are released to the next semaphore of
	// that name, are too many there. Zero means that it does not expire.
	TTL time.Duration

	_ struct{}
}

// Semaphore is a number of permits that nobody owns. Most programs want a [PermitSemaphore] instead: its
// permits come back when their holder crashes. Of a Semaphore they are lost then, until an operator
// restores them (AddPermits): five holders that are killed leave none of five permits, for good. It is for
// permits that one process takes and another releases, and for what Redisson's RSemaphore shares.
//
// Acquire takes permits, and waits while there are too few; Release puts some back. A release of what was
// not acquired adds permits.
//
// A semaphore that does not exist has no permits: InitPermits, AddPermits or Release make it. An Acquire
// waits until one of them does, for ever if nobody calls them. With the option Permits the first Acquire
// makes it, also after the server has lost its data.
//
// # Waiting
//
// A release wakes as many waiters as can use what is free then, on every client. Those of one client
// are woken in the order of their coming, but a waiter for many permits holds up none for few: while
// others take permits as fast as they are released, it may wait for ever. What is promised to it is
// this: once as many are free as it needs, and nobody else takes them, it gets them.
//
// # Failures
//
// After an error nothing is acquired, but for [ErrIndeterminate]: then the permits may have been
// taken. If ctx had ended, what was taken, now or by a request that is still under way, is released in
// the background, which [Client.Close] waits for. If the answer was lost, nobody can know, and the
// permits may be gone until AddPermits; nothing is sent twice.
//
// An Acquire whose first attempt meets no server returns [ErrUnavailable]. Once it was refused it waits
// on through outages, for as long as its context lasts.
//
// A Semaphore is a name, not a resource, and safe for concurrent use.
//
// Source: Redisson's RSemaphore, a decimal text at the name.
type Semaphore struct {
	number
	client  *Client
	want    extend.WaitSpec // of one permit
	permits int             // of a semaphore that Acquire makes; 0: it makes none
	ttl     *time.Duration
}

// NewSemaphore returns the semaphore called name. It sends nothing. The methods return a
// [*FieldError] for an empty name or an invalid option. In a cluster a name with braces must have its
// hash tag in them.
func (c *Client) NewSemaphore(name string, opts *SemaphoreOptions) *Semaphore {
	s := &Semaphore{number: c.newNumber("semaphore", name), client: c}
	s.want = extend.WaitSpec{
		Channel: extend.SideName(semaphoreChannel, s.base.Key()), FreeUnits: semaphoreFreeUnits,
		Refusal: ErrNotAcquired,
	}
	if opts != nil {
		s.configure(*opts)
	}
	return s
}

func (s *Semaphore) configure(opts SemaphoreOptions) {
	if opts.TTL != 0 {
		s.ttl = &opts.TTL
		s.reject(extend.AtLeast("TTL", opts.TTL, time.Millisecond))
	}
	if s.permits = opts.Permits; s.permits != 0 {
		s.reject(countWithin("Permits", s.permits, 1))
		s.want.Condition = "permits, or no semaphore" // Who would not make one waits for permits alone.
	}
}

// InitPermits makes the semaphore with n free permits, and reports false if it exists, however
// many are free.
func (s *Semaphore) InitPermits(ctx context.Context, n int) (bool, error) {
	return extend.Call(ctx, &s.base, s.validateCount(n, 0), "set", func() (bool, error) {
		return script.SemaphoreSet(ctx, s.base.Runner(),
			s.base.Key(), int64(n), s.ttl, s.publish(), s.want.Channel)
	})
}

// Acquire takes n permits, at least 1. While there are too few it waits, until ctx ends, the client
// is closed or the backend fails. If there are enough it takes one round trip.
func (s *Semaphore) Acquire(ctx context.Context, n int) error {
	return s.acquire(ctx, n, func(p *permitAttempt) error {
		want := s.want
		want.Need = n
		return s.base.Wait(ctx, want, p)
	})
}

// TryAcquire takes n permits, at least 1, or returns [ErrNotAcquired] if there are too few. It takes
// one round trip and does not wait.
func (s *Semaphore) TryAcquire(ctx context.Context, n int) error {
	return s.acquire(ctx, n, func(p *permitAttempt) error { return extend.TryOnce(ctx, p) })
}

func (s *Semaphore) acquire(ctx context.Context, n int, take func(*permitAttempt) error) error {
	_, err := extend.Call(ctx, &s.base, s.validateCount(n, 1), "acquire", func() (struct{}, error) {
		p := &permitAttempt{Semaphore: s, n: n}
		err := take(p)
		if err == nil && ctx.Err() != nil {
			// The grant raced with the end of ctx: a caller that gave up does not expect to hold.
			s.putBack(n, false)
			err = backend.Indeterminate(ctx.Err())
		}
		return struct{}{}, err
	})
	return err
}

// Release puts n permits back, at least 1, and wakes waiters. It makes a semaphore that does not
// exist; with the option Permits it does nothing then. More permits than a Java int holds are
// [ErrOverflow].
//
// ctx bounds only the waiting for the answer. If it ends before that, or had ended before, the permits
// are put back all the same, in the background, until the request is executed or the client is closed:
// the error wraps [ErrIndeterminate], and a second Release would add permits. After [ErrUnavailable]
// nothing was put back, and nothing will be: Release may be called again.
func (s *Semaphore) Release(ctx context.Context, n int) error {
	_, err := s.add(ctx, "release", s.validateCount(n, 1), n, s.permits == 0)
	return err
}

// ReleaseIfExists is Release, but does nothing and reports false if the semaphore does not exist.
func (s *Semaphore) ReleaseIfExists(ctx context.Context, n int) (bool, error) {
	return s.add(ctx, "release", s.validateCount(n, 1), n, false)
}

// AddPermits adds n to the free permits, and wakes waiters if it is more than 0. If it is less, it
// takes permits away, down below 0, whether they are free or not: then so many must be released
// before any is free again. Errors are those of Release.
func (s *Semaphore) AddPermits(ctx context.Context, n int) error {
	_, err := s.add(ctx, "add to", s.validateCount(n, -maxPermits), n, true)
	return err
}

// DrainPermits takes all permits that are free, and returns how many. What an answer brings after
// the end of ctx is released in the background.
func (s *Semaphore) DrainPermits(ctx context.Context) (int, error) {
	return extend.Call(ctx, &s.base, s.invalid, "drain", func() (int, error) {
		return (&drain{Semaphore: s}).send(ctx)
	})
}

// AvailablePermits returns how many permits are free: less than 0 if AddPermits has taken away more.
func (s *Semaphore) AvailablePermits(ctx context.Context) (int, error) {
	return extend.Call(ctx, &s.base, s.invalid, "query", func() (int, error) {
		n, err := read(script.SemaphoreAvailable(ctx, s.base.Runner(), s.base.Key()))
		return int(n), err
	})
}

// Delete deletes the semaphore with its permits, and reports whether there was one. Waiters go on
// waiting.
func (s *Semaphore) Delete(ctx context.Context) (bool, error) { return s.remove(ctx) }

// validateCount checks the semaphore's arguments and a number of permits.
func (s *Semaphore) validateCount(n, least int) error {
	if s.invalid != nil {
		return s.invalid
	}
	return countWithin("n", n, least)
}

// countWithin returns a [*FieldError] if n, the value of the given field or argument, is no number of
// permits from the least on.
func countWithin(field string, n, least int) error { return within(field, n, least, maxPermits) }

// within returns a [*FieldError] if n, the value of the given field or argument, is out of bounds.
func within(field string, n, least, most int) error {
	if n < least || n > most {
		return &FieldError{Field: field, Problem: fmt.Sprintf("%d is not in %d..%d", n, least, most)}
	}
	return nil
}

// add changes the number of free permits. The request is sent even if ctx ends.
func (s *Semaphore) add(
	ctx context.Context, operation string, invalid error, n int, create bool,
) (bool, error) {
	return extend.Call(context.WithoutCancel(ctx), &s.base, invalid, operation, func() (bool, error) {
		return (&addition{Semaphore: s, by: n, create: create}).send(ctx)
	})
}

// semaphoreFreeUnits reads a message on a semaphore's channel: the number of free permits.
func semaphoreFreeUnits(payload string) int {
	n, err := strconv.Atoi(payload)
	if err != nil {
		return 1 // The message is unknown: one waiter tries.
	}
	return n
}
