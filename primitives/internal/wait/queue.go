package wait

import (
	"container/list"
	"context"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/listen"
)

// queue has the waiters of one client for one object. The mutex of Waiters guards its fields.
//
// Invariant: while a waiter is parked, the timer is armed. When it fires, one waiter tries.
type queue struct {
	waiters   *Waiters
	key       queueKey
	freeUnits func(payload string) int
	private   bool // it is dropped with its waiter, without lingering
	returns   bool // as [Want.Returns]

	order *order // nil: [Want.InOrder] is not set

	parked list.List // of *waiter; the head is woken first

	// generation counts the events after which a try may succeed. A waiter reads it before it
	// tries: if it has changed after the try, the answer may be older than the event.
	generation uint64

	// pendingWakeUps counts the wake-ups that no parked waiter could use. For each of them, one of
	// the waiters that were trying at that time tries again before it parks.
	pendingWakeUps int
	pendingNeed    int // the most units of one of them: a waiter that needs more does not use it

	refusals int // in a row since the last grant, for the backoff

	channel listen.Channel // of the waiters, parked or trying

	later  listen.Alarm // rings for a message that was delayed
	passed int64        // messages in a row that were delayed, and overtaken by the next message
}

// waiter is one caller of Wait.
type waiter struct {
	need        int                           // units of the object
	others      func(least, most int)         // as [Want.Others]
	freeIn      func(units int) time.Duration // as [Want.InOrder]
	arrival     int                           // in an ordered queue: its number, from 1
	ready       chan struct{}                 // receives a value for each wake-up
	element     *list.Element                 // in queue.parked; nil: not parked
	woken       bool                          // if it gets no answer, it must wake the next waiter
	wokenBefore bool                          // it was woken once, and so parks at the front
}

func newWaiter(want Want) *waiter {
	return &waiter{
		need: max(want.Need, 1), others: want.Others, freeIn: want.InOrder, ready: make(chan struct{}, 1),
	}
}

// wake makes me ready. The caller holds the mutex.
func (me *waiter) wake() {
	me.element, me.woken, me.wokenBefore = nil, true, true
	me.ready <- struct{}{}
}

// contend tries a until it is granted, parking in between.
func (q *queue) contend(ctx context.Context, me *waiter, a Attempt) error {
	if q.order != nil {
		return q.contendInOrder(ctx, me, a)
	}
	for {
		generation := q.beginTry(me)
		answer, err := a.Try(ctx)
		if err != nil {
			q.passOn(me)
			return err
		}
		if answer.Granted {
			q.wakeForRest(answer.Free)
			q.wakeAtEnd(answer.RetryIn)
			return nil
		}
		if answer.pauses() {
			if err := q.waiters.pause(ctx, answer); err != nil {
				q.passOn(me)
				return err
			}
			if answer.Moved {
				return ErrMoved
			}
			continue
		}
		if q.parkUnless(generation, me, answer) {
			if err := q.awaitWakeUp(ctx, me); err != nil {
				return err
			}
		}
	}
}

// beginTry returns the queue's generation. If me asks for the needs of the parked waiters, me gets these.
func (q *queue) beginTry(me *waiter) uint64 {
	q.waiters.mu.Lock()
	defer q.waiters.mu.Unlock()
	if me.others != nil {
		me.others(q.needs())
	}
	return q.generation
}

// needs returns the least and the greatest need of the parked waiters. The caller holds the mutex.
func (q *queue) needs() (least, most int) {
	for e := q.parked.Front(); e != nil; e = e.Next() {
		need := e.Value.(*waiter).need //nolint:forcetypeassert // Only waiters.
		if least == 0 || need < least {
			least = need
		}
		most = max(most, need)
	}
	return least, most
}

// wakeForRest wakes waiters for units that are free after a grant.
func (q *queue) wakeForRest(free int) {
	q.waiters.mu.Lock()
	defer q.waiters.mu.Unlock()
	if free > 0 {
		q.wake(free)
	}
}

// wakeAtEnd arms the timer for the end of a lease that one waiter was granted. The other waiters
// only know the end of an earlier lease, and no message comes if this lease expires. With a
// backoff, the pauses start short again.
func (q *queue) wakeAtEnd(lease time.Duration) {
	q.waiters.mu.Lock()
	defer q.waiters.mu.Unlock()
	q.refusals = 0
	if lease > 0 && q.parked.Len() > 0 {
		q.channel.Alarm.Within(min(lease, q.interval()) + time.Millisecond)
	}
}

// parkUnless parks me after a refusal. It reports false, and does not park me, if there is a
// pending wake-up after the given generation with enough units for me. Units that are too few for
// me may be enough for another waiter, which parkUnless wakes.
func (q *queue) parkUnless(generation uint64, me *waiter, refused Answer) bool {
	q.waiters.mu.Lock()
	defer q.waiters.mu.Unlock()
	if q.generation != generation && q.pendingWakeUps > 0 && me.need <= q.pendingNeed {
		q.pendingWakeUps--
		me.woken = true
		return false
	}
	q.park(me, refused)
	if refused.Free >= me.need {
		q.wakeBigger(me.need, refused.Free)
	} else if refused.Free > 0 {
		q.wake(refused.Free)
	}
	return true
}

// wakeBigger wakes the first parked waiter that needs more than need units, but no more than free:
// the free units are reserved for such a waiter. The caller holds the mutex.
func (q *queue) wakeBigger(need, free int) {
	for e := q.parked.Front(); e != nil; e = e.Next() {
		if w := e.Value.(*waiter); w.need > need && w.need <= free { //nolint:forcetypeassert // Only waiters.
			q.generation++
			q.parked.Remove(e)
			w.wake()
			return
		}
	}
}

