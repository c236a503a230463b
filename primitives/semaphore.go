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
	"github.com/hasp-go/hasp/primitives/internal/worded"
)

// errTooFewPermits is the refusal of an object that has permits.
var errTooFewPermits = worded.New("too few permits", ErrNotAcquired)

// maxPermits is the largest number of permits in Redisson.
const maxPermits = math.MaxInt32

// SemaphoreOptions configure a [Semaphore]. The zero value of each field means its default.
type SemaphoreOptions struct {
	// Permits is the number of permits with which Acquire or TryAcquire creates a missing
	// semaphore, in the same round trip. All processes that share a semaphore set the same number.
	// If Permits is set, Release does not create a missing semaphore, since that would have too few
	// permits. Zero means that Acquire does not create the semaphore, as in Redisson, but waits
	// until another process does.
	//
	// Without a TTL the semaphore does not expire, since no process knows whether all permits are back.
	// For names that come and go, such as users' names, use a [CountingSemaphore]: its key expires with
	// its last hold.
	Permits int

	// TTL is the time after which a semaphore expires that InitPermits, Acquire or TryAcquire
	// creates, in whole milliseconds. Permits that are acquired before the semaphore expires, and
	// released to the next semaphore of that name, are surplus permits there. Zero means that it
	// does not expire.
	TTL time.Duration

	_ struct{}
}

// Semaphore is a counting semaphore that is not crash-safe: if a holder crashes, its permits never
// come back, until an operator restores them with AddPermits. After five crashes none of five
// permits is left. Most programs want a semaphore with leases instead: a [PermitSemaphore] or a
// [CountingSemaphore]. A Semaphore is for permits that one process acquires and another releases,
// and for permits that are shared with Redisson's RSemaphore.
//
// Its permits have no owners. Acquire takes permits, and waits while too few are free. Release adds
// permits, even if they were not acquired before.
//
// A semaphore that does not exist has no permits. InitPermits, AddPermits or Release creates it. An
// Acquire waits until a process calls one of them, if need be forever. With the option Permits, the
// first Acquire creates the semaphore, even after the server has lost its data.
//
// # Waiting
//
// A release wakes as many waiters as can use the free permits, on every client. The waiters of one
// client are woken in the order in which they came, but a waiter for many permits does not hold up
// waiters for few: while other callers take permits as fast as they are released, it may wait
// forever. When enough permits for it are free and no other caller takes them, it acquires them.
//
// # Failures
//
// After an error no permit is acquired, with one exception: after [ErrIndeterminate] the permits
// may have been taken. If ctx ended, the client waits for the answer for up to 5 s more, and releases
// these permits in the background. [Client.Close] waits for that. If no answer comes, the permits may
// be lost until AddPermits restores them. No request is sent twice.
//
// If the first attempt of an Acquire reaches no server, Acquire returns [ErrUnavailable]. If the
// server has once answered that too few permits are free, Acquire waits until its context ends, even
// while no server can be reached.
//
// A Semaphore is a name, not a resource, and safe for concurrent use.
//
// Source: Redisson's RSemaphore, a decimal text at the name.
type Semaphore struct {
	number
	client  *Client
	want    extend.WaitSpec // of one permit
	permits int             // of a semaphore that Acquire creates; 0: it creates none
	ttl     *time.Duration
}

// NewSemaphore returns the semaphore called name, as [Client.NewLock] does.
func (c *Client) NewSemaphore(name string, opts *SemaphoreOptions) *Semaphore {
	s := &Semaphore{number: c.newNumber("semaphore", name), client: c}
	s.want = extend.WaitSpec{
		Channel: extend.SideName(semaphoreChannel, s.base.Key()), FreeUnits: semaphoreFreeUnits,
		Refusal: errTooFewPermits,
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
		s.want.Condition = "permits, or no semaphore" // Waiters without the option wait for permits alone.
	}
}

// InitPermits creates the semaphore with n free permits. If it exists, with whatever number of
// permits, InitPermits changes nothing and reports false.
func (s *Semaphore) InitPermits(ctx context.Context, n int) (bool, error) {
	return extend.Call(ctx, &s.base, s.validateNumber(n, 0, maxPermits), "set", func() (bool, error) {
		return script.SemaphoreSet(ctx, s.base.Runner(),
			s.base.Key(), int64(n), s.ttl, s.publish(), s.want.Channel)
	})
}

// Acquire takes n permits, at least 1. If enough permits are free, it takes one round trip.
// Otherwise it waits until they are, ctx ends, the client is closed or the backend fails.
func (s *Semaphore) Acquire(ctx context.Context, n int) error {
	return s.acquire(ctx, n, func(p *permitAttempt) error {
		want := s.want
		want.Need = n
		return s.base.Acquire(ctx, want, p)
	})
}

