package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/must"
)

// take is what one call has taken that has no owner.
type take[S, I, O comparable] struct {
	run    *scriptRun
	call   *call[S, I, O]
	object *object[S]
	n      int64
	state  takeState
	since  time.Time
	back   *scriptRun // puts it back, or releases it

	release *call[S, I, O] // the last that was to release it
	create  bool           // so does that, if there is no object
}

// takeState is what became of what was taken.
type takeState string

const (
	asked    takeState = "there is no answer yet"
	known    takeState = "the client knows"
	taken    takeState = "held"
	left     takeState = "left to a release that goes on"
	lost     takeState = "the answer was lost"
	unsure   takeState = "sent back without an answer"
	declined takeState = "refused when it was sent back"
	back     takeState = "back"
)

// gone reports whether what was taken is neither held nor free any more.
func (s takeState) gone() bool { return s == lost || s == unsure || s == declined }

const (
	// detachedFor is how long a request goes on that its caller has left.
	detachedFor = 5 * time.Second
	// closingFor is the same once its client is closing.
	closingFor = time.Second
)

// takeOf returns the take for which is is true; nil: there is none.
func (m *machine[S, I, O]) takeOf(is func(t *take[S, I, O]) bool) *take[S, I, O] {
	if i := slices.IndexFunc(m.takes, is); i >= 0 {
		return m.takes[i]
	}
	return nil
}

// putBack makes a call that puts back something that is held: by any client, since nobody owns it.
func (m *machine[S, I, O]) putBack(ctx context.Context, a act) {
	c := &call[S, I, O]{party: a.Client}
	in, ok := m.putsBack(a, c)
	if !ok {
		return
	}
	c.op, c.in = m.of.opFor(in), in
	c.hurry(a)
	c.runs(m, c.op)
	m.make(ctx, c)
}

