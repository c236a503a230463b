package extend

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// holder has the leases of what is held: the first, and one for each re-entry.
type holder struct {
	held held

	mu     sync.Mutex
	cause  error       // why all leases ended, if not by Unlock
	leases *leaseState // the first of those that have not ended

	// These are here to be one allocation with the holder.
	first      Lease
	firstState leaseState
}

// held is what leases hold: an object on one server, or several leases as one.
type held interface {
	// remaining returns how long it may still be trusted. Once that time has passed, remaining returns
	// the cause: [ErrLost], or [backend.ErrClosed]. The leases end then, if they have not.
	remaining() (time.Duration, error)

	// unlock ends l. If it was the last lease, unlock releases what is held. It waits for the answer until
	// ctx ends, and for the grace after that.
	unlock(ctx context.Context, l *leaseState, grace time.Duration) error

	// forget ends all leases without a release: the server has released what was held by itself.
	forget()

	// identity returns what [Lease.Owner] and [Lease.Token] do.
	identity() (owner string, token int64)

	// parts returns what [Lease.Parts] does.
	parts() []*Lease

	// reentry adds what is held to that which a context re-enters.
	reentry(outer *reentry) *reentry

	// describe adds the operation and the object to an error.
	describe(ctx context.Context, operation string, err error) error
}

// init makes r the holder of what is held, by its first lease, which it returns.
func (r *holder) init(what held) *Lease {
	r.held = what
	r.first.state = &r.firstState
	r.firstState.holder = r
	r.leases = &r.firstState
	return &r.first
}

// isHeld reports whether a lease has not ended.
func (r *holder) isHeld() bool {
	_, lost := r.held.remaining()
	r.mu.Lock()
	defer r.mu.Unlock()
	return lost == nil && r.leases != nil
}

// endLease ends l, and reports whether it was the last lease.
func (r *holder) endLease(l *leaseState) (last bool, err error) {
	_, lost := r.held.remaining()
	r.mu.Lock()
	if err := l.endCause(lost); err != nil {
		r.mu.Unlock()
		return false, fmt.Errorf("%w: %w", ErrNotHeld, err)
	}
	cancel := l.end(ErrReleased)
	r.remove(l)
	last = r.leases == nil
	r.mu.Unlock()
	cancel()
	return last, nil
}

// remove removes l from those that have not ended. The caller holds mu.
func (r *holder) remove(l *leaseState) {
	at := &r.leases
	for *at != l {
		at = &(*at).next
	}
	*at = l.next
}

// endAll ends all leases.
func (r *holder) endAll(cause error) {
	r.mu.Lock()
	r.cause = cause
	var cancels []func()
	for l := r.leases; l != nil; l = l.next {
		cancels = append(cancels, l.end(cause))
	}
	r.leases = nil
	r.mu.Unlock()
	for _, cancel := range cancels {
		cancel()
	}
}
