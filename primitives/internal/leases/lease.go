// Package leases is what leases are made of: their contexts, re-entry, and leases of several objects as one. Package
// lease has what their holders use.
package leases

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// The errors of leases, which package lease describes.
var (
	ErrNotHeld      = errors.New("not held")
	ErrLost         = errors.New("lease lost")
	ErrReleased     = errors.New("lease released")
	ErrSelfDeadlock = errors.New("self-deadlock: the context is of a lease that excludes this call; " +
		"use Lease.Reenter, or release that lease first")
)

// Lease is what a lease.Lease is made of.
type Lease struct {
	_     noCopy
	state *state
}

// noCopy makes go vet report copies of a type that contains it. Source: https://go.dev/issues/8005.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// state is the state that all copies of a Lease share.
type state struct {
	group *Group

	// Guarded by group.mu.
	next        *state // of the group's leases that have not ended
	err         error
	done        chan struct{}                   // set by the first call of Done
	contextEnds map[<-chan struct{}]*contextEnd // of the contexts, by their parents' Done
}

// Context returns a child of parent that ends with the lease.
func (l *Lease) Context(parent context.Context) context.Context {
	return leaseContext{parent, l.state.contextEnd(parent)}
}

// Reenter returns a child of ctx that ends with the lease, and re-enters its hold.
func (l *Lease) Reenter(ctx context.Context) context.Context {
	outer, _ := ctx.Value(reentryKey{}).(*reentry)
	return context.WithValue(l.Context(ctx), reentryKey{}, l.state.group.reentry(outer))
}

// Done returns a channel that is closed when the lease ends.
func (l *Lease) Done() <-chan struct{} {
	s := l.state
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	if s.done == nil {
		s.done = make(chan struct{})
		if s.err != nil {
			close(s.done)
		}
	}
	return s.done
}

// Check returns the rest of the lease, or the reason of its end.
func (l *Lease) Check() (time.Duration, error) { return l.state.check() }

func (s *state) check() (time.Duration, error) {
	remaining, lost := s.group.target.Remaining()
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	if err := s.endCause(lost); err != nil {
		return 0, err
	}
	return remaining, nil
}

// endCause returns the reason of the lease's end, or nil if it has not ended. If it has not ended
// yet, but is lost, another goroutine may be about to end it: then endCause returns lost. The
// caller holds group.mu.
func (s *state) endCause(lost error) error { return cmp.Or(s.err, lost) }

// Target returns what l holds, or nil if no group has made l.
func (l *Lease) Target() Target {
	if l == nil || l.state == nil {
		return nil
	}
	return l.state.group.target
}

// Release ends the lease, and waits for the answer as given.
func (l *Lease) Release(ctx context.Context, wait ReleaseWait) error {
	held := l.state.group.target
	return held.Describe(ctx, "release", held.Release(ctx, l, wait))
}

// end ends the lease. It returns a function that ends the lease's contexts. The caller calls that
// function after it has released group.mu.
func (s *state) end(cause error) (cancel func()) {
	s.err = cause
	if s.done != nil {
		close(s.done)
	}
	endings := s.contextEnds
	s.contextEnds = nil
	return func() {
		for _, e := range endings {
			e.stopDetach()
			e.cancel(cause)
		}
	}
}

// leaseContext is a child of its parent that ends with a lease. It is a value, so the contexts
// of one parent are equal. The lease keeps only its contextEnd.
type leaseContext struct {
	context.Context //nolint:containedctx // It is a context.
	*contextEnd
}

// contextEnd ends the contexts of one lease whose parents have the same Done channel. Such parents
// end together: a context, and contexts that only add values to it.
type contextEnd struct {
	lease      *state
	ctx        context.Context //nolint:containedctx // It is part of a context.
	cancel     context.CancelCauseFunc
	stopDetach func() bool // stops waiting for the parents' end
}

func (c leaseContext) Done() <-chan struct{} { return c.ctx.Done() }

