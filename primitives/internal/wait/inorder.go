package wait

import (
	"context"
	"time"
)

// order is what a queue knows whose waiters go on in the order in which they came. The mutex of Waiters guards its
// fields. Of nil, which is any other queue's, the methods do nothing.
type order struct {
	arrivals int  // of waiters, up to now
	asked    int  // units for which waiters ask the server: no answer has come yet
	answers  bool // the server has answered a waiter, and since then there were waiters all the time

	// The answer to which the most was in use: answers may overtake each other, and each grant adds to that.
	freeIn func(units int) time.Duration
	at     time.Time
}

// note notes an answer that has come now.
func (o *order) note(freeIn func(units int) time.Duration) {
	now := time.Now()
	o.answers = true
	if o.freeIn == nil || !now.Add(freeIn(0)).Before(o.at.Add(o.freeIn(0))) {
		o.freeIn, o.at = freeIn, now
	}
}

// asks counts the units for which me begins to ask.
func (o *order) asks(me *waiter) {
	if o != nil {
		o.asked += me.need
	}
}

// answered says that me does not ask any more.
func (o *order) answered(me *waiter) {
	if o != nil && me.woken {
		o.asked -= me.need
		me.woken = false
	}
}

// place gives me a number, unless it has one.
func (o *order) place(me *waiter) {
	if me.arrival == 0 {
		o.arrivals++
		me.arrival = o.arrivals
	}
}

// contendInOrder is contend for waiters that go on in the order in which they came, when time has freed enough units:
// no message comes. While a waiter of the queue asks or is parked, a newcomer parks behind it. Each answer wakes those
// of the first waiters for which there are units at once, and arms the timer for the next. So a grant costs one try,
// unless callers that are not in the queue take units, too.
func (q *queue) contendInOrder(ctx context.Context, me *waiter, a Attempt) error {
	if me.arrival == 0 && q.standBehind(me) {
		if err := q.awaitWakeUp(ctx, me); err != nil {
			return err
		}
		q.follow(a)
	}
	for {
		answer, err := a.Try(ctx)
		if err == nil && answer.pauses() {
			if err = q.waiters.pause(ctx, answer); err == nil {
				continue
			}
		}
		if err != nil {
			q.passOn(me)
			return err
		}
		if q.goOn(me, answer.Granted); answer.Granted {
			return nil
		}
		if err := q.awaitWakeUp(ctx, me); err != nil {
			return err
		}
	}
}

// standBehind parks me if there are other waiters, and reports whether it did.
func (q *queue) standBehind(me *waiter) bool {
	q.waiters.mu.Lock()
	defer q.waiters.mu.Unlock()
	q.order.place(me)
	if q.channel.Joined == 1 {
		me.woken, q.order.answers = true, false
		q.order.asks(me)
		return false
	}
	me.element = q.parked.PushBack(me)
	q.channel.Alarm.Within(q.interval())
	return true
}

// follow lets a learn that its waiter has stood behind others, if the server has answered one of them.
func (q *queue) follow(a Attempt) {
	q.waiters.mu.Lock()
	defer q.waiters.mu.Unlock()
	if f, follows := a.(interface{ Followed() }); follows && q.order.answers {
		f.Followed()
	}
}

// goOn parks me again unless it was granted, and wakes the next waiters.
func (q *queue) goOn(me *waiter, granted bool) {
	q.waiters.mu.Lock()
	defer q.waiters.mu.Unlock()
	q.order.answered(me)
	if granted {
		q.wakeInOrder(me)
		return
	}
	q.parkInOrder(me)
}

// parkInOrder parks me in its place after a refusal, and wakes the next waiters. The caller holds the mutex.
func (q *queue) parkInOrder(me *waiter) {
	q.order.place(me)
	behind := q.parked.Front()
	for behind != nil && behind.Value.(*waiter).arrival < me.arrival { //nolint:forcetypeassert // Only waiters.
		behind = behind.Next()
	}
	if behind == nil {
		me.element = q.parked.PushBack(me)
	} else {
		me.element = q.parked.InsertBefore(me, behind)
	}
	q.wakeInOrder(me)
}

// wakeInOrder wakes those of the first parked waiters for which there are units at once, and arms the timer for the
// next. me has got an answer. The caller holds the mutex.
func (q *queue) wakeInOrder(me *waiter) {
	q.order.note(me.freeIn)
	for first := q.parked.Front(); first != nil; first = q.parked.Front() {
		w := first.Value.(*waiter) //nolint:forcetypeassert // Only waiters.
		free := q.order.at.Add(q.order.freeIn(q.order.asked + w.need))
		if in := time.Until(free); in > 0 {
			q.channel.Alarm.Within(in)
			return
		}
		q.wakeOne()
	}
}
