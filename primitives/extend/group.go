package extend

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// leaseGroup has the leases of one target: the first lease, and one lease for each re-entry.
type leaseGroup struct {
	target target

	mu     sync.Mutex
	cause  error       // the reason why all leases ended, if not by Release
	leases *leaseState // the first lease that has not ended

	// These are here to be one allocation with the group.
	first      Lease
	firstState leaseState
}

// target is held by the leases of a group: an object on one server, or several leases as one.
type target interface {
	// remaining returns how long the holder may still trust the hold. Once that time has passed,
	// remaining ends the leases, if they have not ended, and returns the cause: [ErrLost], or
	// an error that matches [backend.ErrClosed].
	remaining() (time.Duration, error)

	// releaseLease ends l. If l was the last lease, it releases the target, and waits for the answer.
	releaseLease(ctx context.Context, l *leaseState, wait releaseWait) error

	// checkExtension returns a [*FieldError] if a lease of the target cannot be made to last for d.
	checkExtension(d time.Duration) error

	// extendLease makes the target be held for d from now on, unless l has ended.
	extendLease(ctx context.Context, l *leaseState, d time.Duration) error

	// forget ends all leases without a release.
	forget()

	// identity returns the results of [Lease.Owner] and [Lease.Token].
	identity() (owner string, token int64)

	// parts returns the result of [Lease.Parts].
	parts() []*Lease

	// covers reports whether the hold includes o, or excludes all owners of o.
	covers(o *Object) bool

	// reentry adds the held objects to the list of holds that a context re-enters.
	reentry(outer *reentry) *reentry

	// describe adds the operation and the object to an error.
	describe(ctx context.Context, operation string, err error) error
}

// init makes g the group of t, and returns its first lease.
func (g *leaseGroup) init(t target) *Lease {
	g.target = t
	g.first.state = &g.firstState
	g.firstState.group = g
	g.leases = &g.firstState
	return &g.first
}

// isHeld reports whether there is a lease that has not ended.
func (g *leaseGroup) isHeld() bool {
	_, lost := g.target.remaining()
	g.mu.Lock()
	defer g.mu.Unlock()
	return lost == nil && g.leases != nil
}

// endLease ends l, and reports whether it was the last lease.
func (g *leaseGroup) endLease(l *leaseState) (last bool, err error) {
	_, lost := g.target.remaining()
	g.mu.Lock()
	if err := l.endCause(lost); err != nil {
		g.mu.Unlock()
		return false, fmt.Errorf("%w: %w", ErrNotHeld, err)
	}
	cancel := l.end(ErrReleased)
	g.remove(l)
	last = g.leases == nil
	g.mu.Unlock()
	cancel()
	return last, nil
}

// remove removes l from the leases that have not ended. The caller holds mu.
func (g *leaseGroup) remove(l *leaseState) {
	at := &g.leases
	for *at != l {
		at = &(*at).next
	}
	*at = l.next
}

// endAll ends all leases that have not ended, and reports whether there were any.
func (g *leaseGroup) endAll(cause error) bool {
	g.mu.Lock()
	var cancels []func()
	for l := g.leases; l != nil; l = l.next {
		cancels = append(cancels, l.end(cause))
	}
	if cancels != nil {
		g.cause, g.leases = cause, nil
	}
	g.mu.Unlock()
	for _, cancel := range cancels {
		cancel()
	}
	return cancels != nil
}
