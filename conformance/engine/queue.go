package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// line is a channel, as the machine hears it.
type line struct {
	ear    *harness.Inbox
	posted []backend.Event
}

// line returns the channel of that name, to which the machine listens. It returns nil if there are no messages.
func (o *object[S]) line(channel string) *line {
	if o.lines[channel] == nil && o.listen != nil {
		o.lines[channel] = &line{ear: o.listen(channel)}
	}
	return o.lines[channel]
}

// heard reports whether events are what was posted.
func (l *line) heard(events []backend.Event) bool { return slices.Equal(events, l.posted) }

// posts notes the messages of an object.
func (m *machine[S, I, O]) posts(o *object[S], messages string) {
	for message := range strings.FieldsFuncSeq(messages, func(r rune) bool { return r == ',' }) {
		o.misled = false
		if m.of.Passes != nil {
			if c := m.claims[m.of.Passes.Read(message).Owner]; c != nil {
				c.ran = time.Now()
			}
		}
		channel, text := m.of.addressed(o.channel, message)
		if l := o.line(channel); l != nil {
			l.posted = append(l.posted, backend.Event{Payload: text})
		}
	}
}

// addressed returns where a message of an object goes, and its text.
func (p *Primitive[S, I, O]) addressed(channel, message string) (to, text string) {
	if p.Queue == nil {
		return channel, message
	}
	if p.Passes != nil {
		return p.channelOf(channel, p.Passes.Read(message).Owner), message
	}
	return p.channelOf(channel, message), p.Queue.Message
}

// channelOf returns the channel of an owner that waits for the object of another channel.
func (p *Primitive[S, I, O]) channelOf(channel, owner string) string {
	if p.Passes != nil {
		owner = p.Passes.Group(owner)
	}
	return channel + ":" + owner
}

// queued returns the owners in the queue of an object on the server, if it has one.
func (p *Primitive[S, I, O]) queued(ctx context.Context, e *harness.Env, name string) []string {
	if p.Queue == nil {
		return nil
	}
	command := "LRANGE"
	if key, _ := named(p.Stored(name, p.Some), p.Queue.Key(name)); key.Set != nil {
		command = "ZRANGE"
	}
	return texts(must.Get(e.Command(ctx, command, p.Queue.Key(name), "0", "-1").Items()))
}

// awaitWaiter waits until a call waits for an object, and its client hears of it by messages.
func (p *Primitive[S, I, O]) awaitWaiter(ctx context.Context, e *harness.Env, name string) {
	channel := p.Channel(e.Capabilities, name)
	if p.Queue == nil {
		e.AwaitSubscribers(ctx, channel, 1)
		return
	}
	harness.Eventually(ctx, "a waiter in the queue", func() bool {
		all := p.queued(ctx, e, name)
		return len(all) > 0 && e.Subscribers(ctx, p.channelOf(channel, all[0])) > 0
	})
}

// place is how long a call keeps its place without a try.
func (m *machine[S, I, O]) place(c *call[S, I, O]) time.Duration {
	if m.of.Passes != nil {
		lease, _ := m.leaseOf(c)
		return min(m.of.Passes.Worth, lease)
	}
	return cmp.Or(m.of.Queue.Place(c.in), m.lease)
}

// retry is after how long a call tries again that nobody wakes.
func (m *machine[S, I, O]) retry(c *call[S, I, O]) time.Duration {
	every := cmp.Or(m.of.Retry, m.poll+m.poll/10)
	switch {
	case m.of.Passes != nil:
		every = min(m.place(c)/4, m.poll)*11/10 + m.trip(m.parties[c.party])
		every += 50 * time.Millisecond // Not all look at once.
	case m.of.Queue != nil:
		every = min(every, m.place(c)/3+time.Millisecond)
	}
	return every
}

// waits reports whether the owner waits in a queue, and may ask again. A script may be sent in the instant in
// which its caller leaves.
func (c *claim[S, I, O]) waits() bool {
	return c.queued && !c.run.answered.IsZero() && (c.over.IsZero() || !c.call.ended.IsZero())
}

// comes notes that an owner asks, which may get a place in the queue.
func (m *machine[S, I, O]) comes(c *claim[S, I, O], owner string, in I) {
	if _, before, _ := m.of.Hold.Of(c.call.awaits); before == owner {
		return
	}
	c.call.awaits, c.call.there, c.call.notified = in, time.Time{}, time.Time{}
	if now := time.Now(); m.ready(c.call) {
		c.call.came, c.call.there, c.call.notified = true, now, now
	}
}

// unasked forgets a claim whose owner holds nothing, and has no place.
func (m *machine[S, I, O]) unasked(c *claim[S, I, O]) {
	if !c.queued {
		delete(m.claims, c.owner)
	}
}

// leaves notes that a call has ended whose owner may have a place in a queue.
func (m *machine[S, I, O]) leaves(call *call[S, I, O]) {
	for _, c := range m.claims {
		if c.call == call && c.queued && !c.granted {
			c.ends(time.Now())
		}
	}
}

// stays reports whether the call of an owner in a queue goes on waiting.
func (m *machine[S, I, O]) stays(c *claim[S, I, O]) bool {
	return c.waits() && c.over.IsZero() && !c.granted && c.call.ctx.Err() == nil &&
		m.parties[c.call.party].closing.IsZero()
}

// lookAtPlace checks that no active waiter is taken for crashed.
func (m *machine[S, I, O]) lookAtPlace(c *claim[S, I, O], now time.Time) {
	p := m.parties[c.call.party]
	since, sound := m.soundSince(p)
	if m.of.Queue == nil || m.stepped || !m.stays(c) || !sound || m.trip(p) > m.place(c.call)/4 {
		return
	}
	most := m.retry(c.call) + m.trip(p)
	must.Not(now.Sub(latest(since, c.run.answered, c.life.shown)) > most, "it waits, and does not try")
	if m.of.Passes != nil { // A beat says that the place is lost, and an acquire gets it again.
		if c.call.object.state.Kind == Other {
			return
		}
		most += 3 * m.trip(p)
		since = latest(since, c.call.object.meddled)
	}
	must.Not(now.Sub(since) > most && !m.waiting(c) && !m.has(c), "it waits, and has lost its place")
}

// waiting reports whether others wait behind a claim's owner, or stand back for it.
func (m *machine[S, I, O]) waiting(c *claim[S, I, O]) bool {
	s := c.call.object.state
	return m.of.Queue != nil && slices.Contains(m.of.Queue.Waiting(s), c.owner) ||
		m.of.Hold.Places != nil && slices.Contains(m.of.Hold.Places(s), c.owner)
}

// keeps reports whether the server keeps something for a claim's owner, whom nobody needs any more: the
// object, or a place.
func (m *machine[S, I, O]) keeps(c *claim[S, I, O]) bool {
	c.stranded = c.stranded || c.call.object.state.Kind == Other
	return m.has(c) || !c.stranded && m.waiting(c)
}
