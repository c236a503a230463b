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

// AllUnits is more units than any waiter needs, and is never used up: see [WaitSpec.FreeUnits] and
// [Answer.Free].
const AllUnits = wait.AllUnits

// Attempt is tried by one waiter until it is granted. One goroutine at a time uses it.
type Attempt interface {
	// Try asks the server once, with a script. It must not answer from memory: a message may have
	// come since. An error ends the waiting, with one exception: after a refusal, the waiter tries
	// again after a pause if the error wraps [backend.ErrUnavailable], or if the server accepts no
	// writes at present ([backend.RefusesWrites]). Such an error must mean that nothing was
	// written.
	Try(ctx context.Context) (Answer, error)
}

// Answer is a script's definite answer to an [Attempt].
type Answer struct {
	// Granted says that the attempt has succeeded. Otherwise it was refused.
	Granted bool

	// RetryIn is how long the object stays as it is if no message comes before: for example, until
	// the first lease of a holder ends. After a grant it is for the other waiters, and with
	// [Leases] it need not include the end of the granted lease. 0 or less means unknown.
	RetryIn time.Duration

	// Free is how many units of the object are free for other waiters after this answer. The
	// waiting loop wakes waiters of the same client that can use them. 0 means none, or unknown. If
	// a refusal says that as many units are free as the waiter needs, the loop wakes a waiter that
	// needs more, for which they are reserved.
	Free int

	// Queued says that the refusal has put the owner into a queue on the server. If the waiting
	// ends without a grant, the client releases the owner, like a holder: see [Leasable]. It is for
	// [Leases] only.
	Queued bool

	// Again says that the script stopped before it knew more than that the attempt is not granted yet,
	// so that it does not keep the server busy for long: a call that does not wait tries again at once.
	Again bool

	// Place is the owner's number in the queue of a [Line].
	Place int64
}

// WaitSpec says how a waiter waits for an object, and which messages wake it.
type WaitSpec struct {
	// Channel is the channel of the messages about the object, for example a [SideName]. Empty
	// means that there are no messages: the waiters subscribe to nothing.
	Channel string

	// Private says that no other waiter uses Channel, for example because its name contains the id
	// of a request. Then the subscription ends as soon as Wait returns. Otherwise it ends a little
	// later, unless another waiter comes.
	Private bool

	// Returns says that units may return without a message, too, and that a refusal knows the first
	// time at which they do (Answer.RetryIn). Then a message makes one waiter try even if it
	// reports too few units for any waiter, because that time may have changed. It must be the same
	// for all waiters of the object.
	Returns bool

	// Condition names the condition of this waiter, if the waiters of one object wait for different
	// conditions, of which one may hold without the others. The waiters for each condition have a
	// queue of their own.
	Condition string

	// FreeUnits reads a message on Channel. It returns how many units are free now, or [AllUnits]
	// if there are enough for all waiters. It must be the same for all waiters of the object with
	// the same Condition, and must not block.
	FreeUnits func(payload string) int

	// Need is how many units this waiter needs. 0 means 1. A lock is one unit, and so is a permit
	// of a semaphore. If a condition holds for all waiters at once, FreeUnits and Answer.Free say
	// [AllUnits], which is never used up, and each waiter needs one unit. If some waiters need the
	// whole object, it has a fixed number of units: a reader of a read-write lock needs one of
	// them, a writer all.
	Need int

	// Backoff says when to try again if there are no messages. Zero means the client's polls.
	Backoff Backoff

	// Refusal is the error that Wait adds to ctx's error if the server has refused the last
	// attempt, such as [ErrNotAcquired]. Nil adds nothing.
	Refusal error
}

// Backoff is the pause of waiters after a refusal: First after the first refusal, and after each
// further refusal twice as long as before, up to Most. Each pause is shortened at random, by up to
// a half. The waiters of one client for one object share their tries: one waiter at a time tries
// for all.
type Backoff = wait.Backoff

// Wait tries a until it is granted, and then returns nil. Between tries it waits: until a message
// says that enough units are free, until Answer.RetryIn has passed, until a message may have been
// missed, or until the client's next poll, whichever comes first. If the first try is granted, Wait
// subscribes to nothing.
//
// Otherwise it returns a's error, ctx's error, or after Close [backend.ErrClosed]. With ctx's error
// it also wraps want.Refusal if the server has refused the last attempt, or the error of the last
// attempt if that got no answer. After Wait has returned, it does not use a any more. If a did not
// use a wake-up, the next waiter gets it. Use Wait within [Call].
func (o *Object) Wait(ctx context.Context, want WaitSpec, a Attempt) error {
	_, err := o.wait(ctx, want, loopAttempt{attempt: a})
	return err
}

