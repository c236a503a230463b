package leases

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Group has the leases of one target: the first lease, and one lease for each re-entry. A hold embeds it, so
// a hold, its group and its first lease are one allocation. Init must be called first.
type Group struct {
	target Target

	mu     sync.Mutex
	cause  error  // the reason why all leases ended, if not by Release
	leases *state // the first lease that has not ended

	// These are here to be one allocation with the group.
	first      Lease
	firstState state
}

// Target is what the leases of a group hold: an object on one server, or several leases as one.
type Target interface {
	// Is reports whether the target is a hold of the object.
	Is(id *ID) bool

	// Covers reports whether the hold includes the object, or excludes all owners of it.
	Covers(id *ID) bool

	// Identity returns the results of a lease's Owner and Token.
	Identity() (owner string, token int64)

	// Parts returns the result of a lease's Parts.
	Parts() []*Lease

	// Remaining returns how long the holder may still trust the hold. Once that time has passed,
	// Remaining ends the leases, if they have not ended, and returns the cause: a *lease.LossError, or
	// an error that matches [backend.ErrClosed].
	Remaining() (time.Duration, error)

	// Release ends l. If l was the last lease, it releases the target, and waits for the answer.
	Release(ctx context.Context, l *Lease, wait ReleaseWait) error

	// CheckExtension returns an error of the argument if a lease of the target cannot be made to last for d.
	CheckExtension(d time.Duration) error

	// Extend makes the target be held for d from now on, unless l has ended.
	Extend(ctx context.Context, l *Lease, d time.Duration) error

	// Forget ends all leases without a release.
	Forget()

	// Describe adds the operation and the object to an error.
	Describe(ctx context.Context, operation string, err error) error
}

// Init makes g the group of t, with its first lease.
func (g *Group) Init(t Target) {
	g.target = t
	g.first.state = &g.firstState
	g.firstState.group = g
	g.leases = &g.firstState
}

// First returns the first lease.
func (g *Group) First() *Lease { return &g.first }

// Another returns another lease of g, for an inner call. If all leases were released, it returns nil and no
// error: then the inner call acquires the object itself. If they ended otherwise, it returns the cause. If
// invalid, the error of the inner call's options, is not nil, and g is held, Another returns it.
func (g *Group) Another(invalid error) (*Lease, error) {
	_, lost := g.target.Remaining()
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.cause != nil:
		return nil, g.cause
	case g.leases == nil:
		return nil, nil //nolint:nilnil // Documented above.
	case lost != nil:
		return nil, lost
	case invalid != nil:
		return nil, invalid
	}
	l := &state{group: g, next: g.leases}
	g.leases = l
	return &Lease{state: l}, nil
}

// Guard calls do. Meanwhile no other Guard of g runs, and no lease of g ends.
func (g *Group) Guard(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	do()
}

// isHeld reports whether there is a lease that has not ended.
func (g *Group) isHeld() bool {
	_, lost := g.target.Remaining()
	g.mu.Lock()
	defer g.mu.Unlock()
	return lost == nil && g.leases != nil
}

// EndLease ends l, a lease of g, and reports whether it was the last lease. If l had ended before, the error
// wraps [ErrNotHeld] and the reason.
func (g *Group) EndLease(l *Lease) (last bool, err error) {
	_, lost := g.target.Remaining()
	g.mu.Lock()
	s := l.state
	if err := s.endCause(lost); err != nil {
		g.mu.Unlock()
		return false, fmt.Errorf("%w: %w", ErrNotHeld, err)
	}
	cancel := s.end(ErrReleased)
	g.remove(s)
	last = g.leases == nil
	g.mu.Unlock()
	cancel()
	return last, nil
}

// remove removes s from the leases that have not ended. The caller holds mu.
func (g *Group) remove(s *state) {
	at := &g.leases
	for *at != s {
		at = &(*at).next
	}
	*at = s.next
}

// EndAll ends all leases that have not ended, and reports whether there were any.
func (g *Group) EndAll(cause error) bool {
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
