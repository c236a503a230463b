package extend

import (
	"context"
	"time"
)

// Lease is one acquisition of a lock, or of another object that has owners. Its holder asks it whether
// it still holds the lock, and releases the lock by it. It is safe for concurrent use. Pass it on as a
// pointer: a copy is the same lease, and go vet reports it.
//
// A lease ends once, by Release (cause [ErrReleased]), by its loss (cause [ErrLost]) or with its
// client (cause [backend.ErrClosed]). It is lost when its time, less the clock drift, has passed since
// the request that granted or last renewed it was sent: by the clock, even if the network hangs. Loss
// is final; one release is sent in case that the server still has the owner.
//
// Source: docs/guarantees.md; the reasons are in docs/design.md, "Lease".
type Lease struct {
	_     noCopy
	state *leaseState
}

// noCopy makes go vet report copies of what contains it. Source: https://go.dev/issues/8005.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// leaseState is what all copies of a Lease share.
type leaseState struct {
	group *leaseGroup

	// Guarded by group.mu.
	next        *leaseState // of those of the group that have not ended
	err         error
	done        chan struct{}                   // made by the first call of Done
	contextEnds map[<-chan struct{}]*contextEnd // of the contexts, by their parents' Done
}

// Context returns a child of parent that ends with the lease: its cause is then [ErrLost],
// [ErrReleased] or [backend.ErrClosed]. Use such a context for the work that needs the lease. The
// context that bounded the waiting for the lock does not end it.
//
// The same parent gets the same context: Context may be called again for each piece of work. The
// lease keeps nothing of a parent that has ended, and the parent nothing of a lease that has.
func (l *Lease) Context(parent context.Context) context.Context {
	return leaseContext{parent, l.state.contextEnd(parent)}
}

// Reenter returns a child of ctx as Context does, under which Lock and TryLock of the same client,
// kind and name re-enter this lease's hold instead of excluding it. It is the only way to re-enter:
// goroutines that share such a context are one holder and do not exclude each other.
//
// Holds are counted in the process; the server sees one, with one lease length, so that an inner
// lock must have the same lease options. Each lease is released once, and the last one frees the
// lock.
func (l *Lease) Reenter(ctx context.Context) context.Context {
	outer, _ := ctx.Value(reentryKey{}).(*reentry)
	return context.WithValue(l.Context(ctx), reentryKey{}, l.state.group.target.reentry(outer))
}

// Done returns a channel that is closed when the lease ends. After a pause of the process it may be
// closed a moment late: code that must be sure calls Err.
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

// Err returns nil while the lease is held, else [ErrLost], [ErrReleased] or [backend.ErrClosed]. It reads
// the clock: after a pause of the process that outlasted the lease, it returns ErrLost at once.
func (l *Lease) Err() error {
	_, err := l.state.check()
	return err
}

// Remaining returns how long the lease may still be trusted if it is not renewed, and 0 once it has
// ended. Like Err it reads the clock.
func (l *Lease) Remaining() time.Duration {
	remaining, _ := l.state.check()
	return remaining
}

// check returns what remains of the lease, or why it ended.
func (s *leaseState) check() (time.Duration, error) {
	remaining, lost := s.group.target.remaining()
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	if err := s.endCause(lost); err != nil {
		return 0, err
	}
	return remaining, nil
}

// endCause returns why the lease has ended, given the loss that another goroutine may be about to end it
// for; nil: it has not ended. The caller holds group.mu.
func (s *leaseState) endCause(lost error) error {
	if s.err == nil {
		return lost
	}
	return s.err
}

// Token returns the fencing token of the grant: it is higher than that of every earlier grant of
// the same name, as far as docs/guarantees.md says. A resource that refuses tokens lower than the
// highest it has seen is safe from holders that do not know of their loss. Re-entry keeps the token.
// A reader has the token of the writer before it: a resource that has seen a later writer refuses both.
// A lease of permits has the token 0, since several hold at once.
// A lease with parts has the token 0: servers that do not know of each other have no common order, so
// that only each part's token says something, to the resource that compares it with others of that part.
// Where several hold at once no token is a fence: a counting semaphore's is the time of the grant, and a
// permit semaphore's is 0.
func (l *Lease) Token() int64 {
	_, token := l.state.group.target.identity()
	return token
}

// Owner returns the holder's name on the server, for IsHeldBy and HoldCount of a lock. No other
// acquisition has the same owner. It is "" for a lease with parts, each of which has its own. Of permits
// it is their ids, as bytes.
func (l *Lease) Owner() string {
	owner, _ := l.state.group.target.identity()
	return owner
}

