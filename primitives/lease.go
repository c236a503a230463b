package primitives

import (
	"context"
	"time"
)

// Lease is one acquisition of a lock: what its holder may believe, and how it gives the lock back.
// It is safe for concurrent use.
//
// A lease ends once, by Unlock (cause [ErrReleased]), by its loss (cause [ErrLost]) or with its
// client (cause [ErrClosed]). It is lost at the last confirmed end of the lease less the allowance,
// counted from before the request that granted or renewed it was sent: by the clock, not by what
// the network does. Loss is final; one release is sent for what the server may still hold.
//
// Source: docs/guarantees.md; the reasons are in docs/design.md, "Lease".
type Lease struct {
	hold *hold

	// Guarded by hold.mu.
	err      error
	done     chan struct{}                 // made when first asked for
	contexts map[*leaseContext]func() bool // what stops watching the parent, or nil
}

// Context returns a child of parent that ends with the lease: its cause is then [ErrLost],
// [ErrReleased] or [ErrClosed]. Work done under the lease belongs under such a context. The context
// that bounded the waiting for the lock has no part in it.
func (l *Lease) Context(parent context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(parent)
	c := &leaseContext{Context: ctx, lease: l, cancel: cancel}
	if err := l.attach(c); err != nil {
		cancel(err)
		return c
	}
	if parent.Done() != nil {
		l.watch(parent, c)
	}
	return c
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
	return context.WithValue(l.Context(ctx), reentryKey{}, &reentry{hold: l.hold, outer: outer})
}

// Done returns a channel that is closed when the lease ends. After a pause of the process it may be
// closed a moment late: code that has to be sure asks Err.
func (l *Lease) Done() <-chan struct{} {
	l.hold.mu.Lock()
	defer l.hold.mu.Unlock()
	if l.done == nil {
		l.done = make(chan struct{})
		if l.err != nil {
			close(l.done)
		}
	}
	return l.done
}

// Err returns nil while the lease is held, else [ErrLost], [ErrReleased] or [ErrClosed]. It reads
// the clock: a process that was stopped past the end of its lease is told so at once.
func (l *Lease) Err() error {
	_, err := l.look()
	return err
}

// Remaining returns how long the lease may still be trusted if it is not renewed, and 0 once it has
// ended. Like Err it reads the clock.
func (l *Lease) Remaining() time.Duration {
	remaining, _ := l.look()
	return remaining
}

// look returns what remains of the lease, or why it ended.
func (l *Lease) look() (time.Duration, error) {
	remaining := l.hold.of.client.keeper.Remaining(&l.hold.Hold)
	l.hold.mu.Lock()
	defer l.hold.mu.Unlock()
	if err := l.ended(remaining); err != nil {
		return 0, err
	}
	return remaining, nil
}

// ended returns why l has ended, given what the keeper says remains. The caller holds hold.mu.
func (l *Lease) ended(remaining time.Duration) error {
	if l.err == nil && remaining <= 0 {
		// Another goroutine has just found that out, and is about to end the lease.
		return l.hold.of.client.lost()
	}
	return l.err
}

// Token returns the fencing token of the grant: it is higher than that of every earlier grant of
// the same name, as far as docs/guarantees.md says. A resource that refuses tokens lower than the
// highest it has seen is safe from holders that do not know of their loss. Re-entry does not raise
// it.
func (l *Lease) Token() int64 { return l.hold.token }

// Owner returns the holder's name on the server, for [Lock.IsHeldBy] and [Lock.HoldCount]. It is
// used for this hold alone.
func (l *Lease) Owner() string { return l.hold.Owner }

// Unlock ends the lease and its contexts, and then, if no re-entered lease is left, stops renewing
// and frees the lock. A nil error proves that the lock was held to the end, failover apart.
//
// ctx bounds only the waiting for the answer. It may be one of this lease's own contexts, whose end
// by Unlock then does not count. The release is sent also if ctx is done, and repeated in the
// background, for up to one lease, if it may not have arrived. The error then wraps
// [backend.ErrIndeterminate] and ctx's. After a closed backend's error, or a server's refusal, the
// lock may stay until its lease ends.
//
// If the lease had ended before, Unlock frees nothing and returns an error that wraps [ErrNotHeld]
// and what had ended it: [ErrLost], [ErrReleased] or [ErrClosed].
func (l *Lease) Unlock(ctx context.Context) error {
	return l.hold.of.describe(ctx, "release", l.hold.unlock(ctx, l))
}

// end ends l, and returns what ends its contexts. The caller holds hold.mu, and calls that without
// it.
func (l *Lease) end(cause error) (cancel func()) {
	l.err = cause
	if l.done != nil {
		close(l.done)
	}
	contexts := l.contexts
	l.contexts = nil
	return func() {
		for c, stop := range contexts {
			if stop != nil {
				stop()
			}
			c.cancel(cause)
		}
	}
}

// attach registers c to end with l, or returns why l has ended.
func (l *Lease) attach(c *leaseContext) error {
	if err := l.Err(); err != nil {
		return err
	}
	l.hold.mu.Lock()
	defer l.hold.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	if l.contexts == nil {
		l.contexts = make(map[*leaseContext]func() bool)
	}
	l.contexts[c] = nil
	return nil
}

// watch makes l forget c when its parent ends first. A parent may outlive l by far, so that it must
// not remember l.
func (l *Lease) watch(parent context.Context, c *leaseContext) {
	stop := context.AfterFunc(parent, func() { l.detach(c) })
	l.hold.mu.Lock()
	_, attached := l.contexts[c]
	if attached {
		l.contexts[c] = stop
	}
	l.hold.mu.Unlock()
	if !attached {
		stop()
	}
}

// detach forgets a context whose parent has ended.
func (l *Lease) detach(c *leaseContext) {
	l.hold.mu.Lock()
	defer l.hold.mu.Unlock()
	delete(l.contexts, c)
}

// leaseContext looks at the clock before it says that it goes on.
type leaseContext struct {
	context.Context //nolint:containedctx // It is a context.
	lease           *Lease
	cancel          context.CancelCauseFunc
}

// Err implements [context.Context].
func (c *leaseContext) Err() error {
	if err := c.lease.Err(); err != nil {
		// Who found the loss may not have come to this context yet.
		c.cancel(err)
	}
	return c.Context.Err()
}

// reentryKey is the key of a context's *reentry.
type reentryKey struct{}

// reentry lists the holds that a context re-enters, the innermost first.
type reentry struct {
	hold  *hold
	outer *reentry
}

// reentered returns the hold of o that ctx re-enters, or nil.
func reentered(ctx context.Context, o object) *hold {
	r, _ := ctx.Value(reentryKey{}).(*reentry)
	for ; r != nil; r = r.outer {
		if r.hold.of == o {
			return r.hold
		}
	}
	return nil
}
