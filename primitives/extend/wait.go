package extend

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/wait"
)

// AllUnits is more units than anybody needs, and never used up: see [WaitSpec.FreeUnits] and [Answer.Free].
const AllUnits = wait.AllUnits

// Attempt is what one waiter tries until it is granted. One goroutine at a time uses it.
type Attempt interface {
	// Try asks the server once, by a script. It must not answer from memory: a message may have come
	// since. An error ends the waiting, with one exception: after a refusal, an error that wraps
	// [backend.ErrUnavailable], or a server's that takes no writes for now ([backend.RefusesWrites]), means
	// that nothing was written, and the waiter tries again after a pause.
	Try(ctx context.Context) (Answer, error)
}

// Answer is a script's definite answer to an [Attempt].
type Answer struct {
	// Granted says that the waiter has what it waits for. Otherwise it was refused.
	Granted bool

	// RetryIn is how long the object stays as it is, if no message comes before: until the first lease of a
	// holder ends, say. A grant's is for those who go on waiting; with [Leases] it need not say when the lease
	// that it grants ends. 0 or less means unknown.
	RetryIn time.Duration

	// Free is how many units of the object are free for others after this answer. The waiting loop
	// wakes waiters of the same client that can use them. 0 means none, or unknown. If a refusal says that
	// as many are free as the waiter needs, a waiter that needs more is woken, and tries for them.
	Free int

	// Queued says that the refusal has put the owner into a queue on the server. If the waiting ends
	// without a grant, the owner is released, as a holder is: see [Leasable]. It is for [Leases] only.
	Queued bool

	// Place is the owner's number in the queue of a [Line].
	Place int64
}

// WaitSpec is how waiters of an object wait, and what wakes them.
type WaitSpec struct {
	// Channel is the channel of the messages about the object, such as one by [SideName]. Empty means
	// that there are none: the waiters subscribe to nothing.
	Channel string

	// Private says that nobody else waits for messages on Channel, as if it is named after a request. It is
	// unsubscribed at once when Wait returns, and not only if nobody waits again soon.
	Private bool

	// Returns says that units come back without a message, too, at times of which a refusal knows the first
	// (Answer.RetryIn). Then a message of too few units for all who wait makes one of them try, who
	// learns what the first of these times is now. It must be the same for all who wait for the object.
	Returns bool

	// Condition names what this waiter waits for, if the waiters for one object wait for different things,
	// of which one may be there without the others. The waiters for each have a queue of their own.
	Condition string

	// FreeUnits reads such a message. It returns how many units are free now, or [AllUnits] for as many
	// as anybody needs. It must be the same for all who wait for the object under one condition,
	// and must not block.
	FreeUnits func(payload string) int

	// Need is how many units this waiter needs. 0 means 1. A lock is one unit, and so is a permit of a
	// semaphore. A condition that holds for all at once is [AllUnits], of which each waiter needs one,
	// and which is never used up. Where some need the whole object, it has a number of units that
	// FreeUnits and Answer.Free say: of a read-write lock a reader needs one, a writer all.
	Need int

	// Backoff says when to try again if there are no messages. Zero means the client's polls.
	Backoff Backoff

	// Refusal is the error that Wait adds to ctx's error if the server had refused the last attempt,
	// such as [ErrNotAcquired]. Nil adds nothing.
	Refusal error
}

// Backoff is how long waiters pause after a refusal: First, and after each further one twice as long as
// before, but never longer than Most, and each time up to a half shorter, at random. The waiters of one
// client for one object share their tries: one at a time tries for all.
type Backoff = wait.Backoff

// Wait tries a until it is granted, and returns nil then. Between tries it waits: until a message says
// that enough units are free, until Answer.RetryIn has passed, until a message may have been missed, or
// until the client's next poll, whichever comes first. If the first try is granted, Wait subscribes to
// nothing.
//
// It returns a's error, ctx's error, or [backend.ErrClosed] after Close. Beside ctx's error it wraps
// want.Refusal if the server had refused the last attempt, or the error of the last attempt if that got
// no answer. After Wait has returned it does not use a any more. A wake-up that a did not use goes to
// the next waiter. Use Wait within [Call].
func (o *Object) Wait(ctx context.Context, want WaitSpec, a Attempt) error {
	return o.wait(ctx, want, loopAttempt{attempt: a})
}

// waitAs is Wait for an attempt that has owners: it also goes on after an unknown outcome, with another
// owner.
func (o *Object) waitAs(ctx context.Context, a *attempt) error {
	return o.wait(ctx, a.want(), loopAttempt{attempt: a, owned: a, owns: true})
}