// Release ends the lease and its contexts, and then, if no re-entered lease is left, stops renewing
// and frees the lock. A nil error proves that the lock was held to the end, failover apart.
//
// ctx bounds only the waiting for the answer. It may be one of this lease's own contexts, or one made
// from it, which Release ends: if ctx ends after Release was called, Release waits for up to a second
// more. If ctx had ended before, Release sends the release all the same and does not wait. The release is
// repeated in the background, for up to one lease, if it may not have arrived. Without an answer the error
// wraps [backend.ErrIndeterminate] and ctx's. After
// [backend.ErrClosed], or a server's refusal, the lock may stay until its lease ends.
//
// If the lease had ended before, Release frees nothing and returns an error that wraps [ErrNotHeld]
// and what had ended it: [ErrLost], [ErrReleased] or [backend.ErrClosed].
func (l *Lease) Release(ctx context.Context) error {
	grace := releaseGrace
	if ctx.Err() != nil {
		grace = 0
	}
	return l.release(ctx, grace)
}

// release is Release with another grace than usual.
func (l *Lease) release(ctx context.Context, grace time.Duration) error {
	held := l.state.group.target
	return held.describe(ctx, "release", held.releaseLease(ctx, l.state, grace))
}

// Forget ends the lease and stops renewing it, but sends no release. Use it if the server has released the
// lease by itself, as a barrier does when its last party arrives, or if the object is to stay taken until the
// lease ends on the server. The lease's contexts end with the cause [ErrReleased], and so do those of its
// re-entered leases. If the lease had ended before, Forget does nothing.
func (l *Lease) Forget() { l.state.group.target.forget() }

// Parts returns the leases that this one consists of: of a MultiLock one for each of its locks, of a
// RedLock one for each node, in their order, with nil for a node on which the lock is not held at present.
// Each has an owner and a token of its own. A lease of any other object has no parts.
func (l *Lease) Parts() []*Lease { return l.state.group.target.parts() }

// end ends the lease. It returns a function that ends the lease's contexts, which the caller calls
// after it has released group.mu.
func (s *leaseState) end(cause error) (cancel func()) {
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

// leaseContext is a child of its parent that ends with a lease. It is a value, so that the contexts
// of one parent are equal. The lease keeps its contextEnd alone.
type leaseContext struct {
	context.Context //nolint:containedctx // It is a context.
	*contextEnd
}

// contextEnd ends those contexts of one lease whose parents have the same Done channel, and so end
// together: as a context and those that only add values to it.
type contextEnd struct {
	lease      *leaseState
	ctx        context.Context //nolint:containedctx // It is part of a context.
	cancel     context.CancelCauseFunc
	stopDetach func() bool // stops waiting for the parents' end
}

// Done implements [context.Context].
func (c leaseContext) Done() <-chan struct{} { return c.ctx.Done() }

// Err implements [context.Context]. It reads the clock before it returns nil.
func (c leaseContext) Err() error {
	if _, err := c.lease.check(); err != nil {
		// The goroutine that found the loss may not have ended this context yet.
		c.cancel(err)
	}
	return c.ctx.Err()
}

// Value implements [context.Context]. By a key of its own package context asks for the context whose
// children end with this one: that is the contextEnd's. All other values are those of the parent.
func (c leaseContext) Value(key any) any {
	if valueless.Value(key) != nil {
		return c.ctx.Value(key)
	}
	return c.Context.Value(key)
}

// valueless has no value but for the key by which package context asks.
var valueless, _ = context.WithCancel(context.Background())

// contextEnd returns the contextEnd of parent's children.
func (s *leaseState) contextEnd(parent context.Context) *contextEnd {
	done := parent.Done()
	_, lost := s.group.target.remaining()
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

func (s *leaseState) newContextEnd(parent context.Context) *contextEnd {
	if parent.Done() == nil {
		parent = context.Background() // It needs none of parent's values, and may outlive it.
	}
	e := &contextEnd{lease: s}
	e.ctx, e.cancel = context.WithCancelCause(parent)
	return e
}

// attach makes e end with the lease, and returns it, unless another goroutine has just attached one:
// then it returns that. It returns an error if the lease has ended.
func (s *leaseState) attach(done <-chan struct{}, e *contextEnd) (*contextEnd, error) {
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
func (s *leaseState) detach(done <-chan struct{}) {
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	delete(s.contextEnds, done)
}

// reentryKey is the key of a context's *reentry.
type reentryKey struct{}

// reentry is a list of the holds that a context re-enters, the innermost first.
type reentry struct {
	hold  *hold
	outer *reentry
}

// reentered returns the hold of o that ctx re-enters, or nil.
func reentered(ctx context.Context, o *Object) *hold {
	r, _ := ctx.Value(reentryKey{}).(*reentry)
	for ; r != nil; r = r.outer {
		if r.hold.object.same(o) {
			return r.hold
		}
	}
	return nil
}

// Holder returns the owner of a lease of o that ctx re-enters ([Lease.Reenter]), or "" if there is none
// that still holds. An object uses it whose owners may hold another one, and must not wait for
// themselves there.
func (o *Object) Holder(ctx context.Context) string {
	r, _ := ctx.Value(reentryKey{}).(*reentry)
	for ; r != nil; r = r.outer {
		if r.hold.object.same(o) && r.hold.isHeld() {
			return r.hold.Owner
		}
	}
	return ""
}
