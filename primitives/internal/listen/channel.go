package listen

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
)

const (
	// subscribeRetryDelay is the longest time between a failed subscription and the next attempt.
	subscribeRetryDelay = 500 * time.Millisecond

	// refusedRetryDelay is the same for a subscription that the server has refused, for example without the permission.
	refusedRetryDelay = 5 * time.Second
)

// Channel is the subscription and the alarm of waiters that listen to the same messages. Their mutex guards its
// fields, and the caller of its methods holds that mutex.
type Channel struct {
	client   *Client
	mu       *sync.Mutex // the waiters'
	name     string      // "": there are no messages
	listener Listener

	Joined     int   // number of waiters
	Alarm      Alarm // makes the listener poll, or drops it if there are no waiters
	Subscribed bool  // messages come
	Dropped    bool  // [Channel.Drop] was called
	Silent     bool  // nobody publishes on it, so a gap loses no message

	// Failed is called after each failure to subscribe, without the mutex. It must not block. Nil: nobody wants to know.
	Failed func(err error)

	subscribing   bool
	failureLogged bool
	giveUp        context.CancelFunc // cancels a subscription that is not acknowledged yet
	subscription  backend.Subscription
}

// Listener gets the events of a channel.
type Listener interface {
	// Handle takes an event. The caller does not hold the mutex, but holds it for the other methods.
	Handle(event backend.Event)

	// Acknowledged says that messages come from now on. Earlier messages may have been missed.
	Acknowledged()

	// Poll does what is due when the alarm rings.
	Poll()

	// Drop ends the listener, and its channel as [Channel.Drop] does.
	Drop() (cancel func())
}

// Init makes c the channel called name, without waiters and without a subscription.
func (c *Channel) Init(client *Client, name string, mu *sync.Mutex, l Listener) {
	c.client, c.name, c.mu, c.listener = client, name, mu, l
	c.Alarm.Ring = c.ring
}

// Join counts a waiter that joins. The first waiter subscribes, and stops the alarm that would drop the listener.
func (c *Channel) Join() {
	if c.Joined == 0 {
		c.Alarm.Stop()
		c.subscribe()
	}
	c.Joined++
}

// Leave counts a waiter that has left. After the last waiter, the subscription lingers.
func (c *Channel) Leave() {
	if c.Joined--; c.Joined == 0 && !c.Dropped {
		c.Alarm.Stop()
		c.Alarm.Within(linger)
	}
}

// ring is the alarm's.
func (c *Channel) ring() {
	c.mu.Lock()
	c.Alarm.Fired()
	unused := func() {}
	switch {
	case c.Dropped:
	case c.Joined == 0:
		unused = c.listener.Drop()
	default:
		c.subscribe()
		c.listener.Poll()
	}
	c.mu.Unlock()
	unused()
}

// subscribe begins to subscribe, if it has not begun before.
func (c *Channel) subscribe() {
	if !c.client.pubsub || c.Subscribed || c.subscribing || c.name == "" {
		return
	}
	ctx, giveUp := context.WithCancel(c.client.ctx)
	c.subscribing, c.giveUp = true, giveUp
	c.client.Go(func() {
		defer giveUp()
		subscription, err := c.client.backend.Subscribe(ctx, c.name, c.handle)
		switch {
		case err != nil:
			c.failed(err)
		case !c.keep(subscription):
			subscription.Cancel()
		}
	})
}

func (c *Channel) handle(event backend.Event) {
	if event.Kind != backend.EventMessage {
		c.reportGap(nil)
	}
	c.listener.Handle(event)
}

// reportGap reports that messages may have been missed.
func (c *Channel) reportGap(err error) {
	c.reportChange(err)
	if c.client.OnGap != nil && !c.Silent {
		c.client.OnGap(c.name, err)
	}
}

// reportChange reports that the server may have changed, unless err says that it has refused the subscription.
func (c *Channel) reportChange(err error) {
	if c.client.OnChange != nil && !refused(err) {
		c.client.OnChange(c.name)
	}
}

func refused(err error) bool { return errors.As(err, new(*backend.ServerError)) }

// keep keeps an acknowledged subscription. It reports false if the channel was dropped meanwhile. The caller does
// not hold the mutex.
func (c *Channel) keep(subscription backend.Subscription) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscribing = false
	if c.Dropped {
		return false
	}
	c.subscription, c.Subscribed = subscription, true
	c.listener.Acknowledged()
	return true
}

// failed takes a failure to subscribe, reports it, and logs the first failure. The logger may block,
// and is called without the mutex.
func (c *Channel) failed(err error) {
	used, first := c.noteFailure(err)
	if used {
		c.reportGap(err)
		if c.Failed != nil {
			c.Failed(err)
		}
	}
	if first {
		c.client.log.Warn("subscribing failed", zap.String("channel", c.name), zap.Error(err))
	}
}

// noteFailure reports whether there are waiters without a subscription now, and whether to log the failure.
func (c *Channel) noteFailure(err error) (used, first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscribing = false
	if c.Dropped || c.Joined == 0 {
		return false, false
	}
	if refused(err) {
		c.Alarm.Within(refusedRetryDelay)
	} else {
		c.Alarm.Within(subscribeRetryDelay)
	}
	first = !c.failureLogged
	c.failureLogged = true
	return true, first
}

// Drop ends the channel. The caller releases the mutex, and then calls the returned function, which cancels the
// subscription.
func (c *Channel) Drop() (cancel func()) {
	c.Dropped = true
	c.Alarm.End()
	subscription, giveUp := c.subscription, c.giveUp
	return func() {
		if giveUp != nil {
			giveUp()
		}
		if subscription != nil {
			subscription.Cancel()
		}
	}
}
