package lease

import (
	"context"
	"time"
)

// Lease is one acquisition of a lock, or of another object that has owners. Its holder uses it to
// work while it holds the lock, and to release the lock. It is safe for concurrent use. Pass it as
// a pointer: a copy is the same lease, and go vet reports copies.
// The methods of a nil Lease, and of a Lease that no object has returned, panic.
//
// A lease ends once: by Release (cause [ErrReleased]), by its loss (cause [*LossError]), or with its
// client (cause [backend.ErrClosed]). It is lost when its length, minus the clock drift, has passed
// since the request that granted or last renewed it was sent: by the clock, even if the network
// hangs. It is also lost if a renewal finds that the server no longer has it. A loss is final.
// After a loss the client sends a release, because the server may still have the owner.
//
// Source: docs/guarantees.md; the reasons are in docs/internals/design.md, "Lease".
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

// Context returns a child of parent that ends with the lease, with the cause [*LossError],
// [ErrReleased] or [backend.ErrClosed]. Use such a context for the work that needs the lease. The
// end of the context that bounded the waiting for the lock does not end it, unless that context is
// its parent. A call that waits for the same lock under such a context returns [ErrSelfDeadlock].
//
// For the same parent, Context returns the same context: it may be called again for each piece of
// work. A lease keeps no reference to a parent that has ended, and a parent keeps none to a lease
// that has ended.
func (l *Lease) Context(parent context.Context) context.Context {
	return leaseContext{parent, l.state.contextEnd(parent)}
}

// Reenter returns a child of ctx, like Context. Under it, Lock and TryLock of a lock of the same
// client, kind and name re-enter this lease's hold, instead of waiting for its release. There is no
// other way to re-enter. Goroutines that share such a context are one holder, and do not exclude
// each other.
//
// The client counts the leases of one hold. The server has only one hold, with one lease length, so
// an inner lock must have the same lease options. Release each lease once. The last release
// frees the lock.
func (l *Lease) Reenter(ctx context.Context) context.Context {
	outer, _ := ctx.Value(reentryKey{}).(*reentry)
	return context.WithValue(l.Context(ctx), reentryKey{}, l.state.group.reentry(outer))
}

// Done returns a channel that is closed when the lease ends. After a pause of the process it may be
// closed a moment late: call Err if you must be sure.
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

// Err returns nil while the lease is held, and later a [*LossError], [ErrReleased] or an error that
// matches [backend.ErrClosed]. It reads the clock: if the process was paused until after the end of
// the lease, Err returns a LossError at once.
func (l *Lease) Err() error {
	_, err := l.state.check()
	return err
}

// Remaining returns how long the holder may still trust the lease if it is not renewed, or 0 if it
// has ended. Like Err it reads the clock.
func (l *Lease) Remaining() time.Duration {
	remaining, _ := l.state.check()
	return remaining
}

// check returns the rest of the lease, or the reason of its end.
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
func (s *state) endCause(lost error) error {
	if s.err == nil {
		return lost
	}
	return s.err
}

// Token returns the fencing token of the grant. It is higher than the tokens of all earlier grants
// of the same name, within the limits that docs/guarantees.md states. A holder claims
// what it reads with the token. The resource then refuses claims under lower tokens, and writes under
// any other token. So it is safe from holders that have lost their lease without noticing, once the
// next holder has read. A check at the write alone is not enough: docs/guarantees.md has the reason,
// and the statements. A re-entered lease has the same token.
//
// A read lease has the token of the writer before it, and does not rise from reader to reader. A
// resource that a later writer has claimed refuses both. A lease with parts has the token 0, since independent servers have no common order:
// send the token of one part to a resource that compares it only with tokens of the same part.
//
// If several owners hold an object at once, no token is a fence. The token of a counting semaphore
// is the time of the grant, and the token of a permit semaphore is 0.
func (l *Lease) Token() int64 {
	_, token := l.state.group.target.Identity()
	return token
}

// Owner returns the holder's name on the server, for IsHeldBy and HoldCount of a lock. No other
// acquisition has the same owner. For a lease with parts it is "": each part has an owner of its
// own. For permits the owner is the sequence of their ids, as bytes.
func (l *Lease) Owner() string {
	owner, _ := l.state.group.target.Identity()
	return owner
}

