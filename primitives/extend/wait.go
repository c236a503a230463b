package extend

import (
	"context"
	"errors"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/wait"
	"github.com/hasp-go/hasp/primitives/internal/worded"
)

// AllUnits is more units than any waiter needs, and is never used up: see [WaitSpec.FreeUnits] and
// [Answer.Free].
const AllUnits = wait.AllUnits

// Attempt is tried by one waiter until it is granted. One goroutine at a time uses it.
type Attempt interface {
	// Try asks the server once, with a script. It must not answer from memory if a waiter tries it: a message
	// may have come since. An error ends the waiting, with one exception: after a refusal, the waiter tries
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
	// so it does not keep the server busy for long: a call that does not wait tries again at once.
	Again bool

	// Place is the owner's number in the queue of a primitives.Mutex.
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
	// if there are enough for all waiters. If it returns -[AllUnits], the message says that a hold was ended by
	// force: it wakes no waiter, and the client renews its leases of the object at once. It must be the same for all waiters of the object with
	// the same Condition, and must not block.
	FreeUnits func(payload string) int

	// Need is how many units this waiter needs. 0 means 1. A lock is one unit, and so is a permit
	// of a semaphore. If a condition holds for all waiters at once, FreeUnits and Answer.Free say
	// [AllUnits], which is never used up, and each waiter needs one unit. If some waiters need the
	// whole object, it has a fixed number of units: a reader of a read-write lock needs one of
	// them, a writer all.
	Need int

	// Others gets the least and the greatest Need of the client's parked waiters for the object, before each try that
	// may wake them. So the attempt can ask the server what Answer.RetryIn and Answer.Free must say for them. It must
	// not block. If no waiter is parked, it gets zeros, or no call. Nil means that the attempt needs no such numbers.
	Others func(least, most int)

	// Backoff says when to try again if there are no messages. Zero means the client's polls.
	Backoff Backoff

	// InOrder is for units that time frees, at times that the attempt knows from its last answer: it returns how long
	// after that answer so many units are free. Then the waiters of a client go on in the order in which they came, each
	// at that time, and a newcomer waits behind them: a grant costs one try. It must be set for all waiters of the object
	// with the same Condition, or for none. Nil sets no order. It must not block. Set Backoff, too, for a last resort.
	InOrder func(units int) time.Duration

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
//
// An attempt that belongs to several clients uses Wait of the zero Object, without a Call. It waits only for
// want.Backoff. After an error it must hold nothing: once it was refused, Wait also continues after an unknown outcome.
func (o *Object) Wait(ctx context.Context, want WaitSpec, a Attempt) error {
	w := newWaiter(waiter{attempt: a, owns: o.core == nil})
	defer w.free()
	if o.core == nil {
		return worded.WithCause(ctx, w.explain(ctx, wait.Repeat(ctx, want.Backoff, w), want.Refusal))
	}
	return w.wait(ctx, o, want)
}

// Acquire is [Object.Wait] for an attempt that acquires units of o without a lease. It reports the
// acquire to the client's tracer, [Options.Tracer], as [Leases.Acquire] does. Use Acquire within [Call].
func (o *Object) Acquire(ctx context.Context, want WaitSpec, a Attempt) error {
	ctx, q := o.beginAcquire(ctx, false, false)
	w := newWaiter(waiter{attempt: a})
	defer w.free()
	err := w.wait(ctx, o, want)
	q.end(ctx, w.tries, err)
	return err
}

// TryAcquire is Acquire without waiting: if a is refused, it returns the refusal. Use it within [Call].
func (o *Object) TryAcquire(ctx context.Context, refusal error, a Attempt) error {
	ctx, q := o.beginAcquire(ctx, true, false)
	t, err := tryOnce(ctx, refusal, a)
	q.end(ctx, t, err)
	return err
}

// Pause returns nil after the given time, for a primitive that makes several calls. Before that it returns
// ctx's error if ctx ends, and after Close [backend.ErrClosed].
func (o *Object) Pause(ctx context.Context, length time.Duration) error {
	return o.core.listen.Pause(ctx, length)
}

// Hear calls heard with each message on a channel of o, and with an event of the kind [backend.EventResubscribed] when
// messages may have been missed. It subscribes in the background, so it hears nothing before that. If that fails, it
// calls heard with the error, and tries again. It ends when stop is called, or the client is closed: a call of heard
// that has begun may go on then. heard must not block. It is for observers of an object: waiters use [Object.Wait].
func (o *Object) Hear(channel string, heard func(event backend.Event, err error)) (stop func()) {
	return o.core.ears.Hear(channel, heard)
}

// tryOnce makes one attempt, and returns the refusal if it is refused. If the script must run again
// ([Answer.Again]), the attempt has several tries, which tryOnce counts.
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