// Err implements [context.Context]. It reads the clock before it returns nil.
func (c leaseContext) Err() error {
	if _, err := c.lease.check(); err != nil {
		// The goroutine that found the loss may not have ended this context yet.
		c.cancel(err)
	}
	return c.ctx.Err()
}

// Value implements [context.Context]. With a private key, package context asks for the context
// whose children end with this one: that is the contextEnd's. All other values are the parent's.
func (c leaseContext) Value(key any) any {
	if valueless.Value(key) != nil {
		return c.ctx.Value(key)
	}
	switch of := key.(type) {
	case leaseOf:
		if c.lease.group.target.Covers(of.id) {
			return c.lease
		}
	case anyLease:
		return c.lease
	}
	return c.Context.Value(key)
}

// anyLease is the key of the innermost lease of a context.
type anyLease struct{}

// From returns the innermost lease of which ctx is a context, or nil.
func From(ctx context.Context) *Lease {
	s, _ := ctx.Value(anyLease{}).(*state)
	if s == nil {
		return nil
	}
	return &Lease{state: s}
}

// valueless has a value only for the private key of package context.
var valueless, _ = context.WithCancel(context.Background())

func (s *state) contextEnd(parent context.Context) *contextEnd {
	done := parent.Done()
	_, lost := s.group.target.Remaining()
	s.group.mu.Lock()
	e, err := s.contextEnds[done], s.endCause(lost)
	s.group.mu.Unlock()
	if e == nil {
		e = s.newContextEnd(parent)
		if err == nil {
			e, err = s.attach(done, e)
		}
	}
	if err != nil {
		e.cancel(err)
	}
	return e
}

func (s *state) newContextEnd(parent context.Context) *contextEnd {
	if parent.Done() == nil {
		parent = context.Background() // It needs none of parent's values, and may outlive it.
	}
	e := &contextEnd{lease: s}
	e.ctx, e.cancel = context.WithCancelCause(parent)
	return e
}

// attach makes e end with the lease, and returns it. If another goroutine has just attached a
// contextEnd, attach returns that one instead. It returns an error if the lease has ended.
func (s *state) attach(done <-chan struct{}, e *contextEnd) (*contextEnd, error) {
	s.group.mu.Lock()
	err, other := s.err, s.contextEnds[done]
	if err == nil && other == nil && e.ctx.Err() == nil {
		if s.contextEnds == nil {
			s.contextEnds = make(map[<-chan struct{}]*contextEnd)
		}
		s.contextEnds[done] = e
		e.stopDetach = context.AfterFunc(e.ctx, func() { s.detach(done) })
	}
	s.group.mu.Unlock()
	if other != nil {
		e.cancel(nil)
		return other, nil
	}
	return e, err
}

// detach removes the contextEnd of parents that have ended.
func (s *state) detach(done <-chan struct{}) {
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	delete(s.contextEnds, done)
}

const (
	// releaseGrace is how long a Release waits for an answer after its context has ended. Release first
	// ends the lease and the lease's contexts. Its own context may be one of these.
	releaseGrace = time.Second

	// A Do waits for the answer to its release for a tenth of the lease, within these bounds. They leave
	// time for the second of grace that a release has after its context has ended.
	minReleaseWait = releaseGrace
	maxReleaseWait = 3 * time.Second
)

// ReleaseWait says how long a caller waits for the answer to its release.
type ReleaseWait struct {
	Grace   time.Duration // after its context has ended
	bounded bool          // and in any case for no longer than a Do waits
}

// Within returns the longest wait for the release of a hold with the given lease; 0: only a context
// bounds it.
func (w ReleaseWait) Within(lease time.Duration) time.Duration {
	if !w.bounded {
		return 0
	}
	return min(max(lease/10, minReleaseWait), maxReleaseWait)
}

// WaitOfDo is the wait of a Do.
var WaitOfDo = ReleaseWait{Grace: releaseGrace, bounded: true}

// WaitAfter returns the wait of a Release under ctx, which does not wait if ctx has ended before.
func WaitAfter(ctx context.Context) ReleaseWait {
	if ctx.Err() != nil {
		return ReleaseWait{}
	}
	return ReleaseWait{Grace: releaseGrace}
}