// Acquire is [Object.Wait] for an attempt that acquires units of o without a lease. It reports the
// acquire to the client's tracer, [Options.Tracer], as [Leases.Acquire] does. Use Acquire within [Call].
func (o *Object) Acquire(ctx context.Context, want WaitSpec, a Attempt) error {
	ctx, q := o.beginAcquire(ctx, false)
	t, err := o.wait(ctx, want, loopAttempt{attempt: a})
	q.end(ctx, t, err)
	return err
}

// TryAcquire is Acquire without waiting: if a is refused, it returns the refusal. Use it within [Call].
func (o *Object) TryAcquire(ctx context.Context, refusal error, a Attempt) error {
	ctx, q := o.beginAcquire(ctx, true)
	t, err := tryOnce(ctx, refusal, a)
	q.end(ctx, t, err)
	return err
}

// Pause returns nil after the given time, for a primitive that makes several calls. Before that it returns
// ctx's error if ctx ends, and after Close [backend.ErrClosed].
func (o *Object) Pause(ctx context.Context, length time.Duration) error {
	return o.core.listen.Pause(ctx, length)
}

// waitAs is Wait for an attempt that has owners: after an unknown outcome it continues, with
// another owner.
func (o *Object) waitAs(ctx context.Context, a *attempt) (tries, error) {
	return o.wait(ctx, a.want(), loopAttempt{attempt: a, owned: a, owns: true})
}

// wait is Wait, for an attempt whose tries it notes.
func (o *Object) wait(ctx context.Context, want WaitSpec, noted loopAttempt) (tries, error) {
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
	t := w.tries
	*w = loopAttempt{}
	attemptPool.Put(w)
	return t, err
}

// Repeat is [Object.Wait] for an attempt that belongs to several clients, and so to no single
// object: it waits only by pauses. After an error the attempt must hold nothing: once it was
// refused, Repeat also continues after an unknown outcome.
func Repeat(ctx context.Context, pauses Backoff, refusal error, a Attempt) error {
	w := loopAttempt{attempt: a, owns: true}
	if err := wait.Repeat(ctx, pauses, &w); err != nil {
		return withCause(ctx, w.explain(ctx, err, refusal))
	}
	return nil
}

// TryOnce makes one attempt, and returns the refusal if it is refused. If the script must run again
// ([Answer.Again]), the attempt has several tries. Use it within [Call].
func TryOnce(ctx context.Context, refusal error, a Attempt) error {
	_, err := tryOnce(ctx, refusal, a)
	return err
}

// tryOnce is TryOnce, and counts the tries.
func tryOnce(ctx context.Context, refusal error, a Attempt) (tries, error) {
	for count := 1; ; count++ {
		answer, err := a.Try(ctx)
		if err != nil || answer.Granted || !answer.Again {
			if err == nil && !answer.Granted {
				err = refusal
			}
			return tries{count: count, refused: errors.Is(err, ErrNotAcquired)}, err
		}
	}
}

// attemptPool has unused values, so that a call that does not have to wait needs no allocation.
var attemptPool = sync.Pool{New: func() any { return new(loopAttempt) }}

// loopAttempt is an [Attempt] as the waiting loop tries it. It notes how the last try ended.
type loopAttempt struct {
	attempt Attempt
	owned   *attempt // the same, if it belongs to Leases
	owns    bool     // a possible grant of a try without an answer is released by its owner
	refused bool     // the server's last answer was a refusal, or a grant that was undone
	undone  int      // grants in a row that were undone, for lack of replicas
	outage  error    // of the last try, if it got no answer, or a grant that was undone
	tries   tries
}

// channel returns the channel on which the next try's waiter listens, and whether it is the only
// listener.
func (w *loopAttempt) channel(want WaitSpec) (channel string, private bool) {
	if w.owned != nil && w.owned.leases.ownChannel != nil {
		return w.owned.leases.ownChannel(w.owned.current().Owner), true
	}
	return want.Channel, want.Private
}

// Try implements [wait.Attempt]. Once a waiter has been refused, it keeps waiting through outages:
// while no server can be reached, or none that accepts writes. If it has owners, it also continues
// after an unknown outcome, and after a grant that came too late. A grant that was undone for lack
// of replicas counts as a refusal. A new owner may have another channel.
func (w *loopAttempt) Try(ctx context.Context) (wait.Answer, error) {
	answer, err := w.attempt.Try(ctx)
	w.tries.count++
	switch {
	case err == nil:
		w.tries.refused = w.tries.refused || !answer.Granted
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

// explain adds the reason to an error if the end of ctx has ended the waiting: that no server
// answered, the refusal, or the lack of replicas. It adds the lack of replicas even if the last
// outcome is unknown.
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
