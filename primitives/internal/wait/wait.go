// Package wait is the waiting loop that all primitives share. A waiter tries, and if it is refused
// it parks until a message says that trying again may help, until the time that the server gave has
// passed, or until a bounded poll is due. No wait is without that poll.
//
// Waiters for one object share a channel: one subscription per client, a queue, one timer. A
// message that one can use wakes one waiter, so that a client's waiters do not contend with each
// other. A waiter that was woken and leaves without an answer wakes the next.
package wait

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
)

const (
	// linger keeps the subscription of a channel whose last waiter left, since the next one often
	// comes at once.
	linger = 500 * time.Millisecond

	// unheard is how much more often than usual a waiter polls while it has no subscription.
	unheard = 20

	// subscribeAgain is the most that passes between a failed subscription and the next.
	subscribeAgain = time.Second

	// mostPause is the most that passes between an attempt that had no answer and the next.
	mostPause = time.Second

	// mostPoll keeps a poll that is meant never to come from overflowing by its jitter.
	mostPoll = 1000 * time.Hour
)

// Attempt is one waiter's way to take what it waits for.
type Attempt interface {
	// Try runs the script once. An error ends the waiting: the outcome may be unknown. An answer with
	// Outage does not.
	Try(ctx context.Context) (Answer, error)
}

// Answer is a script's definite answer.
type Answer struct {
	Granted bool
	// Outage says that there was no answer, and that the waiter tries again after a pause.
	Outage bool
	// RetryIn is how long what was refused stays unavailable if no message comes before; negative:
	// it is not known.
	RetryIn time.Duration
	// Free is how many units of the object are free for others; 0: none, or it is not known.
	Free int
}

// Want is what a waiter waits for.
type Want struct {
	Object  string // the key
	Channel string // has the messages about the object
	// Frees reads these messages. It must be the same for all who wait for the object.
	Frees Frees
	// Need is how many units of the object the waiter needs, at least 1, which 0 means too. A lock is
	// one unit.
	Need int
}

// Frees returns how many units of an object are free by the given message; [All] for as many as
// anybody needs.
type Frees func(payload string) int

// All is more than anybody needs.
const All = int(^uint(0) >> 1)

// Waiters are all waiters of one client, by object and channel.
type Waiters struct {
	backend backend.Backend
	pubsub  bool
	poll    time.Duration
	log     *zap.Logger

	ctx     context.Context //nolint:containedctx // It bounds the subscriptions, which outlive calls.
	cancel  context.CancelFunc
	running sync.WaitGroup // subscriptions being made

	mu       sync.Mutex
	channels map[place]*channel
}

// place is where waiters meet. Two objects may have one channel: a message wakes one waiter of
// each, since a waiter of the other object would use the wake up.
type place struct{ object, channel string }

// NewWaiters returns the waiters of a client that polls at the given interval, give or take a
// tenth.
func NewWaiters(b backend.Backend, poll time.Duration, log *zap.Logger) *Waiters {
	ctx, cancel := context.WithCancel(context.Background())
	return &Waiters{
		backend: b, pubsub: b.Capabilities().PubSub, poll: poll, log: log,
		ctx: ctx, cancel: cancel, channels: make(map[place]*channel),
	}
}

// Wait tries a until it is granted, and returns nil then. It returns a's error, ctx's error or
// [backend.ErrClosed] otherwise; after the last two nothing is under way.
func (w *Waiters) Wait(ctx context.Context, want Want, a Attempt) error {
	c := w.existing(want)
	if c == nil {
		// Nobody waits here: most attempts are granted and need no channel.
		answer, err := a.Try(ctx)
		if err != nil || answer.Granted {
			return err
		}
		var me *waiter
		if c, me, err = w.join(want, answer); err != nil {
			return err
		}
		defer c.leave()
		if err := c.sleep(ctx, me); err != nil {
			return err
		}
		return c.contend(ctx, me, a)
	}
	defer c.leave()
	return c.contend(ctx, newWaiter(want.Need), a)
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
	for _, c := range w.channels {
		cancels = append(cancels, c.drop())
	}
	return cancels
}

// existing joins a channel that has waiters, or had until just now.
func (w *Waiters) existing(want Want) *channel {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.channels[place{want.Object, want.Channel}]
	if c != nil {
		c.enter()
	}
	return c
}

// join joins a channel, which is made if need be, after an answer that was got outside of it. If
// the channel has had its subscription for longer than the answer is known, the waiter is ready to
// try again at once; else the acknowledgement is going to wake one.
func (w *Waiters) join(want Want, refused Answer) (*channel, *waiter, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() != nil {
		return nil, nil, backend.ErrClosed
	}
	at := place{want.Object, want.Channel}
	c := w.channels[at]
	if c == nil {
		c = &channel{waiters: w, at: at, frees: want.Frees}
		w.channels[at] = c
	}
	c.enter()
	me := newWaiter(want.Need)
	if c.heard {
		me.wake()
	} else {
		c.park(me, refused)
	}
	return c, me, nil
}

// pollIn is the time to the next poll of a channel.
func (w *Waiters) pollIn(heard bool) time.Duration {
	d := min(w.poll, mostPoll)
	if !heard {
		d /= unheard
	}
	return d - d/10 + rand.N(d/5+1) //nolint:gosec // Jitter.
}
