package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// permitTake is what one acquire or drain has taken.
type permitTake struct {
	run   *scriptRun
	call  *numberCall
	key   *numberKey
	n     int64
	state takeState
	since time.Time
	back  *scriptRun // puts it back, or releases it
}

// takeState is what became of permits that were taken.
type takeState string

const (
	asked    takeState = "there is no answer yet"
	known    takeState = "the client knows"
	held     takeState = "held"
	lost     takeState = "the answer was lost"
	unsure   takeState = "sent back without an answer"
	declined takeState = "refused when it was sent back"
	back     takeState = "back"
)

// gone reports whether what was taken is neither held nor free any more.
func (s takeState) gone() bool { return s == lost || s == unsure || s == declined }

// detachedFor is how long a request goes on that its caller has left.
const detachedFor = 5 * time.Second

// find returns the take for which is is true; nil: there is none.
func (m *semaphoreMachine) find(is func(t *permitTake) bool) *permitTake {
	if i := slices.IndexFunc(m.takes, is); i >= 0 {
		return m.takes[i]
	}
	return nil
}

// pick returns something that is held, for a call to release; nil: there is nothing.
func (m *semaphoreMachine) pick(a act, c *numberCall) *permitTake {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []*permitTake
	for _, t := range m.takes {
		if t.state == held {
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		return nil
	}
	t := all[(a.Object+a.Which)%len(all)]
	t.call = c
	return t
}

// take notes that a script has taken permits.
func (m *semaphoreMachine) take(key *numberKey, r *scriptRun, n int64) {
	t := &permitTake{run: r, call: callOf(r), key: key, n: n, state: asked}
	if !r.answered.IsZero() {
		t.state = lost
		m.reach("taken later")
	}
	m.takes = append(m.takes, t)
}

// returned notes that permits were added, which were perhaps taken before.
func (m *semaphoreMachine) returned(key *numberKey, r *scriptRun, n int64, added bool) {
	t := m.find(func(t *permitTake) bool { return t.back == r })
	if t != nil {
		t.state = back
	}
	switch {
	case t == nil && added:
		m.added[key] += n
	case t != nil && !added:
		m.added[key] -= n // They have gone with the semaphore.
	}
}

// sent implements watcher. What is put back in the background must have been taken by a call that
// did not return it.
func (m *semaphoreMachine) sent(r *scriptRun) error {
	if err := m.numberMachine.sent(r); err != nil || r.name != "semaphore_add" {
		return err
	}
	c := callOf(r)
	t := m.find(func(t *permitTake) bool { return c != nil && t.call == c && t.state == held })
	if c == nil {
		t = m.givenUp(r)
	}
	if t != nil {
		t.back = r
	} else if c == nil {
		return fmt.Errorf("client %d puts %v back, which nobody has given up", r.party, r.args)
	}
	return nil
}

// givenUp returns what r, a script in the background, puts back; of several the first whose call has
// returned.
func (m *semaphoreMachine) givenUp(r *scriptRun) (found *permitTake) {
	for _, t := range m.takes {
		switch c := t.call; {
		case t.state != known || t.back != nil || c.party != r.party || t.key.name != r.keys[0] ||
			textOf(t.n) != r.args[0] || r.args[1] != "0" || c.ctx.Err() == nil:
		case !c.ended.IsZero() && c.err != nil:
			return t
		case c.ended.IsZero():
			found = t
		}
	}
	return found
}

// answered implements watcher.
func (m *semaphoreMachine) answered(r *scriptRun) error {
	t := m.find(func(t *permitTake) bool { return t.run == r || t.back == r })
	switch {
	case t == nil:
	case t.back == r:
		m.answeredBack(r, t)
	case r.err != nil:
		t.state = lost
		m.reach("lost")
	default:
		t.state, t.since = known, time.Now()
	}
	return errors.Join(m.gaveUpEarly(r), m.numberMachine.answered(r))
}

// answeredBack notes what becomes of permits whose return failed: it may still be made, unless it
// was refused, or could not be sent.
func (m *semaphoreMachine) answeredBack(r *scriptRun, t *permitTake) {
	refused := isConflict(r.err) || isOverflow(r.err)
	switch {
	case r.err == nil:
		if callOf(r) == nil {
			m.reach("put back")
		}
	case t.state == back:
	case refused && t.state == known:
		t.state = declined
	case refused, !backend.MayHaveRun(r.err):
		t.back = nil
	default:
		t.state = unsure
	}
}

// gaveUpEarly returns an error if a client waited for the answer to an acquire, a drain or a
// release of a caller who has left for less than it may take.
func (m *semaphoreMachine) gaveUpEarly(r *scriptRun) error {
	c, now := callOf(r), time.Now()
	if c == nil || r.err == nil || !r.writes || r.ctx.Err() == nil || r.name == "semaphore_set" ||
		r.name[:len("semaphore")] != "semaphore" {
		return nil
	}
	ends := m.parties[r.party].ends
	if !ends.IsZero() && !now.Before(ends.Add(-m.guard)) ||
		!c.ended.IsZero() && now.Sub(c.ended) >= detachedFor-m.guard {
		return nil
	}
	return fmt.Errorf("%s of client %d was given up at %v, its caller's call at %v",
		r.name, r.party, now, c.ended)
}

// judged implements numberKind.
func (m *semaphoreMachine) judged(c *numberCall) error {
	t := m.find(func(t *permitTake) bool { return t.run == c.last.run })
	switch {
	case t == nil:
	case c.err != nil:
		t.since = latest(t.since, c.ended)
	case t.state != known || t.back != nil || t.n != max(c.need, c.value):
		return fmt.Errorf("it took %d: %s", t.n, t.state)
	case c.snap == whenItGets && t.run.name == "semaphore_acquire":
		return errors.New("its caller had left")
	default:
		t.state = held
		m.reach("grant")
	}
	return nil
}

// check implements machine.
func (m *semaphoreMachine) check(ctx context.Context) error {
	if err := m.numberMachine.check(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range m.takes {
		p := m.parties[t.run.party]
		since, sound := m.soundSince(p)
		if t.state != known || !sound || t.call.ended.IsZero() {
			continue
		}
		allowed := 2*m.trip(p) + releasePatience + 500*time.Millisecond
		if age := time.Since(latest(since, t.since)); age > allowed {
			return fmt.Errorf("client %d has kept %d of %s from everybody for %v",
				t.run.party, t.n, t.key.name, age)
		}
	}
	return nil
}

// closed implements watcher: a client that was closed over a sound link leaves nothing taken that no
// caller has.
func (m *semaphoreMachine) closed(party int, _ time.Time, sound bool) error {
	for _, t := range m.takes {
		ended := !t.call.ended.IsZero() && t.call.err != nil
		if t.run.party == party && t.state == known && ended && sound {
			return fmt.Errorf("client %d was closed, with %d of %s", party, t.n, t.key.name)
		}
	}
	return nil
}

// end implements machine: all permits are free, or held, or it is known how they were lost.
func (m *semaphoreMachine) end(ctx context.Context) error {
	if err := m.numberMachine.end(ctx); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range m.keys {
		if err := m.conserved(key); err != nil {
			return fmt.Errorf("key %s: %w", key.name, err)
		}
	}
	return nil
}

func (m *semaphoreMachine) conserved(key *numberKey) error {
	out, text := int64(0), ""
	for _, t := range m.takes {
		if t.key != key || t.state == back {
			continue
		}
		if t.state != held && !t.state.gone() && !m.parties[t.run.party].gaveUp {
			return fmt.Errorf("%d taken by client %d: %s", t.n, t.run.party, t.state)
		}
		out += t.n
		text += fmt.Sprintf(", %d by client %d %s", t.n, t.run.party, t.state)
	}
	if want := m.added[key] - key.deleted - out; want != key.value {
		return fmt.Errorf("%v free of %d added, %d deleted%s", key, m.added[key], key.deleted, text)
	}
	return nil
}
