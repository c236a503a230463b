// Package lease has what an owner gets that holds an object on the server: see [Lease]. The objects of package primitives
// return it, and so do those of other authors. Package primitives has the names of Lease, [ReleaseError] and the errors.
package lease

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/primitives/internal/leases"
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
type Lease leases.Lease

// of returns what l is made of.
func (l *Lease) of() *leases.Lease { return (*leases.Lease)(l) }

func (l *Lease) target() leases.Target { return l.of().Target() }

// Context returns a child of parent that ends with the lease, with the cause [*LossError],
// [ErrReleased] or [backend.ErrClosed]. Use such a context for the work that needs the lease. The
// end of the context that bounded the waiting for the lock does not end it, unless that context is
// its parent. A call that waits for the same lock under such a context returns [ErrSelfDeadlock].
//
// For the same parent, Context returns the same context: it may be called again for each piece of
// work. A lease keeps no reference to a parent that has ended, and a parent keeps none to a lease
// that has ended.
func (l *Lease) Context(parent context.Context) context.Context { return l.of().Context(parent) }

// Reenter returns a child of ctx, like Context. Under it, Lock and TryLock of a lock of the same
// client, kind and name re-enter this lease's hold, instead of waiting for its release. There is no
// other way to re-enter. Goroutines that share such a context are one holder, and do not exclude
// each other.
//
// The client counts the leases of one hold. The server has only one hold, with one lease length, so
// an inner lock must have the same lease options. Release each lease once. The last release
// frees the lock.
func (l *Lease) Reenter(ctx context.Context) context.Context { return l.of().Reenter(ctx) }

// Done returns a channel that is closed when the lease ends. After a pause of the process it may be
// closed a moment late: call Err if you must be sure.
func (l *Lease) Done() <-chan struct{} { return l.of().Done() }

// Err returns nil while the lease is held, and later a [*LossError], [ErrReleased] or an error that
// matches [backend.ErrClosed]. It reads the clock: if the process was paused until after the end of
// the lease, Err returns a LossError at once.
func (l *Lease) Err() error {
	_, err := l.of().Check()
	return err
}

// Remaining returns how long the holder may still trust the lease if it is not renewed, or 0 if it
// has ended. Like Err it reads the clock.
func (l *Lease) Remaining() time.Duration {
	remaining, _ := l.of().Check()
	return remaining
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
	_, token := l.target().Identity()
	return token
}

// Owner returns the holder's name on the server, for IsHeldBy and HoldCount of a lock. No other
// acquisition has the same owner. For a lease with parts it is "": each part has an owner of its
// own. For permits the owner is the sequence of their ids, as bytes.
func (l *Lease) Owner() string {
	owner, _ := l.target().Identity()
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
func (l *Lease) Release(ctx context.Context) error { return l.of().Release(ctx, leases.WaitAfter(ctx)) }

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
	return l.target().Extend(ctx, l.of(), d)
}

// Forget ends the lease and its renewals, but sends no release. Use it if a script has released the
// lease already, for example a barrier's when its last party arrives, or if the object is to stay
// held until the lease ends on the server. The contexts of the lease, and of its re-entered leases,
// end with the cause [ErrReleased]. If the lease had ended before, Forget does nothing.
func (l *Lease) Forget() { l.target().Forget() }

// Parts returns the leases of which this lease consists. For a MultiLock there is one part for each
// of its locks, in their order. For a RedLock there is one part for each node, in their order, with
// nil for a node on which the lock is not held at present. Each part has an owner and a token of
// its own. A lease of any other object has no parts.
func (l *Lease) Parts() (parts []*Lease) {
	for _, part := range l.target().Parts() {
		parts = append(parts, (*Lease)(part))
	}
	return parts
}

// From returns the lease of which ctx is a context, for code that gets only a context: the lease whose [Lease.Context]
// or [Lease.Reenter] ctx is, or is a child of, even if that lease has ended. Of several it is the innermost, and
// without one it is nil. Inside Do it is the lease of Do, which Do releases.
func From(ctx context.Context) *Lease { return (*Lease)(leases.From(ctx)) }
