package wait

import (
	"container/list"
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
)

// channel is where the waiters of one client for one object meet. Its fields are guarded by the
// mutex of Waiters.
//
// Invariant: while a waiter is parked, the timer is armed, so that at the latest then one waiter
// tries.
type channel struct {
	waiters *Waiters
	at      place
	frees   Frees

	users  int       // waiters that have joined, parked or trying
	parked list.List // of *waiter, the head is woken first

	// generation counts everything that may make trying worth while. A waiter reads it before it
	// tries: what has moved it since came too late for the answer.
	generation uint64

	// owed counts the wakes that found nobody parked who could use them. As many of those that were
	// trying then try again before they park, and no more: a wake for one makes one contend.
	owed int

	heard        bool // messages reach the channel
	subscribing  bool
	warned       bool               // that subscribing failed
	giveUp       context.CancelFunc // ends the subscribing
	subscription backend.Subscription
	dropped      bool

	timer *time.Timer
	due   time.Time // when timer fires; zero: it is not armed
}

// waiter is one caller of Wait.
type waiter struct {
	need  int           // units of the object
	ready chan struct{} // receives once for each time that it is woken
	place *list.Element // in channel.parked; nil: it is not parked
	woken bool          // it owes the next one a wake if it gets no answer
	spent bool          // it was woken before, and keeps its place in front
}

func newWaiter(need int) *waiter {
	return &waiter{need: max(need, 1), ready: make(chan struct{}, 1)}
}

// wake makes me ready. The caller holds the mutex.
func (me *waiter) wake() {
	me.place, me.woken, me.spent = nil, true, true
	me.ready <- struct{}{}
}

// contend tries a until it is granted, parking in between.
func (c *channel) contend(ctx context.Context, me *waiter, a Attempt) error {
	for {
		generation := c.now()
		answer, err := a.Try(ctx)
		if err != nil {
			c.passOn(me)
			return err
		}
		if answer.Granted {
			c.share(answer.Free)
			return nil
		}
		if answer.Outage {
			if err := c.pause(ctx, me); err != nil {
				return err
			}
			continue
		}
		if c.parkUnless(generation, me, answer) {
			if err := c.sleep(ctx, me); err != nil {
				return err
			}
		}
	}
}

// now returns the channel's generation.
func (c *channel) now() uint64 {
	c.waiters.mu.Lock()
	defer c.waiters.mu.Unlock()
	return c.generation
}

// share wakes those that can use what a grant has left over.
func (c *channel) share(free int) {
	c.waiters.mu.Lock()
	defer c.waiters.mu.Unlock()
	if free > 0 {
		c.wake(free)
	}
}

// parkUnless parks me after a refusal, unless it is owed a wake since the given generation. What is
// too little for me may be enough for another.
func (c *channel) parkUnless(generation uint64, me *waiter, refused Answer) bool {
	c.waiters.mu.Lock()
	defer c.waiters.mu.Unlock()
	if c.generation != generation && c.owed > 0 {
		c.owed--
		me.woken = true
		return false
	}
	c.park(me, refused)
	if refused.Free > 0 {
		c.wake(min(refused.Free, me.need-1))
	}
	return true
}

// park queues me, in front if it has been there before. The caller holds the mutex.
func (c *channel) park(me *waiter, refused Answer) {
	me.woken = false
	if me.spent {
		me.place = c.parked.PushFront(me)
	} else {
		me.place = c.parked.PushBack(me)
	}
	in := c.waiters.pollIn(c.heard)
	if refused.RetryIn >= 0 {
		// One millisecond more: the server rounds down. The longest duration has no room for it.
		in = min(in, min(refused.RetryIn, in)+time.Millisecond)
	}
	c.arm(in)
}

// sleep returns nil when me is woken, or an error that ends its waiting.
func (c *channel) sleep(ctx context.Context, me *waiter) error {
	select {
	case <-me.ready:
		return nil
	case <-ctx.Done():
		c.passOn(me)
		return ctx.Err()
	case <-c.waiters.ctx.Done():
		return backend.ErrClosed
	}
}

// pause returns nil after a while, and no message ends it: giving back what an attempt without an
// answer has taken wakes waiters, too, and they would do nothing else.
func (c *channel) pause(ctx context.Context, me *waiter) error {
	timer := time.NewTimer(min(c.waiters.pollIn(false), mostPause))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		c.passOn(me)
		return ctx.Err()
	case <-c.waiters.ctx.Done():
		return backend.ErrClosed
	}
}

// passOn takes me out of the queue, or wakes the next if me was woken and got no answer.
func (c *channel) passOn(me *waiter) {
	c.waiters.mu.Lock()
	defer c.waiters.mu.Unlock()
	if me.place != nil {
		c.parked.Remove(me.place)
		me.place = nil
		return
	}
	if me.woken {
		c.wakeOne()
	}
}

// enter begins one waiter's use of the channel. The first one subscribes, and ends the channel's
// lingering: when it parks it arms the timer for itself. The caller holds the mutex.
func (c *channel) enter() {
	if c.users == 0 {
		if c.timer != nil {
			c.timer.Stop()
			c.due = time.Time{}
		}
		c.subscribe()
	}
	c.users++
}

