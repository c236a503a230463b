package engine

import (
	"errors"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/must"
)

// signs are the heartbeats of a waiter, where others' scripts grant.
type signs struct {
	sent  map[int64]*scriptRun // by their numbers
	asked int64                // the number of the last acquire
	shown time.Time            // when the last was sent
	heard *Grant               // since the last acquire, by a message or the answer to a heartbeat
}

// signsSent notes the heartbeats that a client sends.
func (m *machine[S, I, O]) signsSent(r *scriptRun, ins []I) {
	m.eachSign(ins, func(c *claim[S, I, O], stamp int64, asks bool) {
		c.life.sent[stamp], c.life.shown = r, r.sent
		if asks {
			c.life.asked, c.life.heard = stamp, nil
		}
	})
}

// eachSign calls do for each claim whose owner sends a heartbeat, with its number, and whether it asks.
func (m *machine[S, I, O]) eachSign(ins []I, do func(c *claim[S, I, O], stamp int64, asks bool)) {
	if m.of.Passes == nil {
		return
	}
	for _, in := range ins {
		act, _, _ := m.of.Hold.Of(in)
		owners, stamp := m.of.Passes.Signs(in)
		for _, owner := range owners {
			if c := m.claims[owner]; c != nil {
				do(c, stamp, act == Asks)
			}
		}
	}
}

// heard implements watcher: a message says that an owner was granted the object. Its client leaves to a beat
// what is nearly over, and ignores what is older than the last acquire.
func (m *machine[S, I, O]) heard(_ int, message string) {
	if m.of.Passes == nil {
		return
	}
	g := m.of.Passes.Read(message)
	c := m.claims[g.Owner]
	if c == nil || g.Stamp < c.life.asked {
		return
	}
	if sign := c.life.sent[g.Stamp]; sign != nil && time.Since(sign.sent) <= m.place(c.call)*4/5 {
		c.life.heard = &g
		m.learns(c)
	}
}

// learning reports whether a claim's client has yet to learn of a grant.
func (m *machine[S, I, O]) learning(c *claim[S, I, O]) bool {
	return !c.granted && c.over.IsZero() && c.call.ended.IsZero() && c.call.waits()
}

// signsAnswered takes the answer to heartbeats, which says who holds the object. A client waits for it until the
// next heartbeat is due. A server's refusal ends the calls of those in the queue.
func (m *machine[S, I, O]) signsAnswered(r *scriptRun) {
	var server *backend.ServerError
	refused := errors.As(r.err, &server) && !m.goesOn(r.err)
	m.eachSign(m.of.Asks(r.script()), func(c *claim[S, I, O], stamp int64, asks bool) {
		late := r.answered.Sub(r.sent) >= m.place(c.call)/4
		if asks || late || !m.learning(c) || !c.queued || c.run.answered.IsZero() || r.err != nil && !refused {
			return
		}
		if refused {
			m.reach("heartbeat refused")
			c.call.last.at, c.call.last.err = r.answered, r.err
			c.ends(r.answered)
			return
		}
		owner, token, _ := m.of.Hold.Grant(must.Get(m.of.Answers(r.script()))[0])
		if owner == c.owner && c.life.asked <= stamp {
			m.reach("grant found by a heartbeat")
			c.life.heard = &Grant{owner, token, stamp}
			m.learns(c)
		}
	})
}

// learns notes that a client learns of a grant by another's script, once it was refused itself: it may trust that
// since its heartbeat was sent, for as long as the heartbeat counts, and until the end of its lease after a renewal.
func (m *machine[S, I, O]) learns(c *claim[S, I, O]) {
	g, now := c.life.heard, time.Now()
	if g == nil || c.run.answered.IsZero() || !m.learning(c) {
		return
	}
	c.life.heard = nil
	sign, worth := c.life.sent[g.Stamp], m.place(c.call)
	belief := NewBelief(worth, max(worth/10, 2*time.Millisecond), sign.sent).Whole(m.leaseOf(c.call))
	if belief.Granted(now) {
		return // A beat asks what the server has.
	}
	c.belief, c.granted = belief, true
	last := &c.call.last
	last.at, last.err, last.got, last.out = now, nil, true, m.of.Hold.Granted(c.owner, g.Token)
	if c.call.snap == whenItGets {
		c.call.cancel()
	}
}

// lengthens reports whether a call is renewing its fixed lease, of which it got the time that its heartbeat left.
func (m *machine[S, I, O]) lengthens(c *claim[S, I, O]) bool {
	return m.of.Passes != nil && c != nil && c.call.ended.IsZero() && m.of.Hold.Fixed(c.call.in) > 0
}
