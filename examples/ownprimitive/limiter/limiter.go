// Package limiter is a second primitive outside of package primitives: a rate limiter by fixed windows. Time alone
// frees its permits, and nothing publishes a message about it.
package limiter

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/examples/ownprimitive/internal/script"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/extend"
)

// MaxPause is the longest time for which a waiter does not look, if it does not know when the window ends.
const MaxPause = time.Second

// maxPermits is the most that the scripts count.
const maxPermits = 1_000_000

// Limiter grants a number of permits in a window of time. The first permits that are taken begin a window, and at
// its end, by the server's clock, all permits are free. So twice as many may be taken shortly before and
// after an end.
//
// A Limiter is a name, not a resource, and safe for concurrent use. All processes that use a name must use the same
// limit and the same window.
type Limiter struct {
	object  extend.Object
	limit   int
	window  time.Duration
	invalid error // of the arguments; each method returns it
}

// New returns the limiter called name. It sends nothing. The methods return a [*primitives.FieldError] for an empty
// name, a limit that is not in 1..1,000,000, or a window of less than a millisecond.
func New(client *primitives.Client, name string, limit int, window time.Duration) *Limiter {
	l := &Limiter{object: client.Core().NewObject("limiter", name, "hash"), limit: limit, window: window}
	l.invalid = cmp.Or(l.object.Validate(), check("limit", limit, maxPermits),
		check("window in milliseconds", int(window.Milliseconds()), 1<<31-1))
	return l
}

func check(field string, n, most int) error {
	if n < 1 || n > most {
		return &primitives.FieldError{Field: field, Problem: fmt.Sprintf("%d is not in 1..%d", n, most)}
	}
	return nil
}

// Take waits until n permits are free, and takes them. After an error it has taken none, unless the error wraps
// [primitives.ErrIndeterminate]: then it may have taken them. If ctx ends while too few are free, the error wraps
// [primitives.ErrNotAcquired], too. The order of waiters is not kept.
func (l *Limiter) Take(ctx context.Context, n int) error {
	want := extend.WaitSpec{
		Need: n, Returns: true, Refusal: primitives.ErrNotAcquired,
		Backoff: extend.Backoff{First: MaxPause / 10, Most: MaxPause},
	}
	return l.call(ctx, "take", n, func() error { return l.object.Acquire(ctx, want, attempt{l, n}) })
}

// TryTake is Take without waiting: if too few permits are free, it returns [primitives.ErrNotAcquired].
func (l *Limiter) TryTake(ctx context.Context, n int) error {
	return l.call(ctx, "try to take", n, func() error {
		return l.object.TryAcquire(ctx, primitives.ErrNotAcquired, attempt{l, n})
	})
}

// Reset ends the window at once. Waiters notice that after [MaxPause], or when the window would have ended.
func (l *Limiter) Reset(ctx context.Context) error {
	return l.call(ctx, "reset", 1, func() error {
		return script.Reset(ctx, l.object.Runner(), l.object.Key())
	})
}

// call calls f for n permits, unless an argument is invalid.
func (l *Limiter) call(ctx context.Context, operation string, n int, f func() error) error {
	invalid := cmp.Or(l.invalid, check("n", n, l.limit))
	_, err := extend.Call(ctx, &l.object, invalid, operation, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// attempt is one that takes n permits.
type attempt struct {
	*Limiter
	n int
}

// Try implements [extend.Attempt].
func (a attempt) Try(ctx context.Context) (extend.Answer, error) {
	r, err := script.Take(ctx, a.object.Runner(), a.object.Key(), int64(a.n), int64(a.limit), a.window)
	return extend.Answer{Granted: r.Granted, Free: int(r.Left), RetryIn: r.Wait}, err
}
