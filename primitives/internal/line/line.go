// Package line waits in a queue on the server. A release grants the object to the first waiter of the
// queue, and sends a message to that waiter's client alone. So a waiter does not try again: it waits for
// its grant.
//
// The server must know which waiters still wait. Each client regularly sends the heartbeats of its
// waiters together: a beat. The server skips a waiter that was silent for too long. The answer to a beat
// also has the grants whose messages were lost.
package line

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/listen"
)

const (
	// ownersPerBeat is how many waiters' heartbeats one script takes: about 400 us of the
	// server's time.
	ownersPerBeat = 100

	// beatsAtOnce is how many beats of a line are under way at a time: less than 7 ms of the server's
	// time together.
	beatsAtOnce = 16

	// rejoinsAtOnce is how many waiters of a client ask for their lost places at a time.
	rejoinsAtOnce = 8

	// nearRank is the rank up to which waiters look one after the other when a holder's time has
	// passed. Later waiters look at random times, since all waiters before them may have crashed.
	nearRank = 8

	// deafAfter is how many grants in a row a beat may find without a message before the beats come
	// as often as without a subscription.
	deafAfter = 2
)

// Line is a queue on the server. A release grants the object to the first waiter of the queue, and
// sends a message to it. The waiters of one client in the queue share a channel, and send their
// heartbeats together. Waiters with the same Key and Channel are in one line, and must have the
// same Wait and Beater.
type Line struct {
	Key, Channel string

	// Wait is how long a heartbeat counts, and how long a grant by message lasts.
	Wait   time.Duration
	Beater Beater
}

// Ticket is the attempt of one waiter in a [Line].
type Ticket interface {
	// Owner returns the owner that tries next. It changes only after an Enqueue that may yet be
	// executed.
	Owner() string

	// Enqueue asks the server once. The server grants the object to the owner, or puts the owner
	// into the queue: at the end if place is 0, otherwise at that place. stamp is the number of
	// this sending. It is 0 for the owner's first sending, with place 0. An error ends the waiting.
	Enqueue(ctx context.Context, place, stamp int64) (Enqueued, error)

	// Granted takes a grant by a message or a beat. The grant lasts for lasts, from started on.
	// Granted reports false if that time has passed. If the owner has changed then, the new owner
	// asks for the place.
	Granted(ctx context.Context, token int64, started time.Time, lasts time.Duration) bool
}

// Enqueued is the answer to an Enqueue.
type Enqueued struct {
	Granted bool
	Outage  bool          // there was no answer, and the waiter asks again after a pause
	Place   int64         // in the queue
	HeldFor time.Duration // by the present holder; negative: unknown, or forever
}

// Lines are the waiters of one client, in one line for each queue.
type Lines struct {
	client    *listen.Client
	rejoining chan struct{} // has a value for each waiter that asks for its lost place

	// OnForced is called when a hold of the object with the given key was ended by force. It must not block. It is set
	// before anybody waits.
	OnForced func(key string)

	mu     sync.Mutex
	lines  map[lineKey]*line
	owners map[string]*placeholder // the waiters in lines, and owners that were granted in a line
	stamp  int64                   // of the last heartbeat that was sent
}

// New returns the Lines of a client.
func New(c *listen.Client) *Lines {
	all := &Lines{
		client: c, rejoining: make(chan struct{}, rejoinsAtOnce),
		lines: make(map[lineKey]*line), owners: make(map[string]*placeholder),
	}
	listen.DropAtClose(c, &all.mu, all.lines)
	return all
}

// line has one client's waiters in one [Line]. The mutex of Lines guards its fields.
type line struct {
	Line
	lines   *Lines
	key     lineKey
	channel listen.Channel // of the waiters in the line; its alarm rings for the next beat

	queued  []*placeholder // waiters that have a place
	sent    []sending      // the last beats, by stamp
	beating bool           // a beat is under way
	again   bool           // another beat follows it at once
	fullAt  time.Time      // when all waiters must send signs again; before that the first are enough
	deaf    int            // grants in a row that a beat found without a message
}

type lineKey struct{ key, channel string }