// Release ends the lease and its contexts. If no re-entered lease is left, it also stops the
// renewals and frees the lock. A nil error proves that the lock was held until then, except after a
// failover.
//
// ctx bounds only the waiting for the answer. If ctx had ended before the call, Release still sends
// the release, and does not wait. If ctx ends later, Release waits for up to a second more, because
// ctx may be a context of this lease, or a child of it, which Release itself ends. If the release
// may not have arrived, the client repeats it in the background, for up to one lease. Without an
// answer, the error wraps [backend.ErrIndeterminate] and ctx's error. After a server's refusal, or
// [backend.ErrClosed] without [ErrNotHeld], the lock may stay held until its lease ends.
//
// If the lease had ended before, Release frees nothing and returns an error that wraps [ErrNotHeld]
// and the reason of that end: [ErrLost], [ErrReleased] or [backend.ErrClosed]. With ErrClosed the
// client's Close has released the lock, or tries to. An [github.com/hasp-go/hasp/primitives.ErrConflict] without ErrNotHeld names another key
// of the object, such as a queue that another program overwrote: then the lock is free.
func (l *Lease) Release(ctx context.Context) error {
	return l.release(ctx, waitAfter(ctx))
}

// release is Release that waits for the answer as given.
func (l *Lease) release(ctx context.Context, wait ReleaseWait) error {
	held := l.state.group.target
	return held.Describe(ctx, "release", held.Release(ctx, l, wait))
}

// Extend makes a lease of a fixed length last for d from now on, by the server's clock, for longer
// or shorter than before. It takes one round trip. All leases of one hold ([Lease.Reenter]) have
// the same length. A lease with parts extends them all: a MultiLock needs each of them, a RedLock a
// majority of the nodes. d is in whole milliseconds, at least 100 ms. If the watchdog renews the
// lease, or d is less, Extend sends nothing and returns a [*github.com/hasp-go/hasp/primitives.FieldError]. If d is shorter than the
// rest of the lease, the server may keep a ReadWriteLock for that rest.
//
// Nil means that the server has extended the lease. [Lease.Remaining] counts from the sending of
// the request. If the server no longer has the holder, l is lost, and the error wraps [ErrNotHeld]
// and [ErrLost]. If l had ended before, Extend sends nothing, and the error wraps ErrNotHeld and
// the reason of that end. After any other error the lease ends when it would have ended, or d after
// the call if that is earlier, and Extend may be called again. If the outcome is unknown
// ([backend.ErrIndeterminate]), the server may still execute the request. Then the holder trusts a
// later Extend for no longer than d.
func (l *Lease) Extend(ctx context.Context, d time.Duration) error {
	return l.state.group.target.Extend(ctx, l, d)
}

// Forget ends the lease and its renewals, but sends no release. Use it if a script has released the
// lease already, for example a barrier's when its last party arrives, or if the object is to stay
// held until the lease ends on the server. The contexts of the lease, and of its re-entered leases,
// end with the cause [ErrReleased]. If the lease had ended before, Forget does nothing.
func (l *Lease) Forget() { l.state.group.target.Forget() }

// Parts returns the leases of which this lease consists. For a MultiLock there is one part for each
// of its locks, in their order. For a RedLock there is one part for each node, in their order, with
// nil for a node on which the lock is not held at present. Each part has an owner and a token of
// its own. A lease of any other object has no parts.
func (l *Lease) Parts() []*Lease { return l.state.group.target.Parts() }

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

// From returns the lease of which ctx is a context, for code that gets only a context: the lease whose [Lease.Context]
// or [Lease.Reenter] ctx is, or is a child of, even if that lease has ended. Of several it is the innermost, and
// without one it is nil. Inside Do it is the lease of Do, which Do releases.
func From(ctx context.Context) *Lease {
	s, _ := ctx.Value(anyLease{}).(*state)
	if s == nil {
		return nil
	}
	return &Lease{state: s}
}

// valueless has a value only for the private key of package context.
var valueless, _ = context.WithCancel(context.Background())

// contextEnd returns the contextEnd of parent's children.
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
