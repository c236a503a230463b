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

// arrived takes a grant to a call that keeps it while it waits. It may be what others wait for, and
// itself: then their holds are over.
func (m *machine[S, I, O]) arrived(c *claim[S, I, O], out O, before State[S]) {
	for _, owner := range append(m.of.Hold.Holders(before), c.owner) {
		if other := m.claims[owner]; other != nil && !m.has(other) {
			other.spent = true
			m.reach("let go")
		}
	}
	c.call.awaits = m.of.Hold.Awaits(out)
	if now := time.Now(); m.ready(c.call) {
		m.reach("last to come")
		c.call.came, c.call.there, c.call.told = true, now, now
	}
}

// judgeMember checks what a call returned that keeps its hold while it waits. Whatever it was, nobody
// believes in the hold any more. After an error whose outcome is known there is no hold, and it was
// not what others waited for.
func (m *machine[S, I, O]) judgeMember(c *call[S, I, O]) {
	unknown := errors.Is(c.err, backend.ErrIndeterminate)
	spent, gone, lapsed := false, !c.object.meddled.Before(c.began), false
	for _, claim := range m.claims {
		if claim.call != c {
			continue
		}
		claim.ends(c.ended)
		spent, gone = spent || claim.spent, gone || claim.forgotten
		lapsed = lapsed || m.mayHaveLapsed(claim, c.began)
		must.If(c.err != nil && !unknown && m.has(claim), "it has failed, and is in %v", c.object)
	}
	switch {
	case c.err == nil:
		must.If(!c.came, "what it waits for has not come")
		must.If(m.virtual && !m.stepped && !spent && !gone, "what it waits for has come without it")
		m.reach("grant")
		return
	case unknown:
		must.If(c.sends == 0 && c.ctx.Err() == nil, "nothing of it can have run")
		m.reach("unknown outcome")
	default:
		// A client that is being closed gives up what it was granted, and does not ask whether it counted.
		counted := m.virtual && spent && !gone && !errors.Is(c.err, primitives.ErrClosed)
		must.If(counted, "it was what others have waited for")
	}
	must.If(!m.failsAsMember(c, lapsed || gone || spent), "that is no reason to fail")
}

// failsAsMember reports whether there was a reason for the error of a call that keeps its hold while
// it waits. Lost says that its hold may have ended.
func (m *machine[S, I, O]) failsAsMember(c *call[S, I, O], lost bool) bool {
	p := m.parties[c.party]
	since, sound := m.soundSince(p)
	reason, ok := "failure", (!sound || since.After(c.began)) && backend.MayHaveRun(c.err)
	switch {
	case c.ctx.Err() != nil && errors.Is(c.err, c.ctx.Err()):
		reason, ok = "impatience", true
	case errors.Is(c.err, primitives.ErrClosed):
		reason, ok = "closed", p.closed
	case errors.Is(c.err, primitives.ErrLost):
		reason, ok = "loss", lost || c.last.late || m.stepped
	case errors.Is(c.err, primitives.ErrConflict):
		reason, ok = "conflict", c.other
	case errors.Is(c.err, backend.ErrUnavailable):
		ok = !sound || since.After(c.began)
	}
	m.reach(reason)
	return ok
}
