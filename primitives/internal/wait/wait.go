// Package wait is the waiting loop that all primitives share. A waiter tries. If it is refused it
// parks: until a message says that trying again may help, until the time that the server gave has
// passed, or until the next poll. Every wait has a poll.
//
// The waiters of one client for one object share a queue, with one subscription and one timer. A
// message wakes only the waiters that can use what has become free, so that a client's waiters do not
// contend with each other. A woken waiter that leaves without an answer wakes the next.
package wait

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
)

const (
	// linger is how long a queue keeps its subscription after its last waiter left, since the next
	// one often comes at once.
	linger = 500 * time.Millisecond

	// unsubscribedPollFactor is how many times as often as usual a queue without a subscription polls.
	unsubscribedPollFactor = 20

	// subscribeRetryDelay is the longest time between a failed subscription and the next one.
	subscribeRetryDelay = time.Second

	// maxPause is the longest time between an attempt that got no answer and the next one.
	maxPause = time.Second

	// maxPoll bounds the poll interval, so that adding the jitter to it cannot overflow.
	maxPoll = 1000 * time.Hour
)

// Attempt is what a waiter tries until it is granted.
type Attempt interface {
	// Try runs the script once. An error ends the waiting: the outcome may be unknown. An answer with
	// Outage does not.
	Try(ctx context.Context) (Answer, error)
}

// Answer is a script's definite answer.
type Answer struct {
	Granted bool
	// Outage means that there was no answer. The waiter tries again after a pause.
	Outage bool
	// Undone is how many grants in a row were undone at once, up to this one, since they could not be
	// used. The waiter tries again after a pause that grows with them. 0: this is none.
	Undone int
	// Moved means that the waiter listens to another channel after the pause of an Outage, or of a grant
	// that was undone: Wait returns [ErrMoved] then.
	Moved bool
	// RetryIn is how long the object stays unavailable if no message comes before; of a grant, to
	// others. Negative: unknown.
	RetryIn time.Duration
	// Free is how many units of the object are free for others. 0: none, or unknown. Of a refusal, as many as the
	// waiter needs, or more: they are kept for a waiter that needs more.
	Free int
}

// pauses reports whether the waiter tries again after a pause that no message ends.
func (a Answer) pauses() bool { return a.Outage || a.Undone > 0 }

// Want is what a waiter waits for.
type Want struct {
	Object    string // the key
	Condition string // what it waits for, if waiters for the object wait for different things
	Channel   string // of the messages about the object; "": there are none
	// FreeUnits reads these messages. It must be the same for all who wait for the object under one
	// condition.
	FreeUnits FreeUnits
	// Need is how many units of the object the waiter needs. 0 means 1. A lock is one unit.
	Need int
	// Private says that nobody else listens to the channel, so that it need not linger.
	Private bool
	// Returns says that units come back without a message, too, when RetryIn of a refusal says, and
	// perhaps before, by what others did since. It must be the same for all who wait for the object.
	Returns bool
	// Backoff says when to try again without messages. Zero: by the client's polls.
	Backoff Backoff
}

// Backoff is how long waiters pause after a refusal: First, and after each further one twice as long as
// before, but never longer than Most. Each pause is cut at random, by up to a half.
type Backoff struct{ First, Most time.Duration }

// undoneBackoff is the pause after a grant that was undone.
var undoneBackoff = Backoff{First: 50 * time.Millisecond, Most: maxPause}

// after returns the pause after so many refusals in a row.
func (b Backoff) after(refusals int) time.Duration {
	d := b.First
	for ; refusals > 1 && d < b.Most; refusals-- {
		d += min(d, b.Most-d)
	}
	d = min(d, b.Most)
	return d - rand.N(d/2+1) //nolint:gosec // Jitter.
}

// ErrMoved means that the waiter has paused, and must begin anew: its channel may be another one now. See
// [Answer.Moved].
var ErrMoved = errors.New("the waiter has moved")

// FreeUnits reads a message. It returns how many units of the object are free, or [AllUnits] for as
// many as anybody needs.
type FreeUnits func(payload string) int

// AllUnits is more units than anybody needs.
const AllUnits = int(^uint(0) >> 1)

// Waiters are all waiters of one client: in one queue for each object, condition and channel, or in lines.
type Waiters struct {
	backend backend.Backend
	pubsub  bool
	poll    time.Duration
	log     *zap.Logger

	ctx     context.Context //nolint:containedctx // It bounds the subscriptions, which outlive calls.
	cancel  context.CancelFunc
	running sync.WaitGroup // subscriptions being made

	rejoining chan struct{} // has a value for each that asks for a place that it has lost

	mu     sync.Mutex
	queues map[queueKey]*queue
	lines  map[lineKey]*line
	owners map[string]*placeholder // who waits in a line, or has what it waited for
	stamp  int64                   // of the last sign of life that was sent
	crowds map[string]int64        // by channel, how many clients heard this one's last message, if they are many
}

