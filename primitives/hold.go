package primitives

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/renew"
	"github.com/hasp-go/hasp/primitives/internal/wait"
)

// locker is one kind of lock on the server, by owner.
type locker interface {
	// acquire tries once. After an error of any kind the caller treats the outcome as
	// backend.MayHaveRun says.
	acquire(ctx context.Context, owner string) (token int64, answer wait.Answer, err error)

	// release frees what owner holds, and nothing else: it may be repeated.
	release(ctx context.Context, owner string) (released bool, err error)
}

// hold is one owner's hold on a lock: one key field on the server, one entry at the watchdog, and
// as many leases as have re-entered it.
type hold struct {
	renew.Hold
	of     object
	locker locker
	token  int64

	mu     sync.Mutex
	cause  error    // why all leases ended, if not by Unlock
	leases []*Lease // those not released yet

	// The first lease lives here, to be one allocation with its hold.
	first  Lease
	single [1]*Lease
}

// newLease returns the first lease of h.
func (h *hold) newLease() *Lease {
	h.OnLost = h
	h.first.hold = h
	h.single[0] = &h.first
	h.leases = h.single[:]
	return &h.first
}

// Try implements [wait.Attempt]: it tries once to acquire. The watchdog knows of the hold from
// before the request is sent until it is refused or given back.
func (h *hold) Try(ctx context.Context) (wait.Answer, error) {
	h.of.client.keeper.Begin(&h.Hold)
	token, answer, err := h.locker.acquire(ctx, h.Owner)
	switch {
	case err != nil:
		h.of.client.keeper.End(&h.Hold)
		if backend.MayHaveRun(err) {
			h.giveBack(!errors.Is(err, backend.ErrIndeterminate))
		}
		return wait.Answer{}, err
	case !answer.Granted:
		h.of.client.keeper.End(&h.Hold)
		return answer, nil
	}
	h.token = token
	if !h.of.client.keeper.Confirm(&h.Hold) {
		h.giveBack(true)
		return wait.Answer{}, fmt.Errorf("granted too late: %w", h.of.client.lost())
	}
	return answer, nil
}

// reenter returns another lease of h, for an inner lock with the given lease options. It returns
// nil and no error if h was released: then the inner lock is on its own.
func (h *hold) reenter(lease time.Duration, renewer renew.Renewer) (*Lease, error) {
	remaining := h.of.client.keeper.Remaining(&h.Hold)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.cause != nil:
		return nil, h.cause
	case len(h.leases) == 0:
		return nil, nil //nolint:nilnil // Internal, and said above.
	case remaining <= 0:
		return nil, h.of.client.lost()
	case h.Lease != lease || h.Renewer != renewer:
		return nil, &FieldError{"Lease", "not that of the hold that is re-entered"}
	}
	l := &Lease{hold: h}
	h.leases = append(h.leases, l)
	return l, nil
}

// unlock releases l, and frees the lock if it was the last lease of h.
func (h *hold) unlock(ctx context.Context, l *Lease) error {
	if err := h.of.client.enter(); err != nil {
		if cause := l.Err(); cause != nil {
			err = cause // It may have ended before the client.
		} else {
			h.endAll(ErrClosed) // Close is about to, and gives back.
		}
		return fmt.Errorf("%w: %w", ErrNotHeld, err)
	}
	defer h.of.client.leave()
	lasted := ctx.Err() == nil
	last, err := h.drop(l)
	if err != nil || !last {
		return err
	}
	if lasted && ctx.Err() != nil {
		// It is one of the lease's own contexts, which are what callers have at hand.
		var cancel context.CancelFunc
		ctx, cancel = outlive(ctx)
		defer cancel()
	}
	if !h.of.client.keeper.End(&h.Hold) {
		h.giveBack(true)
		return fmt.Errorf("%w: %w", ErrNotHeld, h.of.client.lost())
	}
	return h.release(ctx)
}

// drop ends l, and reports whether it was the last lease of h.
func (h *hold) drop(l *Lease) (last bool, err error) {
	remaining := h.of.client.keeper.Remaining(&h.Hold)
	h.mu.Lock()
	if err := l.ended(remaining); err != nil {
		h.mu.Unlock()
		return false, fmt.Errorf("%w: %w", ErrNotHeld, err)
	}
	cancel := l.end(ErrReleased)
	h.leases = slices.DeleteFunc(h.leases, func(other *Lease) bool { return other == l })
	last = len(h.leases) == 0
	h.mu.Unlock()
	cancel()
	return last, nil
}

// release frees the lock on the server. If it may not have arrived it goes on in the background.
func (h *hold) release(ctx context.Context) error {
	if err := ended(ctx); err != nil {
		h.giveBack(true)
		return backend.Indeterminate(err)
	}
	released, err := h.locker.release(ctx, h.Owner)
	switch {
	case err == nil && released:
		return nil
	case err == nil:
		return fmt.Errorf("%w: %w", ErrNotHeld, ErrLost)
	case otherKind(err):
		return fmt.Errorf("%w: %w: %w", ErrNotHeld, ErrLost, err)
	case errors.Is(err, backend.ErrClosed):
		return err
	}
	h.giveBack(true)
	if !backend.MayHaveRun(err) {
		err = backend.Indeterminate(err) // It may run yet.
	}
	return err
}

// outlive returns ctx without its end, but for its deadline; without one it lasts for
// releaseTimeout.
func outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(releaseTimeout)
	}
	return context.WithDeadline(context.WithoutCancel(ctx), deadline)
}

// Lost implements [renew.Loser].
func (h *hold) Lost() {
	h.of.client.opts.Logger.Debug("lease lost", zapObject(h.of)...)
	h.endAll(ErrLost)
	h.giveBack(true)
}

// close ends h with its client.
func (h *hold) close() {
	h.endAll(ErrClosed)
	h.giveBack(true)
}

// abandon gives back a hold that was granted when nobody wanted it any more.
func (h *hold) abandon() {
	h.of.client.keeper.End(&h.Hold)
	h.endAll(ErrReleased)
	h.giveBack(true)
}

// endAll ends all leases of h.
func (h *hold) endAll(cause error) {
	h.mu.Lock()
	h.cause = cause
	var cancels []func()
	for _, l := range h.leases {
		cancels = append(cancels, l.end(cause))
	}
	h.leases = nil
	h.mu.Unlock()
	for _, cancel := range cancels {
		cancel()
	}
}
