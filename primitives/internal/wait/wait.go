// Package wait is the waiting loop. A waiter tries. If it is refused, it parks:
// until a message says that another try may succeed, until the time that the server gave has
// passed, or until the next poll. Every wait has a poll.
//
// The waiters of one client for one object share a queue, with one subscription and one timer. A
// message wakes only the waiters that can use the free units, so a client's waiters do not
// contend with each other. If a woken waiter leaves without an answer, it wakes the next waiter.
package wait

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hasp-go/hasp/primitives/internal/listen"
)

// Attempt is tried by a waiter until it is granted.
type Attempt interface {
	// Try runs the script once. An error ends the waiting, since the outcome may be unknown. An
	// answer with Outage does not end it.
	Try(ctx context.Context) (Answer, error)
}

// Answer is a script's definite answer.
type Answer struct {
	Granted bool
	// Outage means that there was no answer. The waiter tries again after a pause.
	Outage bool
	// Undone is how many grants in a row, up to this answer, were undone at once because they could
	// not be used. The waiter tries again after a pause that grows with their number. 0: the answer
	// is no such grant.
	Undone int
	// Moved means that after the pause, of an Outage or of an undone grant, the waiter listens to
	// another channel. Then Wait returns [ErrMoved].
	Moved   bool
	RetryIn time.Duration // as in extend.Answer; negative: unknown
	Free    int           // as in extend.Answer
}

// pauses reports whether the waiter tries again after a pause that no message ends.
func (a Answer) pauses() bool { return a.Outage || a.Undone > 0 }

// Want says how a waiter waits for an object.
type Want struct {
	Object string // the key
	Spec
}

// Spec has the fields of an extend.WaitSpec, which says what they mean.
type Spec struct {
	Channel   string
	Private   bool
	Returns   bool
	Condition string
	FreeUnits func(payload string) int
	Need      int
	Others    func(least, most int)
	Backoff   Backoff
	InOrder   func(units int) time.Duration // see [queue.contendInOrder]
	Refusal   error                         // is for the caller of Wait
}

// Backoff is what extend.Backoff is.
type Backoff struct{ First, Most time.Duration }

// undoneBackoff is the pause after a grant that was undone.
var undoneBackoff = Backoff{First: 50 * time.Millisecond, Most: listen.MaxPause}

// after returns the pause after the given number of refusals in a row.
func (b Backoff) after(refusals int) time.Duration {
	d := b.First
	for ; refusals > 1 && d < b.Most; refusals-- {
		d += min(d, b.Most-d)
	}
	d = min(d, b.Most)
	return d - rand.N(d/2+1) //nolint:gosec // Jitter.
}

// ErrMoved means that the waiter has paused, and must call Wait again, perhaps with another
// channel. See [Answer.Moved].
var ErrMoved = errors.New("the waiter has moved")

// AllUnits is more units than any waiter needs.
const AllUnits = int(^uint(0) >> 1)

// Forced says that a message reports no free units, but that a hold of the object was ended by force.
const Forced = -AllUnits

// Waiters are the waiters of one client, in one queue for each object, condition and channel.
type Waiters struct {
	client *listen.Client

	// OnForced is called when a hold of the object with the given key was ended by force. It must not block. It is set
	// before anybody waits.
	OnForced func(key string)

	mu     sync.Mutex
	queues map[queueKey]*queue
	crowds map[string]int64 // by channel: how many clients heard this client's last message, if there are many
}

// queueKey identifies a queue. Objects that share a channel have queues of their own: a wake-up for
// one object does not help a waiter for another object. Each condition of an object has a queue of
// its own, too: a waiter for one condition must not use up a wake-up, or a poll, that a waiter for
// another condition could use.
type queueKey struct {
	object, condition, channel string
	backoff                    Backoff
}

func (want Want) key() queueKey {
	return queueKey{want.Object, want.Condition, want.Channel, want.Backoff}
}

// NewWaiters returns the Waiters of a client.
func NewWaiters(c *listen.Client) *Waiters {
	w := &Waiters{client: c, queues: make(map[queueKey]*queue), crowds: make(map[string]int64)}
	listen.DropAtClose(c, &w.mu, w.queues)
	return w
}

// Wait tries a until it is granted, and then returns nil. Otherwise it returns a's error, ctx's
// error or [listen.ErrClosed]. After the last two nothing is under way. After [ErrMoved] the
// caller calls Wait again.
func (w *Waiters) Wait(ctx context.Context, want Want, a Attempt) error {
	q := w.joinExisting(want)
	if q == nil {
		// There is no queue: most attempts are granted and need none.
		answer, err := a.Try(ctx)
		if err != nil || answer.Granted {
			return err
		}
		if answer.pauses() {
			return cmp.Or(w.pause(ctx, answer), ErrMoved)
		}
		var me *waiter
		if q, me, err = w.join(want, answer); err != nil {
			return err
		}
		defer q.leave()
		if err := q.awaitWakeUp(ctx, me); err != nil {
			return err
		}
		return q.contend(ctx, me, a)
	}
	defer q.leave()
	return q.contend(ctx, newWaiter(want), a)
}

// Repeat tries a until it is granted, and then returns nil. Otherwise it returns a's error or ctx's
// error. It pauses after each refusal and each outage. It is for attempts that belong to several
// clients, and so to no queue.
func Repeat(ctx context.Context, pauses Backoff, a Attempt) error {
	for refusals := 1; ; refusals++ {
		answer, err := a.Try(ctx)
		if err != nil || answer.Granted {
			return err
		}
		select {
		case <-time.After(pauses.after(refusals)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pause returns nil after the pause for which an answer asks. No message ends the pause: the
// release of an undone grant, or of a grant whose answer was lost, publishes a message, too, which
// would end each pause at once.
func (w *Waiters) pause(ctx context.Context, a Answer) error {
	if a.Undone > 0 {
		return w.client.Pause(ctx, undoneBackoff.after(a.Undone))
	}
	return w.client.AfterOutage(ctx)
}

// joinExisting joins the queue if it exists. Otherwise it returns nil.
func (w *Waiters) joinExisting(want Want) *queue {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.queues[want.key()]
	if q != nil {
		q.channel.Join()
	}
	return q
}

// join joins the queue, after an earlier attempt that was refused. It creates a missing queue. If
// the queue has an acknowledged subscription, a message may have come since that attempt, and the
// waiter tries again at once. Otherwise the waiter parks, and the acknowledgement will wake one
// waiter.
func (w *Waiters) join(want Want, refused Answer) (*queue, *waiter, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.client.Context().Err() != nil {
		return nil, nil, listen.ErrClosed
	}
	key := want.key()
	q := w.queues[key]
	if q == nil {
		q = &queue{
			waiters: w, key: key, freeUnits: want.FreeUnits, private: want.Private, returns: want.Returns,
		}
		if want.InOrder != nil {
			q.order = new(order)
		}
		q.channel.Init(w.client, want.Channel, &w.mu, q)
		q.later.Ring = q.announceLater
		w.queues[key] = q
	}
	q.channel.Join()
	me := newWaiter(want)
	if q.order != nil {
		q.parkInOrder(me)
		return q, me, nil
	}
	if q.channel.Subscribed {
		me.wake()
	} else {
		q.park(me, refused)
	}
	return q, me, nil
}