// TryAcquire takes n permits, at least 1, or returns [ErrNotAcquired] if too few are free. It takes
// one round trip and does not wait.
func (s *Semaphore) TryAcquire(ctx context.Context, n int) error {
	return s.acquire(ctx, n, func(p *permitAttempt) error { return s.base.TryAcquire(ctx, s.want.Refusal, p) })
}

func (s *Semaphore) acquire(ctx context.Context, n int, take func(*permitAttempt) error) error {
	return s.do(ctx, s.validateNumber(n, 1, maxPermits), "acquire", func() error {
		p := &permitAttempt{Semaphore: s, n: n}
		err := take(p)
		if err == nil && ctx.Err() != nil {
			// The grant raced with the end of ctx: a caller that gave up does not expect to hold.
			s.putBack(n, false)
			err = backend.Indeterminate(ctx.Err())
		}
		return err
	})
}

// Release adds n permits, at least 1, and wakes waiters. If the semaphore does not exist, Release
// creates it. With the option Permits it does nothing then. If the number of permits would not fit
// into a Java int, the error is [ErrOverflow].
//
// ctx bounds only the waiting for the answer. If ctx ends before the answer comes, or had ended
// before the call, the client releases the permits in the background, until the request is executed
// or the client is closed. The error wraps [ErrIndeterminate]: do not call Release again, which
// would add permits. After [ErrUnavailable] no permit was released, and none will be: call Release
// again.
func (s *Semaphore) Release(ctx context.Context, n int) error {
	_, err := s.add(ctx, "release", s.validateNumber(n, 1, maxPermits), n, s.permits == 0)
	return err
}

// ReleaseIfExists is Release for a semaphore that exists. If it does not exist, ReleaseIfExists
// does nothing and reports false.
func (s *Semaphore) ReleaseIfExists(ctx context.Context, n int) (bool, error) {
	return s.add(ctx, "release", s.validateNumber(n, 1, maxPermits), n, false)
}

// AddPermits adds n to the number of free permits, and wakes waiters if n is more than 0. If n is
// less than 0, AddPermits removes permits, and the number of free permits may become less than 0.
// Then no permit is free until enough are released. Errors are the same as for Release.
func (s *Semaphore) AddPermits(ctx context.Context, n int) error {
	_, err := s.add(ctx, "add to", s.validateNumber(n, -maxPermits, maxPermits), n, true)
	return err
}

// DrainPermits takes all free permits, and returns how many. If ctx ends before the answer comes,
// the client releases these permits in the background.
func (s *Semaphore) DrainPermits(ctx context.Context) (int, error) {
	return extend.Call(ctx, &s.base, s.invalid, "drain", func() (int, error) {
		handle := late(func(r backend.ScriptRunner) { s.releaseUnclaimed(s.drain(context.Background(), r)) })
		return s.drain(ctx, &extend.Request{Object: &s.base, Late: handle})
	})
}

// AvailablePermits returns how many permits are free. It is less than 0 if AddPermits has removed
// more than were free.
func (s *Semaphore) AvailablePermits(ctx context.Context) (int, error) {
	return extend.Call(ctx, &s.base, s.invalid, "query", func() (int, error) {
		n, err := read(script.SemaphoreAvailable(ctx, s.base.Runner(), s.base.Key()))
		return int(n), err
	})
}

// Delete deletes the semaphore with its permits, and reports whether it existed. Waiters keep
// waiting.
func (s *Semaphore) Delete(ctx context.Context) (bool, error) { return s.remove(ctx) }

// countWithin returns a [*FieldError] if n, the value of the given field or argument, is not a
// number of permits of at least least.
func countWithin(field string, n, least int) error { return within(field, n, least, maxPermits) }

// within returns a [*FieldError] if n, the value of the given field or argument, is out of bounds.
func within[T int | int64](field string, n, least, most T) error {
	if n < least || n > most {
		return &FieldError{Field: field, Problem: fmt.Sprintf("%d is not in %d..%d", n, least, most)}
	}
	return nil
}

// add changes the number of free permits. It sends the request even if ctx ends.
func (s *Semaphore) add(ctx context.Context, operation string, invalid error, n int, create bool) (bool, error) {
	return extend.Call(context.WithoutCancel(ctx), &s.base, invalid, operation, func() (bool, error) {
		handle := late(func(r backend.ScriptRunner) { s.handleLateChange(r, n, create) })
		return s.change(ctx, &extend.Request{Object: &s.base, Late: handle, AlwaysSend: true}, n, create)
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
