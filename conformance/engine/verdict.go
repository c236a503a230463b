package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// judge compares what a call returned with the answer that its last script got. The caller holds mu.
func (m *machine[S, I, O]) judge(c *call[S, I, O]) {
	if c.outer != nil && m.judgeInner(c) {
		return
	}
	if c.waits() && m.of.Hold != nil && m.of.Hold.Awaits != nil {
		m.judgeMember(c)
		m.waitedInVain(c, c.ended)
		return
	}
	must.Not(!m.fits(c), "that is no answer to it")
	if m.of.Hold != nil {
		m.holdsJudged(c)
	}
	if m.of.Takes != nil {
		m.takesJudged(c)
	}
	m.waitedInVain(c, c.ended)
}

// describe returns a call in a form that can be read in the report of a failure.
func (c *call[S, I, O]) describe() string {
	name := cmp.Or(c.life, "Release")
	if c.op != nil {
		name = c.op.Name
	}
	return fmt.Sprintf("%s by client %d of %s, for %+v, after %d scripts and %+v, %v, returned %+v, %v",
		name, c.party, c.object.name, c.in, c.sends, c.last.out, c.last.err, c.out, c.err)
}

// fits reports whether a call can have returned what it did.
func (m *machine[S, I, O]) fits(c *call[S, I, O]) bool {
	if c.op != nil && c.op.Queries && errors.Is(c.last.err, backend.ErrIndeterminate) {
		c.last.err = backend.ErrUnavailable
	}
	over := c.ctx.Err() != nil && errors.Is(c.err, c.ctx.Err())
	unknown := errors.Is(c.err, backend.ErrIndeterminate)
	closing := !m.parties[c.party].closing.IsZero()
	last := c.last
	switch {
	case c.err == nil:
		m.reach(either(c.waits() && !m.of.hasLeases() && m.of.Takes == nil, "grant", "answer"))
		return c.sends > 0 && !last.at.IsZero() && last.err == nil && last.got &&
			(c.out == last.out || c.op != nil && c.op.AckOnly)
	case errors.Is(c.err, primitives.ErrOverflow):
		m.reach("overflow")
		return last.err == nil && IsOverflow(c.err) && c.sends > 0 && last.run.err != nil
	case m.of.hasLeases() && last.got: // The client releases it.
		return over || errors.Is(c.err, primitives.ErrClosed) && m.parties[c.party].closed ||
			errors.Is(c.err, primitives.ErrLost) && (last.late || m.mayHaveLapsed(m.claimOf(c), c.began))
	case errors.Is(c.err, primitives.ErrClosed):
		m.reach("closed")
		return m.parties[c.party].closed && (m.of.hasLeases() || !unknown && !m.stray(c) || unknown && m.leftRightly(c, unknown))
	case errors.Is(c.err, primitives.ErrNotAcquired):
		m.reach("refusal")
		return m.refusedRightly(c, over, unknown)
	// A script whose context ended was given up when its caller had left: that is no answer to it.
	case last.err != nil && !errors.Is(last.err, context.Canceled) && errors.Is(c.err, last.err):
		m.reach(either(isConflict(last.err), "conflict", "failure"))
		return m.failedRightly(c, over)
	case c.sends > 0 && unknown == last.run.writes && last.run.ctx.Err() != nil && closing &&
		(unknown || errors.Is(c.err, backend.ErrUnavailable)),
		m.of.Hasty && c.sends == 0 && !unknown && errors.Is(c.err, backend.ErrUnavailable) && errors.Is(c.err, errTrouble):
		return true // Its client gave it up at the end of Close, or a call before could not dial.
	case over:
		m.reach("impatience")
		return m.leftRightly(c, unknown)
	}
	return false
}

// refusedRightly reports whether a call that returned ErrNotAcquired was refused: a call that tries, by
// its last answer; one that waits, by an answer before its context ended.
func (m *machine[S, I, O]) refusedRightly(c *call[S, I, O], over, unknown bool) bool {
	if c.waits() {
		return c.barred && over && !unknown && m.leftRightly(c, unknown)
	}
	return !unknown && !c.last.at.IsZero() && c.last.err == nil && !c.last.got && c.op != nil && c.op.Tries
}

// failedRightly reports whether the error of a call says what the error of its script does, and the call
// was right to end with it.
func (m *machine[S, I, O]) failedRightly(c *call[S, I, O], over bool) bool {
	last := c.last.err
	return errors.Is(c.err, backend.ErrIndeterminate) == errors.Is(last, backend.ErrIndeterminate) &&
		isConflict(last) == errors.Is(c.err, primitives.ErrConflict) && (over || !c.barred || !m.goesOn(last))
}

// stray reports whether the last script of a call may have run without an answer, or has taken something
// that has no owner, and so cannot be released by its owner.
func (m *machine[S, I, O]) stray(c *call[S, I, O]) bool {
	return c.sends > 0 && c.last.run.writes &&
		(c.last.at.IsZero() || c.last.at.After(c.ended) || c.last.err == nil && m.took(c) > 0)
}

// took returns how much the last script of a call took that has no owner.
func (m *machine[S, I, O]) took(c *call[S, I, O]) int64 {
	in, isIn := c.last.in.(I)
	out, isOut := c.last.out.(O)
	if m.of.Takes == nil || !isIn || !isOut {
		return 0
	}
	return m.of.Takes.Took(in, out)
}

