package wait

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
)

const (
	// ownersPerBeat is how many waiters one script shows to live: about 400 us of the server's time.
	ownersPerBeat = 100

	// rejoinsAtOnce is how many waiters of a client that have lost their places ask for them at a time.
	rejoinsAtOnce = 8

	// nearRank is the rank up to which waiters look one after the other when a holder's time has passed.
	// Those behind look at random: all before them may have crashed.
	nearRank = 8

	// deafAfter is how many grants in a row may be found without their messages before the beats follow
	// each other as if nothing were subscribed.
	deafAfter = 2
)

// Line is a queue on the server, of which the first who waits is granted the object by the release before
// it, and gets a message. The waiters of one client in it share a channel, and show together that they live.
// Those with the same Key and Channel are in one line; for them Wait and Beater must be the same.
type Line struct {
	Key, Channel string

	// Wait is how long a sign of life is worth something, and how long a grant by message lasts.
	Wait   time.Duration
	Beater Beater
}

// Beater shows the server that waiters live.
type Beater interface {
	// Beat shows that the owners wait, who are at most 100, the first by number first. stamp is the number
	// of this sending. A refusal by the server ends their waiting.
	Beat(ctx context.Context, stamp int64, owners []string) (Beats, error)

	// Stray releases an owner that was granted the object, and that nobody waits with any more. It does
	// not block.
	Stray(owner string)
}

// Beats is the answer to a beat.
type Beats struct {
	HeldFor time.Duration // by the present holder; negative: unknown, or forever
	Nobody  bool          // holds the object yet: the server has found only expired waiters, and wants another beat
	Rank    int64         // how many are before the first of the owners that waits; -1: none of them waits
	Token   int64         // of the owner that holds
	Status  []BeatStatus
}

// BeatStatus is what an owner has.
type BeatStatus int64

// The statuses of an owner.
const (
	NoPlace BeatStatus = 0 // it has neither a place nor the object
	Waits   BeatStatus = 1
	Holds   BeatStatus = 2 // for as long as a sign is worth, from the beat's sending on
)

// Ticket is what waits in a [Line].
type Ticket interface {
	// Owner returns who tries next. It is another one only after an Enqueue that may yet be executed.
	Owner() string

	// Enqueue asks the server once, which grants the object to the owner, or puts it into the queue: at the
	// end if place is 0, else where it was. stamp is the number of this sending, 0 for the owner's first
	// with place 0. An error ends the waiting.
	Enqueue(ctx context.Context, place, stamp int64) (Enqueued, error)

	// Granted takes a grant by a message or a beat, which lasts for so long from a time on. It reports false
	// if that has passed.
	Granted(token int64, started time.Time, lasts time.Duration) bool
}

// Enqueued is the answer to an Enqueue.
type Enqueued struct {
	Granted bool
	Outage  bool          // there was no answer, and the waiter asks again after a pause
	Place   int64         // in the queue
	HeldFor time.Duration // by the present holder; negative: unknown, or forever
}

// line has the waiters of one client in one [Line]. The mutex of Waiters guards its fields.
type line struct {
	Line
	waiters *Waiters
	key     lineKey
	channel channel
	alarm   alarm // rings for the next beat

	joined  int            // waiters that have joined, and not left
	queued  []*placeholder // those that have a place
	sent    []sending      // the last beats, by stamp
	beating bool           // a beat is under way
	again   bool           // another one follows it at once
	fullAt  time.Time      // when all waiters must be shown again; before that the first are enough
	deaf    int            // grants in a row that were found without their messages
}

type lineKey struct{ key, channel string }

// sending is a sign of life that was sent.
type sending struct {
	stamp int64
	at    time.Time
}

// placeholder is one caller of WaitInLine.
type placeholder struct {
	ticket Ticket
	line   *line // nil: it is alone, and has not been refused yet
	owner  string
	place  int64
	index  int     // in line.queued; -1: it is not there
	asked  sending // its last Enqueue

	// ready gets a value when there is something for it: a grant, or, without one, that its place is lost.
	ready  chan struct{}
	grant  *grant // once it has one, another message says nothing new
	failed error  // the server's refusal to have it wait
}

type grant struct {
	token   int64
	started time.Time
}