// sending is a heartbeat that was sent.
type sending struct {
	stamp int64
	at    time.Time
}

// placeholder is one caller of Wait.
type placeholder struct {
	ticket Ticket
	line   *line // nil: there was no line, and it has not been refused yet
	owner  string
	place  int64
	index  int     // in line.queued; -1: not there
	asked  sending // its last Enqueue

	// ready gets a value for a grant, or, without a grant, for the loss of the place.
	ready  chan struct{}
	grant  *grant // once it is set, another message says nothing new
	failed error  // the server's refusal of its beat
}

type grant struct {
	token   int64
	started time.Time
}

// Wait tries t, and waits in the line until t is granted. It returns nil once t is granted,
// otherwise t's error, ctx's error or [listen.ErrClosed]. After the last two nothing is under way.
// If t was granted after waiting, its owner stays known until [Lines.Forget].
func (all *Lines) Wait(ctx context.Context, in Line, t Ticket) (err error) {
	me := &placeholder{ticket: t, index: -1}
	if !all.enterLine(in, me) {
		return listen.ErrClosed
	}
	defer all.leaveLine(me, &err)
	for {
		answer, err := all.enqueue(ctx, me)
		if err != nil || answer.Granted {
			return err
		}
		if answer.Outage {
			if err = all.client.AfterOutage(ctx); err != nil {
				return err
			}
			continue
		}
		all.takePlace(in, me, answer)
		if granted, err := all.awaitGrant(ctx, in.Wait, me); granted || err != nil {
			return err
		}
	}
}

// Forget says that an owner no longer holds the object that it was granted in a line.
func (all *Lines) Forget(owner string) {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.owners, owner)
}

// enterLine adds me to its line, if the line exists, so a message for me finds it. It reports
// false if the client is closed.
func (all *Lines) enterLine(in Line, me *placeholder) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.client.Context().Err() != nil {
		return false
	}
	if l := all.lines[lineKey{in.Key, in.Channel}]; l != nil {
		l.admit(me)
	}
	return true
}

// leaveLine ends the waiting of me. If me was granted after it had a place, its owner stays known:
// another message may come for it.
func (all *Lines) leaveLine(me *placeholder, failed *error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if *failed != nil || me.place == 0 {
		delete(all.owners, me.owner)
	}
	if l := me.line; l != nil {
		l.remove(me)
		l.channel.Leave()
	}
}

// enqueue asks once for me. Of the waiters that have lost a place, a few ask at a time.
func (all *Lines) enqueue(ctx context.Context, me *placeholder) (Enqueued, error) {
	if me.place > 0 {
		select {
		case all.rejoining <- struct{}{}:
			defer func() { <-all.rejoining }()
		case <-ctx.Done():
			return Enqueued{}, ctx.Err()
		case <-all.client.Context().Done():
			return Enqueued{}, listen.ErrClosed
		}
	}
	return me.ticket.Enqueue(ctx, me.place, all.noteAsked(me))
}

// noteAsked notes that me is about to ask, as its present owner, and returns the stamp.
func (all *Lines) noteAsked(me *placeholder) int64 {
	owner := me.ticket.Owner()
	all.mu.Lock()
	defer all.mu.Unlock()
	if owner != me.owner {
		delete(all.owners, me.owner)
		me.owner, me.grant = owner, nil
		all.owners[owner] = me
	}
	me.asked = sending{at: time.Now()}
	if me.place > 0 {
		all.stamp++
		me.asked.stamp = all.stamp
	}
	return me.asked.stamp
}

// takePlace notes the place of me, in a line that has a channel from then on.
func (all *Lines) takePlace(in Line, me *placeholder, answer Enqueued) {
	all.mu.Lock()
	defer all.mu.Unlock()
	me.place = answer.Place
	if me.ready == nil {
		me.ready = make(chan struct{}, 1)
		if me.grant != nil {
			me.ready <- struct{}{}
		}
	}
	if all.client.Context().Err() != nil {
		return // awaitGrant returns the error.
	}
	if me.line == nil {
		all.lineOf(in).admit(me)
	}
	me.line.add(me)
	me.line.lookAt(answer.HeldFor, -1)
}