// putsBack returns what puts back something that is held; ok is false if there is nothing.
func (m *machine[S, I, O]) putsBack(a act, c *call[S, I, O]) (in I, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []*take[S, I, O]
	for _, t := range m.takes {
		if t.state == taken {
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		return in, false
	}
	t := all[(a.Object+a.Which)%len(all)]
	in = m.of.Takes.Back(t.n, !a.Flag)
	t.release, t.create = c, !a.Flag
	c.object = t.object
	return in, true
}

// takesSent takes what a client sends. What is put back in the background must have been taken by a
// call that did not return it, or released by one whose caller has left.
func (m *machine[S, I, O]) takesSent(r *scriptRun, ins []I) {
	if len(ins) == 0 {
		return
	}
	n, create, ok := m.of.Takes.Puts(ins[0])
	if !ok {
		return
	}
	if c := m.scriptsCall(r); c != nil {
		t := m.takeOf(func(t *take[S, I, O]) bool { return t.release == c && (t.state == taken || t.state == left) })
		if t != nil {
			t.back = r
		}
		return
	}
	returns := sumUp(m.givenUp(r, create), n)
	must.Not(returns == nil, "client %d puts %v back, which nobody has given up", r.party, r.args)
	for _, t := range returns {
		t.back = r
	}
}

// givenUp returns what r, a script in the background, may put back, first that whose call has returned.
func (m *machine[S, I, O]) givenUp(r *scriptRun, creates bool) (all []*take[S, I, O]) {
	var perhaps []*take[S, I, O]
	for _, t := range m.takes {
		c, create := t.call, false
		if t.state != known {
			c, create = t.release, t.create
		}
		keeps := t.state != known && t.state != taken && t.state != left
		switch {
		case t.back != nil, keeps, t.object.name != r.keys[0], c == nil || c.party != r.party || c.ctx.Err() == nil,
			create != creates:
		case c.ended.IsZero():
			perhaps = append(perhaps, t)
		case t.state == known && c.err != nil, errors.Is(c.err, backend.ErrIndeterminate):
			all = append(all, t)
		}
	}
	return append(all, perhaps...)
}

// sumUp returns some of takes that are so much together; nil: there are none such.
func sumUp[S, I, O comparable](takes []*take[S, I, O], n int64) []*take[S, I, O] {
	for chosen := uint(1); chosen < 1<<min(len(takes), 12); chosen++ {
		var sum int64
		var some []*take[S, I, O]
		for i, t := range takes {
			if chosen>>i&1 == 1 {
				sum += t.n
				some = append(some, t)
			}
		}
		if sum == n {
			return some
		}
	}
	return nil
}

// takesRan takes what a script has taken, or put back.
func (m *machine[S, I, O]) takesRan(r *scriptRun, o *object[S], in I, out O, before State[S]) {
	if n := m.of.Takes.Took(in, out); n > 0 {
		t := &take[S, I, O]{run: r, call: m.scriptsCall(r), object: o, n: n, state: asked}
		if !r.answered.IsZero() {
			t.state = lost
		}
		m.takes = append(m.takes, t)
		o.added += m.of.Takes.Count(o.state) - m.of.Takes.Count(before) + n // It may have made the object.
		return
	}
	grown := m.of.Takes.Count(o.state) - m.of.Takes.Count(before)
	for _, t := range m.takes {
		if t.back == r {
			t.state = back
			grown -= t.n
		}
	}
	o.added += grown
}

// takesAnswered takes an answer to what took something, or put it back.
func (m *machine[S, I, O]) takesAnswered(r *scriptRun, c *call[S, I, O]) {
	for _, t := range m.takes {
		switch {
		case t.back == r:
			m.answeredBack(r, c, t)
		case t.run != r:
		case r.err != nil, r.ctx.Err() != nil: // The client waited no longer.
			t.state = lost
			m.reach("lost")
		default:
			t.state, t.since = known, time.Now()
		}
	}
	m.gaveUpEarly(r, c)
}

// answeredBack notes what becomes of a take whose return failed: it may still be made, unless it
// was refused, or could not be sent.
func (m *machine[S, I, O]) answeredBack(r *scriptRun, c *call[S, I, O], t *take[S, I, O]) {
	refused := isConflict(r.err) || IsOverflow(r.err)
	switch {
	case r.err == nil:
		if c == nil {
			m.reach("put back")
		}
	case t.state == back:
	case r.ctx.Err() != nil:
		t.state = unsure // The client waited for no answer any more.
	case refused && (t.state != taken || c == nil):
		t.state = declined
	case refused, !backend.MayHaveRun(r.err):
		t.back, t.since = nil, time.Now()
	default:
		t.state = unsure
	}
}

// gaveUpEarly fails if a client waited for the answer to what takes or puts back something, of a
// caller who has left, for less than it may take.
func (m *machine[S, I, O]) gaveUpEarly(r *scriptRun, c *call[S, I, O]) {
	if c == nil || c.op == nil || !r.writes || r.ctx.Err() == nil {
		return
	}
	if _, _, puts := m.of.Takes.Puts(c.in); !puts && c.op.Back == nil {
		return
	}
	now, closing, gone := time.Now(), m.parties[r.party].closing, c.ended
	late := !closing.IsZero() && now.Sub(closing) >= closingFor || !gone.IsZero() && now.Sub(gone) >= detachedFor
	must.Not(!late, "%s of client %d was given up at %v, its caller's call at %v", r.name, r.party, now, c.ended)
}

// takesJudged notes what a call that has ended as it may has got, or released.
func (m *machine[S, I, O]) takesJudged(c *call[S, I, O]) {
	released := m.takeOf(func(t *take[S, I, O]) bool { return t.release == c && t.state == taken })
	if released != nil && c.ctx.Err() != nil && errors.Is(c.err, backend.ErrIndeterminate) {
		released.state, released.since = left, time.Now()
		if isConflict(c.last.err) || c.last.run != nil && IsOverflow(c.last.run.err) {
			released.state = declined
		}
		m.reach("release left behind")
	}
	t := m.takeOf(func(t *take[S, I, O]) bool { return t.run == c.last.run })
	switch {
	case t == nil:
	case c.err != nil:
		t.since = latest(t.since, c.ended)
	default:
		must.Not(t.state != known || t.back != nil, "it took %d: %s", t.n, t.state)
		must.Not(c.snap == whenItGets && c.waits(), "its caller had left")
		t.state = taken
		m.reach("grant")
	}
}

// lookAtTakes checks that what no caller has is put back in time.
func (m *machine[S, I, O]) lookAtTakes() {
	for _, t := range m.takes {
		p := m.parties[t.keeper()]
		since, sound := m.soundSince(p)
		if t.state != known && t.state != left || !sound || t.call.ended.IsZero() {
			continue
		}
		age := time.Since(latest(since, t.since))
		must.Not(age > 2*m.trip(p)+releasePatience+500*time.Millisecond,
			"client %d has kept %d of %s from everybody for %v", t.run.party, t.n, t.object.name, age)
	}
}

// keeper is the client that has what was taken, or puts it back.
func (t *take[S, I, O]) keeper() int {
	if t.state == left {
		return t.release.party
	}
	return t.run.party
}

// takesClosed checks that a client that was closed over a sound link leaves nothing taken that no caller has.
func (m *machine[S, I, O]) takesClosed(party int) {
	for _, t := range m.takes {
		ended := !t.call.ended.IsZero() && t.call.err != nil
		must.Not(t.run.party == party && t.state == known && ended, "client %d was closed, with %d of %s",
			party, t.n, t.object.name)
	}
}

// conserved checks that all there ever was is free, or held, or that it is known how it was lost.
func (m *machine[S, I, O]) conserved(o *object[S]) {
	out, text := int64(0), ""
	for _, t := range m.takes {
		if t.object != o || t.state == back {
			continue
		}
		must.Not(t.state != taken && !t.state.gone() && !m.parties[t.keeper()].gaveUp,
			"%d taken by client %d: %s", t.n, t.run.party, t.state)
		out += t.n
		text += fmt.Sprintf(", %d by client %d %s", t.n, t.run.party, t.state)
	}
	free := m.of.Takes.Count(o.state)
	must.Not(o.added-out != free, "%v free of %d added%s", free, o.added, text)
}
