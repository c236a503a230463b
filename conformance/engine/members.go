package engine

import (
	"errors"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// hasLeases reports whether callers get leases. Where they do not, and there are holds, a call keeps
// its hold until it returns: see [Hold.Awaits].
func (p *Primitive[S, I, O]) hasLeases() bool { return p.Hold != nil && p.Hold.Awaits == nil }

// arrived takes the grant of a hold that its call keeps while it waits. If the grant ends other holds,
// or does not even make this one, as the grant of the last member of a barrier, their calls go on.
func (m *machine[S, I, O]) arrived(c *claim[S, I, O], out O, before State[S]) {
	for _, owner := range append(m.of.Hold.Holders(before), c.owner) {
		if other := m.claims[owner]; other != nil && !m.has(other) {
			other.spent = true
		}
	}
	c.call.awaits = m.of.Hold.Awaits(out)
	if now := time.Now(); m.ready(c.call) {
		c.call.came, c.call.there, c.call.notified = true, now, now
	}
}

// judgeMember checks what a call returned that keeps its hold while it waits. After an error whose
// outcome is known the hold is gone, and nobody else has passed by it.
func (m *machine[S, I, O]) judgeMember(c *call[S, I, O]) {
	spent, gone := m.endHolds(c)
	if c.err == nil {
		must.Not(!c.came, "what it waits for has not come")
		must.Not(!m.stepped && !spent && !gone, "what it waits for has come without it")
		m.reach("grant")
		return
	}
	if errors.Is(c.err, backend.ErrIndeterminate) {
		must.Not(c.sends == 0 && c.ctx.Err() == nil, "nothing of it can have run")
	} else {
		for _, claim := range m.claims {
			must.Not(claim.call == c && m.has(claim), "it has failed, and is in %v", c.object)
		}
		// A client that is being closed does not ask whether others have passed by what it was granted.
		closing := errors.Is(c.err, primitives.ErrClosed)
		must.Not(spent && !gone && !closing, "it has failed, but others have passed by it")
	}
}

// endHolds ends the trust in what a call holds, and returns what may have ended a hold: what the call
// waits for (spent), or a loss by the server (gone).
func (m *machine[S, I, O]) endHolds(c *call[S, I, O]) (spent, gone bool) {
	gone = !c.object.meddled.Before(c.began)
	for _, claim := range m.claims {
		if claim.call == c {
			claim.ends(c.ended)
			spent, gone = spent || claim.spent, gone || claim.forgotten
		}
	}
	return spent, gone
}