// park queues me: at the front if it was woken before, otherwise at the end. The caller holds the
// mutex.
func (q *queue) park(me *waiter, refused Answer) {
	me.woken = false
	if me.wokenBefore {
		me.element = q.parked.PushFront(me)
	} else {
		me.element = q.parked.PushBack(me)
	}
	if me.wokenBefore || q.refusals == 0 { // Newcomers do not make the others wait longer.
		q.refusals++
	}
	in := q.interval()
	if refused.RetryIn >= 0 {
		// One millisecond more, since the server rounds down. in is the bound first: the longest
		// duration has no room for a millisecond.
		in = min(in, min(refused.RetryIn, in)+time.Millisecond)
	}
	q.channel.Alarm.Within(in)
}

// awaitWakeUp returns nil when me is woken, or an error that ends its waiting.
func (q *queue) awaitWakeUp(ctx context.Context, me *waiter) error {
	select {
	case <-me.ready:
		return nil
	case <-ctx.Done():
		q.passOn(me)
		return ctx.Err()
	case <-q.waiters.client.Context().Done():
		return listen.ErrClosed
	}
}

// passOn removes me from the queue. If me was woken and got no answer, passOn wakes the next
// waiter. So it does if me was the first in an ordered queue, whose timer is armed for me.
func (q *queue) passOn(me *waiter) {
	q.waiters.mu.Lock()
	defer q.waiters.mu.Unlock()
	next := me.woken
	if me.element != nil {
		next = q.order != nil && q.parked.Front() == me.element
		q.parked.Remove(me.element)
		me.element = nil
	} else {
		q.order.answered(me)
	}
	if next {
		q.wakeOne()
	}
}

// leave counts a waiter that has left. A private queue is dropped with its last waiter.
func (q *queue) leave() {
	q.waiters.mu.Lock()
	q.channel.Leave()
	q.addPendingWakeUps(0, 0)
	unused := func() {}
	if q.private && q.channel.Joined == 0 && !q.channel.Dropped {
		unused = q.Drop()
	}
	q.waiters.mu.Unlock()
	unused()
}

// wake makes waiters try for n free units. First it goes through the parked waiters, in order, and
// wakes each waiter that needs no more than the rest of n. For each unit that is left then, one
// waiter that is trying tries again if it is refused. The caller holds the mutex.
func (q *queue) wake(n int) {
	q.generation++
	most := n
	for e := q.parked.Front(); e != nil && n > 0; {
		next, w := e.Next(), e.Value.(*waiter) //nolint:forcetypeassert // Only waiters.
		if w.need <= n {
			q.parked.Remove(e)
			w.wake()
			if n != AllUnits {
				n -= w.need
			}
		}
		e = next
	}
	q.addPendingWakeUps(n, most)
}

// announce is wake for the units of a message. If units may return without a message, one waiter
// tries in any case, because the time of their return may have changed. The caller holds the mutex.
func (q *queue) announce(n int) {
	parked := q.parked.Len()
	q.wake(n)
	if q.returns && q.parked.Len() == parked {
		q.wakeOne()
	}
}

// wakeOne makes one waiter try, whatever number of units it needs: only its answer says how many
// units are free. The caller holds the mutex.
func (q *queue) wakeOne() {
	q.generation++
	if first := q.parked.Front(); first != nil {
		w := q.parked.Remove(first).(*waiter) //nolint:forcetypeassert // Only waiters.
		q.order.asks(w)
		w.wake()
		return
	}
	q.addPendingWakeUps(1, AllUnits)
}

// addPendingWakeUps adds n to the pending wake-ups, for waiters that need no more units than most.
// There are never more pending wake-ups than waiters that are trying. The caller holds the mutex.
func (q *queue) addPendingWakeUps(n, most int) {
	if q.pendingWakeUps == 0 {
		q.pendingNeed = 0
	}
	q.pendingNeed = max(q.pendingNeed, most)
	trying := q.channel.Joined - q.parked.Len()
	q.pendingWakeUps = min(q.pendingWakeUps+min(n, trying), trying)
}

// Poll implements [listen.Listener]. It wakes one waiter, and arms the timer again for the others. With a
// backoff, which may be shorter than a try, one waiter at a time tries for all.
func (q *queue) Poll() {
	if trying := q.channel.Joined - q.parked.Len(); trying == 0 || q.key.backoff == (Backoff{}) {
		q.wakeOne()
	}
	if q.parked.Len() > 0 {
		q.channel.Alarm.Within(q.interval())
	}
}

// interval returns the time to the next try if no message comes. The caller holds the mutex.
func (q *queue) interval() time.Duration {
	if q.key.backoff != (Backoff{}) {
		return q.key.backoff.after(q.refusals)
	}
	return q.waiters.client.PollInterval(q.channel.Subscribed)
}

// Drop implements [listen.Listener].
func (q *queue) Drop() (cancel func()) {
	delete(q.waiters.queues, q.key)
	q.later.End()
	return q.channel.Drop()
}

func (q *queue) Acknowledged() { q.wakeOne() }

// Handle implements [listen.Listener]. A message wakes the waiters that can use the free units. A gap
// wakes one waiter, since a message may have been missed.
func (q *queue) Handle(event backend.Event) {
	free := 0
	if event.Kind == backend.EventMessage {
		if free = q.freeUnits(event.Payload); free == Forced {
			q.waiters.OnForced(q.key.object)
			return
		}
	}
	q.waiters.mu.Lock()
	defer q.waiters.mu.Unlock()
	if event.Kind != backend.EventMessage {
		q.wakeOne()
	} else if free > 0 {
		q.hear(free)
	}
}