// wait is Wait, for an attempt whose tries it notes.
func (o *Object) wait(ctx context.Context, want WaitSpec, noted loopAttempt) error {
	w := attemptPool.Get().(*loopAttempt) //nolint:forcetypeassert // It has nothing else.
	*w = noted
	err := wait.ErrMoved
	for errors.Is(err, wait.ErrMoved) {
		channel, private := w.channel(want)
		err = o.core.waiters.Wait(ctx, wait.Want{
			Object: o.key, Condition: want.Condition, Channel: channel, FreeUnits: want.FreeUnits, Need: want.Need,
			Private: private, Backoff: want.Backoff, Returns: want.Returns,
		}, w)
	}
	if err != nil {
		err = w.explain(ctx, err, want.Refusal)
	}
	*w = loopAttempt{}
	attemptPool.Put(w)
	return err
}

// Repeat is [Object.Wait] for an attempt that belongs to several clients, and so to none of their objects:
// it tries again after pauses alone. After an error the attempt holds nothing: once it was refused, Repeat
// goes on after an unknown outcome, too.
func Repeat(ctx context.Context, pauses Backoff, refusal error, a Attempt) error {
	w := loopAttempt{attempt: a, owns: true}
	if err := wait.Repeat(ctx, pauses, &w); err != nil {
		return withCause(ctx, w.explain(ctx, err, refusal))
	}
	return nil
}

// TryOnce makes one attempt, and returns [ErrNotAcquired] if it is refused. Use it within [Call].
func TryOnce(ctx context.Context, a Attempt) error {
	answer, err := a.Try(ctx)
	if err == nil && !answer.Granted {
		return ErrNotAcquired
	}
	return err
}

// attemptPool has unused values, so that a call that does not have to wait allocates none.
var attemptPool = sync.Pool{New: func() any { return new(loopAttempt) }}

// loopAttempt is an [Attempt] as the waiting loop tries it. It notes how the last try ended.
type loopAttempt struct {
	attempt Attempt
	owned   *attempt // the same, if it is of Leases
	owns    bool     // what a try without an answer may have taken is released by its owner
	refused bool     // the server's last answer was a refusal, or was undone
	undone  int      // grants in a row that were undone, for lack of replicas
	outage  error    // of the last try, if it got no answer, or one that was undone
}

// channel returns the channel on which the next try's waiter listens, and whether nobody else does.
func (w *loopAttempt) channel(want WaitSpec) (channel string, private bool) {
	if w.owned != nil && w.owned.leases.ownChannel != nil {
		return w.owned.leases.ownChannel(w.owned.current().Owner), true
	}
	return want.Channel, want.Private
}

// Try implements [wait.Attempt]. Once a waiter was refused it goes on waiting through outages: while no
// server can be reached, or none that takes writes, and, if it has owners, after an unknown outcome, or a grant
// that came after its lease had ended. A grant that was undone for lack of
// replicas counts as a refusal there. With the owner its channel may have changed.
func (w *loopAttempt) Try(ctx context.Context) (wait.Answer, error) {
	answer, err := w.attempt.Try(ctx)
	switch {
	case err == nil:
		w.refused, w.undone, w.outage = !answer.Granted, 0, nil
	case w.owns && errors.Is(err, backend.ErrReplicas) && shortageMayPass(err):
		w.refused, w.undone, w.outage = true, w.undone+1, err
		return wait.Answer{Undone: w.undone, RetryIn: -1, Moved: w.moved()}, nil
	case w.refused && ctx.Err() == nil && w.retryable(err):
		w.undone, w.outage = 0, err
		return wait.Answer{Outage: true, RetryIn: -1, Moved: w.moved()}, nil
	}
	if answer.RetryIn <= 0 {
		answer.RetryIn = -1
	}
	return wait.Answer{Granted: answer.Granted, RetryIn: answer.RetryIn, Free: answer.Free}, err
}

// moved reports whether the next try has another owner, with a channel of its own.
func (w *loopAttempt) moved() bool {
	return w.owned != nil && w.owned.leases.ownChannel != nil && w.owned.hold == nil
}

// retryable reports whether the waiter may try again after err: the server may take the next try, or the next
// grant may come in time.
func (w *loopAttempt) retryable(err error) bool {
	var server *backend.ServerError
	return errors.Is(err, backend.ErrUnavailable) ||
		errors.As(err, &server) && backend.RefusesWrites(server.Code) ||
		w.owns && (errors.Is(err, backend.ErrIndeterminate) || errors.Is(err, ErrLost))
}

// explain adds the reason to an error by which the end of ctx has ended the waiting: that no server
// answered, the refusal, or the lack of replicas, which is worth knowing also if the last outcome is not.
func (w *loopAttempt) explain(ctx context.Context, err, refusal error) error {
	ended := ctx.Err() != nil && errors.Is(err, ctx.Err())
	unknown := errors.Is(err, backend.ErrIndeterminate)
	switch {
	case ended && w.outage != nil && (w.undone > 0 || !unknown):
		return fmt.Errorf("%w: %w", err, w.outage)
	case ended && !unknown && w.refused && refusal != nil && !errors.Is(err, refusal):
		return fmt.Errorf("%w: %w", refusal, err)
	}
	return err
}
