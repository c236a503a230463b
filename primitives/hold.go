package primitives

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/renew"
	"github.com/hasp-go/hasp/primitives/internal/wait"
)

// unlockGrace is how long an Unlock waits for an answer after its context has ended. Contexts of the
// lease, and those that others have made of them, end with the lease, which is what Unlock does first.
const unlockGrace = time.Second

// locker is one lock on the server, by owner.
type locker interface {
	// acquire tries once. After an error of any kind the caller treats the outcome as
	// backend.MayHaveRun says.
	acquire(
		ctx context.Context, r backend.ScriptRunner, owner string,
	) (token int64, answer wait.Answer, err error)

	// release frees what owner holds, and nothing else: it may be repeated.
	release(ctx context.Context, r backend.ScriptRunner, owner string) (released bool, err error)

	// releaseAll is release for holds of locks of this kind, which in a cluster share a slot, by one
	// script.
	releaseAll(ctx context.Context, holds []*hold) ([]found, error)
}

// hold is one owner's hold on a lock: one key field on the server, one entry at the watchdog, and
// as many leases as have re-entered it.
type hold struct {
	renew.Hold
	of     object
	locker locker
	token  int64

	mu     sync.Mutex
	cause  error         // why all leases ended, if not by Unlock
	leases []*leaseState // those not released yet

	// These live here to be one allocation with their hold.
	first      Lease
	firstState leaseState
	single     [1]*leaseState
	sent       attended // the acquire, and after that the release
}

// newLease returns the first lease of h.
func (h *hold) newLease() *Lease {
	h.OnLost = h
	h.first.state = &h.firstState
	h.firstState.hold = h
	h.single[0] = &h.firstState
	h.leases = h.single[:]
	return &h.first
}

// try tries once to acquire. The watchdog knows of the hold from before the request is sent until it
// is refused or given back. After an error h is used again only if surely nothing was executed: else
// its owner may hold the lock.
func (h *hold) try(ctx context.Context) (wait.Answer, error) {
	keeper := h.of.client.keeper
	keeper.Begin(&h.Hold)
	held := false
	defer func() {
		if !held {
			keeper.End(&h.Hold) // Also if the driver has panicked.
		}
	}()
	token, answer, err := h.acquire(ctx)
	if err != nil || !answer.Granted {
		return answer, err
	}
	h.token = token
	if held = keeper.Confirm(&h.Hold); !held {
		h.giveBack(true)
		return wait.Answer{}, fmt.Errorf("granted too late: %w", h.of.client.lost())
	}
	return answer, nil
}

// acquire sends the request, and gives back what may be taken by one that nobody waits for.
func (h *hold) acquire(ctx context.Context) (token int64, answer wait.Answer, err error) {
	h.sent = attended{client: h.of.client, heir: (*acquiring)(h)}
	panicked := true
	defer func() {
		if panicked {
			h.giveBack(false)
		}
	}()
	token, answer, err = h.locker.acquire(ctx, &h.sent, h.Owner)
	panicked = false
	if err != nil && !h.sent.left {
		h.unwanted(false, err)
	}
	return token, answer, err
}

// acquiring is a hold whose acquire was left behind by its caller.
type acquiring hold

// inherit implements heir.
func (a *acquiring) inherit(r backend.ScriptRunner) {
	h := (*hold)(a)
	_, answer, err := h.locker.acquire(context.Background(), r, h.Owner)
	h.unwanted(answer.Granted, err)
}

// unwanted gives back what an acquire has taken, or may have, whose outcome nobody waits for.
func (h *hold) unwanted(granted bool, err error) {
	if granted || backend.MayHaveRun(err) {
		h.giveBack(!errors.Is(err, backend.ErrIndeterminate))
	}
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
	l := &leaseState{hold: h}
	h.leases = append(h.leases, l)
	return &Lease{state: l}, nil
}

// unlock releases l, and frees the lock if it was the last lease of h.
func (h *hold) unlock(ctx context.Context, l *leaseState) error {
	if err := h.of.client.enter(); err != nil {
		if _, cause := l.look(); cause != nil {
			err = cause // It may have ended before the client.
		} else {
			h.endAll(ErrClosed) // Close is about to, and gives back.
		}
		return fmt.Errorf("%w: %w", ErrNotHeld, err)
	}
	defer h.of.client.leave()
	grace := unlockGrace
	if ctx.Err() != nil {
		grace = 0
	}
	last, err := h.drop(l)
	if err != nil || !last {
		return err
	}
	if !h.of.client.keeper.End(&h.Hold) {
		h.giveBack(true)
		return fmt.Errorf("%w: %w", ErrNotHeld, h.of.client.lost())
	}
	return h.release(ctx, grace)
}

// drop ends l, and reports whether it was the last lease of h.
func (h *hold) drop(l *leaseState) (last bool, err error) {
	remaining := h.of.client.keeper.Remaining(&h.Hold)
	h.mu.Lock()
	if err := l.ended(remaining); err != nil {
		h.mu.Unlock()
		return false, fmt.Errorf("%w: %w", ErrNotHeld, err)
	}
	cancel := l.end(ErrReleased)
	h.leases = slices.DeleteFunc(h.leases, func(other *leaseState) bool { return other == l })
	last = len(h.leases) == 0
	h.mu.Unlock()
	cancel()
	return last, nil
}

// release frees the lock on the server. It is sent also if ctx has ended. If it may not have arrived
// it goes on in the background.
func (h *hold) release(ctx context.Context, grace time.Duration) error {
	h.sent = attended{client: h.of.client, heir: (*releasing)(h)}
	h.sent.Must, h.sent.Grace = true, grace
	panicked := true
	defer func() {
		if panicked {
			h.giveBack(true)
		}
	}()
	released, err := h.locker.release(ctx, &h.sent, h.Owner)
	panicked = false
	switch {
	case err == nil && released:
		return nil
	case err == nil:
		return fmt.Errorf("%w: %w", ErrNotHeld, ErrLost)
	case otherKind(err):
		return fmt.Errorf("%w: %w: %w", ErrNotHeld, ErrLost, err)
	case h.sent.left, errors.Is(err, backend.ErrClosed):
		return err
	}
	h.giveBack(true)
	if !backend.MayHaveRun(err) {
		err = fmt.Errorf("%w: %v", ErrIndeterminate, err) // It may run yet.
	}
	return err
}

// releasing is a hold whose release was left behind by its caller.
type releasing hold

// inherit implements heir.
func (r *releasing) inherit(runner backend.ScriptRunner) {
	h := (*hold)(r)
	_, err := h.locker.release(context.Background(), runner, h.Owner)
	if err != nil && !otherKind(err) && !errors.Is(err, backend.ErrClosed) {
		h.giveBack(true)
	}
}

// Lost implements [renew.Loser].
func (h *hold) Lost() {
	h.endAll(ErrLost)
	h.giveBack(true)
	if entry := h.of.client.opts.Logger.Check(zap.DebugLevel, "lease lost"); entry != nil {
		// The caller watches other leases too, and the logger may block.
		h.of.client.background(func(context.Context) { entry.Write(zapObject(h.of)...) })
	}
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