// leave ends one waiter's use of the channel.
func (c *channel) leave() {
	c.waiters.mu.Lock()
	defer c.waiters.mu.Unlock()
	c.users--
	c.owe(0)
	if c.users == 0 && !c.dropped {
		c.arm(linger)
	}
}

// wake makes those waiters try that can use n free units: of those that are parked the first that
// fit, and then of those that are trying as many as units are left, again, if they are refused. The
// caller holds the mutex.
func (c *channel) wake(n int) {
	c.generation++
	for e := c.parked.Front(); e != nil && n > 0; {
		next, w := e.Next(), e.Value.(*waiter) //nolint:forcetypeassert // Only waiters.
		if w.need <= n {
			c.parked.Remove(e)
			w.wake()
			if n != All {
				n -= w.need
			}
		}
		e = next
	}
	c.owe(n)
}

// wakeOne makes one waiter try, no matter how much it needs: what is free is not known until its
// answer comes. The caller holds the mutex.
func (c *channel) wakeOne() {
	c.generation++
	if first := c.parked.Front(); first != nil {
		c.parked.Remove(first).(*waiter).wake() //nolint:forcetypeassert // Only waiters.
		return
	}
	c.owe(1)
}

// owe adds n to what is owed, which is never more than there are waiters trying. The caller holds
// the mutex.
func (c *channel) owe(n int) {
	trying := c.users - c.parked.Len()
	c.owed = min(c.owed+min(n, trying), trying)
}

// arm makes the timer fire in d, or earlier if it does anyway. The caller holds the mutex.
func (c *channel) arm(d time.Duration) {
	at := time.Now().Add(d)
	if !c.due.IsZero() && !at.Before(c.due) {
		return
	}
	c.due = at
	if c.timer == nil {
		c.timer = time.AfterFunc(d, c.tick)
		return
	}
	c.timer.Reset(d)
}

// tick polls: it wakes one waiter, or ends a channel that nobody uses any more.
func (c *channel) tick() {
	c.waiters.mu.Lock()
	c.due = time.Time{}
	unused := func() {}
	switch {
	case c.dropped:
	case c.users == 0:
		unused = c.drop()
	default:
		c.poll()
	}
	c.waiters.mu.Unlock()
	unused()
}

// poll wakes one waiter, and keeps the timer going for the others. The caller holds the mutex.
func (c *channel) poll() {
	c.wakeOne()
	if c.parked.Len() > 0 {
		c.arm(c.waiters.pollIn(c.heard))
	}
	c.subscribe()
}

// drop ends the channel. The caller holds the mutex, and calls what drop returns without it, to
// cancel the subscription.
func (c *channel) drop() (cancel func()) {
	c.dropped = true
	delete(c.waiters.channels, c.at)
	if c.timer != nil {
		c.timer.Stop()
	}
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

// subscribe begins to subscribe if nothing was subscribed yet. The caller holds the mutex.
func (c *channel) subscribe() {
	w := c.waiters
	if !w.pubsub || c.heard || c.subscribing {
		return
	}
	ctx, giveUp := context.WithCancel(w.ctx)
	c.subscribing, c.giveUp = true, giveUp
	w.running.Add(1)
	go func() {
		defer w.running.Done()
		defer giveUp()
		subscription, err := w.backend.Subscribe(ctx, c.at.channel, c.handle)
		c.subscribed(subscription, err)
	}()
}

// subscribed ends the subscribing, well or not.
func (c *channel) subscribed(subscription backend.Subscription, err error) {
	if err != nil {
		c.refused(err)
	} else if !c.acknowledged(subscription) {
		subscription.Cancel()
	}
}

// acknowledged notes that messages are heard from now on: what was published before may have been
// missed, so one waiter looks again. It reports false if the channel was dropped meanwhile.
func (c *channel) acknowledged(subscription backend.Subscription) bool {
	c.waiters.mu.Lock()
	defer c.waiters.mu.Unlock()
	c.subscribing = false
	if c.dropped {
		return false
	}
	c.subscription, c.heard = subscription, true
	c.wakeOne()
	return true
}

// refused notes a failure, and logs the first. The logger may block, and is called without the mutex.
func (c *channel) refused(err error) {
	if c.subscribingFailed() {
		c.waiters.log.Warn("subscribing failed", zap.String("channel", c.at.channel), zap.Error(err))
	}
}

// subscribingFailed ends the subscribing, and reports whether it is the first to log. Another
// poll is due soon, which subscribes again: without messages waiters have nothing else.
func (c *channel) subscribingFailed() (first bool) {
	c.waiters.mu.Lock()
	defer c.waiters.mu.Unlock()
	c.subscribing = false
	if c.dropped || c.users == 0 {
		return false
	}
	c.arm(subscribeAgain)
	first = !c.warned
	c.warned = true
	return first
}

// handle takes an event of the subscription: a message wakes those that can use what it says is
// free, a gap one, since a message may have been missed.
func (c *channel) handle(event backend.Event) {
	c.waiters.mu.Lock()
	defer c.waiters.mu.Unlock()
	if event.Kind != backend.Message {
		c.wakeOne()
	} else if n := c.frees(event.Payload); n > 0 {
		c.wake(n)
	}
}
