package extend

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/dispatch"
	"github.com/hasp-go/hasp/primitives/internal/leases"
	"github.com/hasp-go/hasp/primitives/internal/wait"
	"github.com/hasp-go/hasp/primitives/lease"
)

// waiter is one caller that waits, or tries once. It tries an [Attempt], or makes owners try, and notes how
// the last try ended.
type waiter struct {
	attempt Attempt // nil: the owners of leases try

	leases   *Leases
	leasable Leasable
	units    int
	place    int64 // in a line
	hold     *hold // nil: the next try has a new owner

	owns    bool  // a possible grant of a try without an answer is released by its owner
	refused bool  // the server's last answer was a refusal, or a grant that was undone
	undone  int   // grants in a row that were undone, for lack of replicas
	outage  error // of the last try, if it got no answer, or a grant that was undone
	tries   tries
}

// waiters has unused waiters, so a call that does not have to wait needs no allocation.
var waiters = sync.Pool{New: func() any { return new(waiter) }}

// newWaiter returns a waiter that is equal to w.
func newWaiter(w waiter) *waiter {
	unused := waiters.Get().(*waiter) //nolint:forcetypeassert // It has nothing else.
	*unused = w
	return unused
}

func (w *waiter) free() {
	*w = waiter{}
	waiters.Put(w)
}

// wait waits for o until w is granted.
func (w *waiter) wait(ctx context.Context, o *Object, want WaitSpec) error {
	err := wait.ErrMoved
	for errors.Is(err, wait.ErrMoved) {
		if w.hasOwnChannel() {
			want.Channel, want.Private = w.leases.config.OwnChannel(w.current().Owner), true
		}
		err = o.core.waiters.Wait(ctx, wait.Want{Object: o.id.Key, Spec: wait.Spec(want)}, w)
	}
	return w.explain(ctx, err, want.Refusal)
}

// lease returns the lease of an owner whose waiting has ended with err.
func (w *waiter) lease(ctx context.Context, err error) (*lease.Lease, error) {
	if err != nil {
		if w.hold != nil {
			w.hold.leaveQueue()
		}
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		// The grant raced with the end of ctx: a caller that gave up does not expect to hold.
		_ = w.hold.end(ctx, byLeaving, leases.ReleaseWait{})
		return nil, err
	}
	return (*lease.Lease)(w.hold.First()), nil
}

// current returns the hold of the owner that tries next.
func (w *waiter) current() *hold {
	if w.hold == nil {
		w.hold = w.leases.init(&hold{}, w.leasable, w.units)
	}
	return w.hold
}

func (w *waiter) want() WaitSpec {
	want := w.leases.config.Wait
	if w.units > 0 {
		want.Need = w.units
	}
	return want
}

// Try implements [wait.Attempt]. Once a waiter has been refused, it keeps waiting through outages:
// while no server can be reached, or none that accepts writes. If it has owners, it also continues
// after an unknown outcome, and after a grant that came too late. A grant that was undone for lack
// of replicas counts as a refusal. A new owner may have another channel.
func (w *waiter) Try(ctx context.Context) (wait.Answer, error) {
	a := w.attempt
	if w.leases != nil {
		a = w.current()
	}
	tryCtx := ctx
	if w.refused {
		tryCtx = dispatch.Retry(ctx)
	}
	answer, err := a.Try(tryCtx)
	w.note(answer, err)
	switch {
	case err == nil:
		w.refused, w.undone, w.outage = !answer.Granted, 0, nil
	case w.owns && errors.Is(err, backend.ErrReplicas) && shortageMayPass(err):
		w.refused, w.undone, w.outage = true, w.undone+1, err
		return wait.Answer{Undone: w.undone, RetryIn: -1, Moved: w.moved()}, nil
	case w.refused && ctx.Err() == nil && w.retryable(err):
		w.undone, w.outage = 0, err
		return wait.Answer{Outage: true, RetryIn: -1, Moved: w.moved()}, nil
	}
	if answer.RetryIn <= 0 {
		answer.RetryIn = -1
	}
	return wait.Answer{Granted: answer.Granted, RetryIn: answer.RetryIn, Free: answer.Free}, err
}

// Followed is called by the waiting loop before the first try: a waiter behind a refused waiter counts as refused.
func (w *waiter) Followed() { w.refused = true }

// note counts a try. It takes a new owner for the next try if the old owner may hold the object.
func (w *waiter) note(answer Answer, err error) {
	w.tries.count++
	w.tries.refused = w.tries.refused || err == nil && !answer.Granted
	w.place = answer.Place
	used := errors.Is(err, backend.ErrReplicas) || !errors.Is(err, backend.ErrUnavailable)
	if h := w.hold; h != nil && err != nil && used {
		w.hold = nil
		h.leaveQueue()
	}
}

// moved reports whether the next try has another owner, with a channel of its own.
func (w *waiter) moved() bool { return w.hasOwnChannel() && w.hold == nil }

// hasOwnChannel reports whether each owner listens to a channel of its own.
func (w *waiter) hasOwnChannel() bool { return w.leases != nil && w.leases.config.OwnChannel != nil }

// retryable reports whether the waiter may try again after err: the server may take the next try, or the next
// grant may come in time.
func (w *waiter) retryable(err error) bool {
	var server *backend.ServerError
	return errors.Is(err, backend.ErrUnavailable) ||
		errors.As(err, &server) && backend.RefusesWrites(server.Code) ||
		w.owns && (errors.Is(err, backend.ErrIndeterminate) || errors.Is(err, lease.ErrLost))
}

// explain adds the reason to an error if the end of ctx has ended the waiting: that no server
// answered, the refusal, or the lack of replicas. It adds the lack of replicas even if the last
// outcome is unknown.
func (w *waiter) explain(ctx context.Context, err, refusal error) error {
	ended := err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err())
	unknown := errors.Is(err, backend.ErrIndeterminate)
	switch {
	case ended && w.outage != nil && (w.undone > 0 || !unknown):
		return fmt.Errorf("%w: %w", err, w.outage)
	case ended && !unknown && w.refused && refusal != nil && !errors.Is(err, refusal):
		return fmt.Errorf("%w: %w", refusal, err)
	}
	return err
}