// WaitInLine tries to get what t stands for, and waits for it in the line. It returns nil once t is granted,
// t's error, ctx's error or [backend.ErrClosed]; after the last two nothing is under way. An owner that was
// granted it after it had waited stays known until [Waiters.Forget].
func (w *Waiters) WaitInLine(ctx context.Context, in Line, t Ticket) (err error) {
	me := &placeholder{ticket: t, index: -1}
	if !w.enterLine(in, me) {
		return backend.ErrClosed
	}
	defer w.leaveLine(me, &err)
	for {
		answer, err := w.enqueue(ctx, me)
		if err != nil || answer.Granted {
			return err
		}
		if answer.Outage {
			if err = w.pause(ctx, Answer{Outage: true}); err != nil {
				return err
			}
			continue
		}
		w.takePlace(in, me, answer)
		if granted, err := w.awaitGrant(ctx, in.Wait, me); granted || err != nil {
			return err
		}
	}
}

// Forget says that an owner which was granted its object in a line holds it no longer.
func (w *Waiters) Forget(owner string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.owners, owner)
}

// enterLine makes me known, so that a message for it finds it. It reports false if the client is closed.
func (w *Waiters) enterLine(in Line, me *placeholder) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ctx.Err() != nil {
		return false
	}
	if l := w.lines[lineKey{in.Key, in.Channel}]; l != nil {
		l.admit(me)
	}
	return true
}

// leaveLine ends the waiting of me. An owner that has had a place stays known, if it holds: another message
// may come for it.
func (w *Waiters) leaveLine(me *placeholder, failed *error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if *failed != nil || me.place == 0 {
		delete(w.owners, me.owner)
	}
	if l := me.line; l != nil {
		l.remove(me)
		if l.joined--; l.joined == 0 && !l.channel.dropped {
			l.alarm.stop()
			l.alarm.within(linger)
		}
	}
}

// enqueue asks once for me. Those that have lost a place ask a few at a time.
func (w *Waiters) enqueue(ctx context.Context, me *placeholder) (Enqueued, error) {
	if me.place > 0 {
		select {
		case w.rejoining <- struct{}{}:
			defer func() { <-w.rejoining }()
		case <-ctx.Done():
			return Enqueued{}, ctx.Err()
		case <-w.ctx.Done():
			return Enqueued{}, backend.ErrClosed
		}
	}
	return me.ticket.Enqueue(ctx, me.place, w.noteAsked(me))
}

// noteAsked notes that me is about to ask, as its present owner, and returns the stamp.
func (w *Waiters) noteAsked(me *placeholder) int64 {
	owner := me.ticket.Owner()
	w.mu.Lock()
	defer w.mu.Unlock()
	if owner != me.owner {
		delete(w.owners, me.owner)
		me.owner, me.grant = owner, nil
		w.owners[owner] = me
	}
	me.asked = sending{at: time.Now()}
	if me.place > 0 {
		w.stamp++
		me.asked.stamp = w.stamp
	}
	return me.asked.stamp
}

// takePlace notes the place that me has, in a line that has a channel from now on.
func (w *Waiters) takePlace(in Line, me *placeholder, answer Enqueued) {
	w.mu.Lock()
	defer w.mu.Unlock()
	me.place = answer.Place
	if me.ready == nil {
		me.ready = make(chan struct{}, 1)
		if me.grant != nil {
			me.ready <- struct{}{}
		}
	}
	if w.ctx.Err() != nil {
		return // awaitGrant says so.
	}
	if me.line == nil {
		w.lineOf(in).admit(me)
	}
	me.line.add(me)
	me.line.lookAt(answer.HeldFor, -1)
}

// lineOf returns the line, and makes it if there is none. The caller holds the mutex.
func (w *Waiters) lineOf(in Line) *line {
	key := lineKey{in.Key, in.Channel}
	l := w.lines[key]
	if l == nil {
		l = &line{Line: in, waiters: w, key: key}
		l.channel = channel{waiters: w, name: in.Channel, listener: l}
		l.alarm.ring = l.ring
		w.lines[key] = l
	}
	return l
}

