package wait

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
)

// channel is the subscription of the waiters for one object. The mutex of Waiters guards its
// fields.
type channel struct {
	waiters  *Waiters
	name     string // "": there are no messages
	listener listener

	subscribed    bool // it was acknowledged
	subscribing   bool
	failureLogged bool
	giveUp        context.CancelFunc // cancels a subscription that is not acknowledged yet
	subscription  backend.Subscription
	dropped       bool
}

// listener gets the events of a channel.
type listener interface {
	// handle takes an event. The caller does not hold the mutex.
	handle(event backend.Event)

	// acknowledged says that messages come from now on. Earlier messages may have been missed. The
	// caller holds the mutex.
	acknowledged()

	// unsubscribed says that subscribing has failed, and reports whether there are still waiters.
	// The caller holds the mutex.
	unsubscribed() (used bool)
}

// subscribe begins to subscribe, if it has not begun before. The caller holds the mutex.
func (c *channel) subscribe() {
	w := c.waiters
	if !w.pubsub || c.subscribed || c.subscribing || c.name == "" {
		return
	}
	ctx, giveUp := context.WithCancel(w.ctx)
	c.subscribing, c.giveUp = true, giveUp
	w.running.Add(1)
	go func() {
		defer w.running.Done()
		defer giveUp()
		subscription, err := w.backend.Subscribe(ctx, c.name, c.handle)
		switch {
		case err != nil:
			c.failed(err)
		case !c.keep(subscription):
			subscription.Cancel()
		}
	}()
}

// handle takes an event.
func (c *channel) handle(event backend.Event) {
	if event.Kind != backend.EventMessage {
		c.reportGap(nil)
	}
	c.listener.handle(event)
}

// reportGap reports that messages may have been missed.
func (c *channel) reportGap(err error) {
	if c.waiters.OnGap != nil {
		c.waiters.OnGap(c.name, err)
	}
}

// keep keeps an acknowledged subscription. It reports false if the channel was dropped meanwhile.
func (c *channel) keep(subscription backend.Subscription) bool {
	c.waiters.mu.Lock()
	defer c.waiters.mu.Unlock()
	c.subscribing = false
	if c.dropped {
		return false
	}
	c.subscription, c.subscribed = subscription, true
	c.listener.acknowledged()
	return true
}

// failed takes a failure to subscribe, reports it, and logs the first failure. The logger may block,
// and is called without the mutex.
func (c *channel) failed(err error) {
	used, first := c.noteFailure()
	if used {
		c.reportGap(err)
	}
	if first {
		c.waiters.log.Warn("subscribing failed", zap.String("channel", c.name), zap.Error(err))
	}
}

// noteFailure reports whether there are waiters without a subscription now, and whether to log the failure.
func (c *channel) noteFailure() (used, first bool) {
	c.waiters.mu.Lock()
	defer c.waiters.mu.Unlock()
	c.subscribing = false
	if c.dropped || !c.listener.unsubscribed() {
		return false, false
	}
	first = !c.failureLogged
	c.failureLogged = true
	return true, first
}

// drop ends the channel. The caller holds the mutex, releases it, and then calls the returned function,
// which cancels the subscription.
func (c *channel) drop() (cancel func()) {
	c.dropped = true
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

// alarm is a timer that knows when it fires. The mutex of Waiters guards it.
type alarm struct {
	ring  func() // it calls fired first
	timer *time.Timer
	at    time.Time // zero: it is not armed
	ended bool
}

// within makes the alarm ring in d, unless it rings earlier.
func (a *alarm) within(d time.Duration) {
	at := time.Now().Add(d)
	if a.ended || !a.at.IsZero() && !at.Before(a.at) {
		return
	}
	a.at = at
	if a.timer == nil {
		a.timer = time.AfterFunc(d, a.ring)
		return
	}
	a.timer.Reset(d)
}

// fired notes that the alarm is no longer armed.
func (a *alarm) fired() { a.at = time.Time{} }

// stop disarms the alarm.
func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
		a.at = time.Time{}
	}
}

// end disarms the alarm for good: otherwise it would keep a closed client in memory.
func (a *alarm) end() {
	a.stop()
	a.ended = true
}