// leftRightly reports whether the error of a call whose context ended is right about two things: whether
// a script of it may have run, and whether it was refused before.
func (m *machine[S, I, O]) leftRightly(c *call[S, I, O], unknown bool) bool {
	last := c.last
	if unknown {
		atOnce := c.sends > 0 && last.run.writes && !last.at.Before(c.ended)
		queued := c.sure() && c.sends == 0 // It is sent when the queue moves.
		return m.stray(c) || atOnce || queued
	}
	if c.waits() && last.err == nil &&
		c.barred != errors.Is(c.err, primitives.ErrNotAcquired) && (m.of.hasLeases() || m.of.Takes != nil) && !last.got {
		return false
	}
	if last.got && last.at.Before(c.ended) && c.waits() && !last.run.writes {
		return false // It had seen what it waited for.
	}
	return !c.sure() && !m.stray(c)
}

// waitedInVain fails if a call has waited for too long, until now, although it could go on and its client
// could know that. The calls that wait in one client may look one after the other.
func (m *machine[S, I, O]) waitedInVain(c *call[S, I, O], now time.Time) {
	p := m.parties[c.party]
	since, sound := m.soundSince(p)
	m.pass(c.object, m.serverNow())
	if !c.waits() || !sound || p.deaf > 0 || c.there.IsZero() || c.err == nil && !c.ended.IsZero() ||
		m.of.Passes != nil && m.trip(p) >= m.place(c)/4 { // Its client waits for no answer to a heartbeat.
		return
	}
	looks := 4
	for _, other := range m.calls {
		if other.party == c.party && other.object == c.object {
			looks++
		}
	}
	allowed, from := time.Duration(looks)*m.trip(p)+5*time.Millisecond, c.notified
	if c.notified.IsZero() {
		allowed, from = allowed+m.retry(c), c.there
	}
	age := now.Sub(latest(from, c.began, since, p.heard))
	must.Not(age > allowed, "client %d waits for %+v of %s, which has been %v for %v",
		c.party, c.in, c.object.name, c.object.state, age)
}

// check lets all happen that is due, judges the calls that have returned, and compares all that can be
// seen with the model.
func (m *machine[S, I, O]) check(ctx context.Context) {
	m.settle()
	m.collect()
	m.mu.Lock()
	defer m.mu.Unlock()
	must.Do(m.fault)
	for _, l := range m.leases {
		must.In("a lease of "+l.claim.owner, func() { m.lookAtLease(l) })
	}
	for _, o := range m.objects {
		must.In("key "+o.name, func() { m.lookAt(ctx, o) })
	}
	for _, c := range m.claims {
		must.In("owner "+c.owner, func() { m.lookAtClaim(c) })
	}
	m.lookAtTakes()
	for _, c := range m.calls {
		m.waitedInVain(c, time.Now())
	}
}

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

// Belief is what a holder may assume of one lease, by its own clock: that it is held until some time after the
// request was sent that granted or last renewed it. Its methods take what was seen, and return an error if that
// cannot be. It serves all primitives that have leases. It is not safe for concurrent use.
type Belief struct {
	lease, drift   time.Duration
	whole, trusted time.Duration // the lease and the drift that a renewal gives
	since, granted time.Time
	lost           bool
}

// NewBelief returns a Belief of a lease that a request asks for which is sent at the given time.
func NewBelief(lease, drift time.Duration, sent time.Time) *Belief {
	return &Belief{lease: lease, drift: drift, whole: lease, trusted: drift, since: sent}
}

// Whole says that a renewal gives another lease than the grant did, and another drift. It returns b.
func (b *Belief) Whole(lease, drift time.Duration) *Belief {
	b.whole, b.trusted = lease, drift
	return b
}

// Granted takes the answer that grants the lease. It reports whether it comes too late.
func (b *Belief) Granted(answered time.Time) (late bool) {
	b.granted = answered
	return b.Over(answered)
}

// trust is for how long the holder trusts the lease.
func (b *Belief) trust() time.Duration { return b.lease - b.drift }

// Ends is when the lease ends unless it is renewed.
func (b *Belief) Ends() time.Time { return b.since.Add(b.trust()) }

// Renewal is a renewal that was answered.
type Renewal struct {
	Sent, Answered time.Time
	Held           bool // the lease begins again; else the server does not know the holder
}

// Renewed takes the answer to a renewal. A renewal that was sent before the grant was answered may have overtaken it.
func (b *Belief) Renewed(r Renewal) {
	switch {
	case b.granted.IsZero() && !r.Held, !b.granted.IsZero() && b.Over(r.Answered):
	case r.Held && r.Sent.Before(b.since): // A later one was answered before.
	case r.Held:
		b.lease, b.drift, b.since = b.whole, b.trusted, r.Sent
	case b.granted.Before(r.Sent):
		b.lost = true
	}
}

// Over reports whether the lease has ended.
func (b *Belief) Over(at time.Time) bool {
	b.lost = !b.Good(at)
	return b.lost
}

// Good reports whether the lease has not ended.
func (b *Belief) Good(at time.Time) bool { return !b.lost && at.Before(b.Ends()) }

// Look takes what the lease says of itself: how much longer it is held; 0: it is not.
func (b *Belief) Look(at time.Time, rest time.Duration) error {
	left := b.Ends().Sub(at)
	switch {
	case rest == 0 && b.Good(at):
		return fmt.Errorf("it is not believed in %v before its end", left)
	case rest == 0:
		b.lost = true
	case b.Over(at):
		return fmt.Errorf("it is believed in %v after its end", -left)
	case rest != left:
		return fmt.Errorf("%v remain, want %v", rest, left)
	}
	return nil
}
