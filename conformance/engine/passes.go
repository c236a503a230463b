package engine

import (
	"errors"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// signs are what one who waits has sent that shows that it lives, where others' scripts grant.
type signs struct {
	sent    map[int64]*scriptRun // by their numbers
	asked   int64                // the number of the last acquire
	shown   time.Time            // when the last was sent
	early   *Grant               // a message that came before the answer to the acquire
	learned time.Time            // when its client learned of a grant by another's script
	refused error                // the server's answer to the last
}

// signsSent notes the signs of life that a client sends.
func (m *machine[S, I, O]) signsSent(r *scriptRun, ins []I) {
	if m.of.Passes == nil {
		return
	}
	for _, in := range ins {
		owners, stamp := m.of.Passes.Signs(in)
		act, _, _ := m.of.Hold.Of(in)
		for _, owner := range owners {
			if c := m.claims[owner]; c != nil {
				c.shows(r, stamp, act == Asks)
			}
		}
	}
}

// shows notes a sign of life.
func (c *claim[S, I, O]) shows(r *scriptRun, stamp int64, asks bool) {
	if c.life.sent == nil {
		c.life.sent = map[int64]*scriptRun{}
	}
	c.life.sent[stamp] = r
	c.life.shown, c.life.refused = r.sent, nil
	if asks {
		c.life.asked, c.life.early, c.life.learned = stamp, nil, time.Time{}
	}
}

// passedOn notes that another's script has granted an object since it was what before says.
func (m *machine[S, I, O]) passedOn(o *object[S], before State[S]) {
	if m.of.Passes == nil {
		return
	}
	g, ok := m.of.Passes.Granted(o.state)
	if was, had := m.of.Passes.Granted(before); !ok || had && was == g {
		return
	}
	m.reach("grant by another's script")
	if c := m.claims[g.Owner]; c != nil {
		c.ran = time.Now()
	}
}

// heard implements watcher: a message says that an owner was granted the object. Its client leaves to a beat
// what is nearly over, and ignores what is older than the last acquire.
func (m *machine[S, I, O]) heard(_ int, message string) {
	if m.of.Passes == nil {
		return
	}
	g, ok := m.of.Passes.Read(message)
	must.If(!ok, "%q is no message", message)
	c := m.claims[g.Owner]
	if c == nil || !m.learning(c) || g.Stamp < c.life.asked {
		return
	}
	sign := c.life.sent[g.Stamp]
	if sign == nil || time.Since(sign.sent) > m.place(c.call)*4/5 {
		return
	}
	if c.run.answered.IsZero() {
		c.life.early = &g
		return
	}
	m.learns(c, g.Token, sign)
}

// learning reports whether a claim's client has yet to learn of a grant.
func (m *machine[S, I, O]) learning(c *claim[S, I, O]) bool {
	return !c.granted && c.over.IsZero() && c.call.ended.IsZero() && c.call.waits()
}

// refusedInLine takes the refusal of one that a message may have come for already.
func (m *machine[S, I, O]) refusedInLine(c *claim[S, I, O]) {
	if g := c.life.early; g != nil && m.learning(c) {
		m.learns(c, g.Token, c.life.sent[g.Stamp])
	}
}

// signsAnswered takes the answer to signs of life, which says who holds the object.
func (m *machine[S, I, O]) signsAnswered(r *scriptRun) {
	if m.of.Passes == nil {
		return
	}
	if r.err != nil {
		m.signsRefused(r)
		return
	}
	for i, in := range m.of.Asks(r.script()) {
		_, stamp := m.of.Passes.Signs(in)
		owner, token := m.of.Passes.Found(in, must.Get(m.of.Answers(r.script()))[i])
		c := m.claims[owner]
		if c != nil && m.hears(r, c) && c.life.asked <= stamp {
			m.reach("grant found by a sign of life")
			m.learns(c, token, r)
		}
	}
}

// hears reports whether a claim that waits in the queue takes the answer to its sign of life, for which its client
// waits until the next one is due.
func (m *machine[S, I, O]) hears(r *scriptRun, c *claim[S, I, O]) bool {
	return m.learning(c) && c.queued && !c.run.answered.IsZero() &&
		r.answered.Sub(r.sent) < m.place(c.call)/4
}

// tooSlow reports whether the answers to a call's signs of life come when its client waits for them no longer.
func (m *machine[S, I, O]) tooSlow(c *call[S, I, O]) bool {
	return m.of.Passes != nil && m.trip(m.parties[c.party]) >= m.place(c)/4
}

// signsRefused notes a server's refusal of signs of life, which ends the calls of those in the queue.
func (m *machine[S, I, O]) signsRefused(r *scriptRun) {
	var server *backend.ServerError
	if !errors.As(r.err, &server) || m.goesOn(r.err) {
		return
	}
	for _, in := range m.of.Asks(r.script()) {
		owners, _ := m.of.Passes.Signs(in)
		act, _, _ := m.of.Hold.Of(in)
		for _, owner := range owners {
			if c := m.claims[owner]; c != nil && act != Asks && m.hears(r, c) {
				c.life.refused = r.err
			}
		}
	}
}

// refusedBySign reports whether a call has ended by the refusal of its last sign of life.
func (m *machine[S, I, O]) refusedBySign(call *call[S, I, O]) bool {
	for _, c := range m.claims {
		if refused := c.life.refused; c.call == call && refused != nil && errors.Is(call.err, refused) {
			return isConflict(refused) == errors.Is(call.err, primitives.ErrConflict)
		}
	}
	return false
}

// learns notes that a client learns of a grant by another's script: it may believe in it since its sign of
// life was sent, for as long as that is worth something, and until the end of its lease after a renewal.
func (m *machine[S, I, O]) learns(c *claim[S, I, O], token int64, sign *scriptRun) {
	now := time.Now()
	worth := m.place(c.call)
	belief := NewBelief(worth, max(worth/10, 2*time.Millisecond), sign.sent, sign.queued).Whole(m.leaseOf(c.call))
	if belief.Granted(now) {
		return // A beat asks what the server has.
	}
	c.belief, c.granted, c.life.learned = belief, true, now
	last := &c.call.last
	last.at, last.err, last.got, last.out = now, nil, true, m.of.Hold.Granted(c.owner, token)
	if c.call.snap == whenItGets {
		c.call.cancel()
	}
}

// lengthens reports whether a call is renewing its fixed lease, of which it got what was left of its sign.
func (m *machine[S, I, O]) lengthens(c *claim[S, I, O]) bool {
	return m.of.Passes != nil && c != nil && c.call.ended.IsZero() && m.of.Hold.Fixed(c.call.in) > 0
}

// beats is how long nothing is sent at most for one who waits.
func (m *machine[S, I, O]) beats(c *call[S, I, O]) time.Duration {
	const later = 50 * time.Millisecond // So that not all look at once.
	every := min(m.place(c)/4, m.poll)
	return every + every/10 + later + m.trip(m.parties[c.party])
}