// lineOf returns the line, and creates it if it is missing. The caller holds the mutex.
func (all *Lines) lineOf(in Line) *line {
	key := lineKey{in.Key, in.Channel}
	l := all.lines[key]
	if l == nil {
		l = &line{Line: in, lines: all, key: key}
		l.channel.Init(all.client, in.Channel, &all.mu, l)
		all.lines[key] = l
	}
	return l
}

// awaitGrant reports true when me was granted the object, with a grant that lasts for lasts, and
// false if its place is lost.
func (all *Lines) awaitGrant(ctx context.Context, lasts time.Duration, me *placeholder) (granted bool, err error) {
	for {
		select {
		case <-me.ready:
		case <-ctx.Done():
			return false, ctx.Err()
		case <-all.client.Context().Done():
			return false, listen.ErrClosed
		}
		g, err := all.takeGrant(me)
		if g == nil || err != nil {
			return false, err
		}
		if me.ticket.Granted(ctx, g.token, g.started, lasts) {
			return true, nil
		}
		if me.ticket.Owner() != me.owner {
			return false, nil
		}
		all.askAgain(me) // The grant came too late. A beat gets the server's state.
	}
}

// takeGrant returns the grant of me, or nil if its place is lost. If the server refused its beat,
// takeGrant returns that error.
func (all *Lines) takeGrant(me *placeholder) (*grant, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	return me.grant, me.failed
}

// askAgain forgets a grant that came too late, and starts a beat that asks for the status of me.
func (all *Lines) askAgain(me *placeholder) {
	all.mu.Lock()
	defer all.mu.Unlock()
	me.grant = nil
	if me.line != nil { // Otherwise the client is closed.
		me.line.add(me)
		me.line.beat(true)
	}
}

// admit adds me to the line. The first waiter subscribes. The caller holds the mutex.
func (l *line) admit(me *placeholder) {
	me.line = l
	if l.channel.Joined == 0 {
		l.fullAt = time.Time{}
	}
	l.channel.Join()
}

// add adds me to the waiters that have a place. The caller holds the mutex.
func (l *line) add(me *placeholder) {
	if me.index < 0 && me.grant == nil {
		me.index = len(l.queued)
		l.queued = append(l.queued, me)
	}
}

// remove removes me from the waiters that have a place. The caller holds the mutex.
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

// Handle implements [listen.Listener]. A message says that an owner was granted the object, and for which
// heartbeat, or that an owner lost it by force.
func (l *line) Handle(event backend.Event) {
	if event.Kind != backend.EventMessage {
		l.lines.mu.Lock()
		defer l.lines.mu.Unlock()
		l.beat(true)
		return
	}
	words := strings.Fields(event.Payload)
	if len(words) == 1 {
		l.lines.OnForced(l.Key)
	}
	if len(words) != 3 {
		return
	}
	token, noToken := strconv.ParseInt(words[1], 10, 64)
	stamp, noStamp := strconv.ParseInt(words[2], 10, 64)
	if noToken == nil && noStamp == nil && !l.deliver(words[0], token, stamp) {
		l.Beater.Stray(words[0])
	}
}

// deliver gives a grant to its owner. It reports false if the owner is not, or no longer, an owner
// of this client. If the heartbeat of a grant is unknown, or has nearly expired, deliver leaves
// the grant to a beat, which extends or denies it.
func (l *line) deliver(owner string, token, stamp int64) bool {
	l.lines.mu.Lock()
	defer l.lines.mu.Unlock()
	l.deaf = 0
	me := l.lines.owners[owner]
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

// sentAt returns when me sent a heartbeat. The caller holds the mutex.
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

// settle ends the waiting of me: it was granted the object or, if g is nil, has lost its place. The
// caller holds the mutex.
func (l *line) settle(me *placeholder, g *grant) {
	l.remove(me)
	me.grant = g
	if me.ready != nil { // Otherwise takePlace sends the value.
		select {
		case me.ready <- struct{}{}:
		default:
		}
	}
}