// awaitGrant reports true when me was granted what it waits for, for so long, and false if its place is lost.
func (w *Waiters) awaitGrant(
	ctx context.Context, lasts time.Duration, me *placeholder,
) (granted bool, err error) {
	for {
		select {
		case <-me.ready:
		case <-ctx.Done():
			return false, ctx.Err()
		case <-w.ctx.Done():
			return false, backend.ErrClosed
		}
		g, err := w.takeGrant(me)
		if g == nil || err != nil {
			return false, err
		}
		if me.ticket.Granted(g.token, g.started, lasts) {
			return true, nil
		}
		w.askAnew(me) // It came too late; a beat says what the server has.
	}
}

// takeGrant returns the grant that has come for me, or nil if its place is lost. If it was refused before, it
// returns that error.
func (w *Waiters) takeGrant(me *placeholder) (*grant, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return me.grant, me.failed
}

// askAnew forgets a grant that came too late, and lets a beat ask what me has.
func (w *Waiters) askAnew(me *placeholder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	me.grant = nil
	if me.line != nil { // Otherwise the client is closed.
		me.line.add(me)
		me.line.beat(true)
	}
}

// admit makes me one of the line's. The first one subscribes. The caller holds the mutex.
func (l *line) admit(me *placeholder) {
	me.line = l
	if l.joined == 0 {
		l.alarm.stop()
		l.fullAt = time.Time{}
	}
	l.joined++
	l.channel.subscribe()
}

// add puts me among those that have a place. The caller holds the mutex.
func (l *line) add(me *placeholder) {
	if me.index < 0 && me.grant == nil {
		me.index = len(l.queued)
		l.queued = append(l.queued, me)
	}
}

// remove takes me from those that have a place. The caller holds the mutex.
func (l *line) remove(me *placeholder) {
	if me.index < 0 {
		return
	}
	last := len(l.queued) - 1
	l.queued[me.index] = l.queued[last]
	l.queued[me.index].index = me.index
	l.queued[last] = nil
	l.queued = l.queued[:last]
	me.index = -1
}

// handle implements [listener]. A message says that an owner was granted the object, by which sign of life.
func (l *line) handle(event backend.Event) {
	if event.Kind != backend.EventMessage {
		l.waiters.mu.Lock()
		defer l.waiters.mu.Unlock()
		l.beat(true)
		return
	}
	words := strings.Fields(event.Payload)
	if len(words) != 3 {
		return
	}
	token, noToken := strconv.ParseInt(words[1], 10, 64)
	stamp, noStamp := strconv.ParseInt(words[2], 10, 64)
	if noToken == nil && noStamp == nil && !l.deliver(words[0], token, stamp) {
		l.Beater.Stray(words[0])
	}
}

// deliver gives a grant to its owner. It reports false if the owner is none of this client's, or not any
// more. A grant by a sign that is nearly used up, or that is not known, is left to a beat, which gives it
// more time, or denies it.
func (l *line) deliver(owner string, token, stamp int64) bool {
	l.waiters.mu.Lock()
	defer l.waiters.mu.Unlock()
	l.deaf = 0
	me := l.waiters.owners[owner]
	if me == nil {
		return false
	}
	if me.grant != nil || stamp < me.asked.stamp {
		return true
	}
	started, known := l.sentAt(me, stamp)
	if !known || time.Since(started) > l.Wait*4/5 {
		l.beat(true)
		return true
	}
	l.settle(me, &grant{token, started})
	return true
}

// sentAt returns when me has sent a sign of life. The caller holds the mutex.
func (l *line) sentAt(me *placeholder, stamp int64) (time.Time, bool) {
	if stamp == me.asked.stamp {
		return me.asked.at, true
	}
	i, found := slices.BinarySearchFunc(l.sent, stamp, func(s sending, stamp int64) int {
		return cmp.Compare(s.stamp, stamp)
	})
	if !found {
		return time.Time{}, false
	}
	return l.sent[i].at, true
}

// settle ends the waiting of me: it was granted the object, or, without a grant, has no place. The caller holds
// the mutex.
func (l *line) settle(me *placeholder, g *grant) {
	l.remove(me)
	me.grant = g
	if me.ready != nil { // Otherwise takePlace does it.
		select {
		case me.ready <- struct{}{}:
		default:
		}
	}
}
