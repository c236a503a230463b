// Package listen is how the waiters of one client listen to the server, in whichever way they wait: by
// subscriptions, by timers for what no message says, and by pauses. Close of the client ends all of these.
package listen

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
)

const (
	// linger is how long a subscription outlives its last waiter, since the next waiter often comes at
	// once.
	linger = 500 * time.Millisecond

	// UnsubscribedPollFactor is how many times more often waiters poll without a subscription.
	UnsubscribedPollFactor = 20

	// MaxPause is the longest time between an attempt without an answer and the next attempt.
	MaxPause = time.Second

	// maxPoll is the longest poll interval, so adding the jitter cannot overflow.
	maxPoll = 1000 * time.Hour
)

// ErrClosed means that the client is closed. It wraps [backend.ErrClosed].
var ErrClosed error = clientClosed{}

type clientClosed struct{}

func (clientClosed) Error() string { return "client closed" }

func (clientClosed) Unwrap() error { return backend.ErrClosed }

// Client is what all waiters of one client share.
type Client struct {
	backend backend.Backend
	pubsub  bool
	poll    time.Duration
	log     *zap.Logger

	// OnGap is called when messages of a channel may have been missed, with the reason if the client
	// cannot subscribe. No mutex is held. It must not block. It is set before anybody waits. Nil
	// means that nobody wants to know.
	OnGap func(channel string, err error)

	// OnChange is called when the server with a channel may have changed: it restarted, or another one took its place.
	// A mutex may be held. For the rest it is like OnGap.
	OnChange func(channel string)

	ctx     context.Context //nolint:containedctx // It bounds the subscriptions, which outlive calls.
	cancel  context.CancelFunc
	running sync.WaitGroup // goroutines that subscribe or beat
	atClose []func()
}

// New returns a client that polls at the given interval, give or take a tenth.
func New(b backend.Backend, poll time.Duration, log *zap.Logger) *Client {
	ctx, cancel := context.WithCancel(context.Background())
	return &Client{
		backend: b, pubsub: b.Capabilities().PubSub, poll: poll, log: log, ctx: ctx, cancel: cancel,
	}
}

// Context returns a context that ends with the client.
func (c *Client) Context() context.Context { return c.ctx }

// Poll returns the interval between polls.
func (c *Client) Poll() time.Duration { return c.poll }

// PollInterval returns the time to the next poll of waiters with, or without, a subscription.
func (c *Client) PollInterval(subscribed bool) time.Duration {
	d := min(c.poll, maxPoll)
	if !subscribed {
		d /= UnsubscribedPollFactor
	}
	return Jittered(d)
}

// Pause returns nil after the given time. Before that, it returns ctx's error if ctx ends, or [ErrClosed].
func (c *Client) Pause(ctx context.Context, length time.Duration) error {
	select {
	case <-time.After(length):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.ctx.Done():
		return ErrClosed
	}
}

// AfterOutage is [Client.Pause] before the attempt that follows one without an answer.
func (c *Client) AfterOutage(ctx context.Context) error {
	return c.Pause(ctx, min(c.PollInterval(false), MaxPause))
}

// Go runs f in a goroutine for which [Client.AwaitEnd] waits.
func (c *Client) Go(f func()) { c.running.Go(f) }

// DropAtClose makes Close drop the listeners that are in the map then. mu guards the map. It is called before
// anybody waits.
func DropAtClose[K comparable, L Listener](c *Client, mu *sync.Mutex, listeners map[K]L) {
	c.atClose = append(c.atClose, func() {
		mu.Lock()
		cancels := make([]func(), 0, len(listeners))
		for _, l := range listeners {
			cancels = append(cancels, l.Drop())
		}
		mu.Unlock()
		for _, cancel := range cancels {
			cancel()
		}
	})
}

// Close ends all waiting and all subscriptions, without waiting for anything.
func (c *Client) Close() {
	c.cancel()
	for _, drop := range c.atClose {
		drop()
	}
}

// AwaitEnd returns when, after Close, no goroutine of [Client.Go] runs any more.
func (c *Client) AwaitEnd() { c.running.Wait() }

// Jittered returns d, give or take a tenth.
func Jittered(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5+1) //nolint:gosec // Jitter.
}

// Ears are subscriptions of callers who hear messages while they do other work. Each has one of its own.
type Ears struct {
	client *Client

	mu  sync.Mutex
	all map[*ear]*ear
}

type ear struct {
	ears    *Ears
	channel Channel
	heard   func(event backend.Event, err error)
}

// NewEars returns the ears of a client, of which there are none.
func NewEars(c *Client) *Ears {
	e := &Ears{client: c, all: make(map[*ear]*ear)}
	DropAtClose(c, &e.mu, e.all)
	return e
}

// Hear subscribes in the background, and tries again after failures. It calls heard with each event, and with the error
// of each failure to subscribe, until stop is called or the client is closed. A call that has begun may go on then.
func (e *Ears) Hear(channel string, heard func(event backend.Event, err error)) (stop func()) {
	one := &ear{ears: e, heard: heard}
	e.mu.Lock()
	defer e.mu.Unlock()
	one.channel.Init(e.client, channel, &e.mu, one)
	one.channel.Failed = func(err error) { heard(backend.Event{}, err) }
	if e.client.ctx.Err() == nil {
		e.all[one] = one
		one.channel.Join()
	}
	return one.stop
}

func (e *ear) stop() {
	e.ears.mu.Lock()
	cancel := e.Drop()
	e.ears.mu.Unlock()
	cancel()
}

// Handle implements [Listener].
func (e *ear) Handle(event backend.Event) { e.heard(event, nil) }

func (*ear) Acknowledged() {}

func (*ear) Poll() {}

func (e *ear) Drop() (cancel func()) {
	delete(e.ears.all, e)
	return e.channel.Drop()
}