// queueKey identifies a queue. Objects that share a channel have queues of their own: a wake-up for
// one object is of no use to a waiter for another. So have the conditions of one object: a waiter for one
// must not use up the wake-up, or the poll, that another could use.
type queueKey struct {
	object, condition, channel string
	backoff                    Backoff
}

func (want Want) key() queueKey {
	return queueKey{want.Object, want.Condition, want.Channel, want.Backoff}
}

// NewWaiters returns the waiters of a client that polls at the given interval, give or take a
// tenth.
func NewWaiters(b backend.Backend, poll time.Duration, log *zap.Logger) *Waiters {
	ctx, cancel := context.WithCancel(context.Background())
	return &Waiters{
		backend: b, pubsub: b.Capabilities().PubSub, poll: poll, log: log,
		ctx: ctx, cancel: cancel, queues: make(map[queueKey]*queue), lines: make(map[lineKey]*line),
		owners: make(map[string]*placeholder), rejoining: make(chan struct{}, rejoinsAtOnce),
		crowds: make(map[string]int64),
	}
}

// Wait tries a until it is granted, and returns nil then. It returns a's error, ctx's error or
// [backend.ErrClosed] otherwise; after the last two nothing is under way. After [ErrMoved] the caller
// calls it again.
func (w *Waiters) Wait(ctx context.Context, want Want, a Attempt) error {
	q := w.joinExisting(want)
	if q == nil {
		// Nobody waits here: most attempts are granted and need no queue.
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
	return q.contend(ctx, newWaiter(want.Need), a)
}

// Repeat tries a until it is granted, and returns nil then, or a's error, or ctx's. After each refusal, and
// each outage, it pauses. It is for attempts that belong to no client alone, and so to no queue.
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

// pause returns nil a while after an answer that asks for a pause. No message ends the pause: the release
// of what was undone, or of what an attempt without an answer has taken, publishes one, too, and would end
// each pause at once.
func (w *Waiters) pause(ctx context.Context, a Answer) error {
	length := min(w.pollInterval(false), maxPause)
	if a.Undone > 0 {
		length = undoneBackoff.after(a.Undone)
	}
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-w.ctx.Done():
		return backend.ErrClosed
	}
}

// Close ends all waiting and all subscriptions, without waiting for anything.
func (w *Waiters) Close() {
	w.cancel()
	for _, cancel := range w.dropAll() {
		cancel()
	}
}

// AwaitEnd returns when, after Close, no subscription is being made any more.
func (w *Waiters) AwaitEnd() { w.running.Wait() }

func (w *Waiters) dropAll() (cancels []func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.queues {
		cancels = append(cancels, q.drop())
	}
	for _, l := range w.lines {
		cancels = append(cancels, l.drop())
	}
	return cancels
}

// joinExisting joins the queue, if there is one. Otherwise it returns nil.
func (w *Waiters) joinExisting(want Want) *queue {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.queues[want.key()]
	if q != nil {
		q.enter()
	}
	return q
}

// join joins the queue, or makes it, after an attempt from before that was refused. If the queue has
// an acknowledged subscription, a message may have come since that attempt, and the waiter tries again
// at once. Otherwise the waiter parks: the acknowledgement will wake one.
func (w *Waiters) join(want Want, refused Answer) (*queue, *waiter, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() != nil {
		return nil, nil, backend.ErrClosed
	}
	key := want.key()
	q := w.queues[key]
	if q == nil {
		q = &queue{
			waiters: w, key: key, freeUnits: want.FreeUnits, private: want.Private, returns: want.Returns,
		}
		q.channel = channel{waiters: w, name: want.Channel, listener: q}
		q.alarm.ring, q.later.ring = q.tick, q.announceLater
		w.queues[key] = q
	}
	q.enter()
	me := newWaiter(want.Need)
	if q.channel.subscribed {
		me.wake()
	} else {
		q.park(me, refused)
	}
	return q, me, nil
}

// pollInterval returns the time to the next poll of a queue.
func (w *Waiters) pollInterval(subscribed bool) time.Duration {
	d := min(w.poll, maxPoll)
	if !subscribed {
		d /= unsubscribedPollFactor
	}
	return jittered(d)
}

// jittered returns d, give or take a tenth.
func jittered(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5+1) //nolint:gosec // Jitter.
}
