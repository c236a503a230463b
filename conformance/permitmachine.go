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

	release *numberCall // the last that was to release it
	create  bool        // so does that, if there is no semaphore
}

// takeState is what became of permits that were taken.
type takeState string

const (
	asked    takeState = "there is no answer yet"
	known    takeState = "the client knows"
	held     takeState = "held"
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
	t.release, t.create = c, !a.Flag
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
	ours := int64(0)
	for _, t := range m.takes {
		if t.back == r {
			t.state = back
			ours += t.n
		}
	}
	if added {
		m.added[key] += n - ours
	} else {
		m.added[key] -= ours // They have gone with the semaphore.
	}
}

// sent implements watcher. What is put back in the background must have been taken by a call that
// did not return it, or released by one whose caller has left.
func (m *semaphoreMachine) sent(r *scriptRun) error {
	if err := m.numberMachine.sent(r); err != nil || r.name != "semaphore_add" {
		return err
	}
	if c := callOf(r); c != nil {
		t := m.find(func(t *permitTake) bool { return t.release == c && (t.state == held || t.state == left) })
		if t != nil {
			t.back = r
		}
		return nil
	}
	returns := m.sumUp(m.givenUp(r), r.args[0])
	if returns == nil {
		return fmt.Errorf("client %d puts %v back, which nobody has given up", r.party, r.args)
	}
	if len(returns) > 1 {
		m.reach("put back together")
	}
	for _, t := range returns {
		if t.back != nil {
			t.back.withdrawn = true
		}
		t.back = r
	}
	return nil
}

// givenUp returns what r, a script in the background, may put back, first that whose call has
// returned.
func (m *semaphoreMachine) givenUp(r *scriptRun) (all []*permitTake) {
	var perhaps []*permitTake
	for _, t := range m.takes {
		c, create := t.call, false
		if t.state != known {
			c, create = t.release, t.create
		}
		switch {
		case t.back != nil && !(m.batches && t.back.unsent(r)) || t.key.name != r.keys[0] || t.state != known && t.state != held &&
			t.state != left || c == nil || c.party != r.party || c.ctx.Err() == nil ||
			create != (r.args[1] == "1"):
		case c.ended.IsZero():
			perhaps = append(perhaps, t)
		case t.state == known && c.err != nil, errors.Is(c.err, backend.ErrIndeterminate):
			all = append(all, t)
		}
	}
	return append(all, perhaps...)
}

// sumUp returns some of takes that are so many permits together; nil: there are none such.
func (m *semaphoreMachine) sumUp(takes []*permitTake, permits string) []*permitTake {
	for chosen := uint(1); chosen < 1<<min(len(takes), 12); chosen++ {
		var sum int64
		var some []*permitTake
		for i, t := range takes {
			if chosen>>i&1 == 1 {
				sum += t.n
				some = append(some, t)
			}
		}
		if textOf(sum) == permits {
			return some
		}
	}
	return nil
}

// answered implements watcher.
func (m *semaphoreMachine) answered(r *scriptRun) error {
	for _, t := range m.takes {
		switch {
		case t.back == r:
			m.answeredBack(r, t)
		case t.run != r:
		case r.err != nil, r.ctx.Err() != nil: // The client waited no longer.
			t.state = lost
			m.reach("lost")
		default:
			t.state, t.since = known, time.Now()
		}
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
	case r.ctx.Err() != nil && !errors.Is(r.err, errWithdrawn):
		t.state = unsure // The client waited for no answer any more.
	case refused && (t.state != held || callOf(r) == nil):
		t.state = declined
	case refused, !backend.MayHaveRun(r.err):
		t.back, t.since = nil, time.Now()
	default:
		t.state = unsure
	}
}

// gaveUpEarly returns an error if a client waited for the answer to an acquire, a drain or a
// release of a caller who has left for less than it may take.
func (m *semaphoreMachine) gaveUpEarly(r *scriptRun) error {
	c, now := callOf(r), time.Now()
	if c == nil || !r.writes || r.ctx.Err() == nil || r.name == "semaphore_set" ||
		r.name[:len("semaphore")] != "semaphore" || errors.Is(r.err, errWithdrawn) {
		return nil
	}
	closing, left := m.parties[r.party].closing, c.ended
	if !m.virtual {
		left = c.began // Its caller may have left long before it says so.
	}
	if !closing.IsZero() && now.Sub(closing) >= closingFor ||
		!left.IsZero() && now.Sub(left) >= detachedFor {
		return nil
	}
	return fmt.Errorf("%s of client %d was given up at %v, its caller's call at %v",
		r.name, r.party, now, c.ended)
}

// judged implements numberKind.
func (m *semaphoreMachine) judged(c *numberCall) error {
	if t := m.find(func(t *permitTake) bool { return t.release == c && t.state == held }); t != nil &&
		c.ctx.Err() != nil && errors.Is(c.err, backend.ErrIndeterminate) {
		t.state, t.since = left, time.Now()
		if isConflict(c.last.err) || isOverflow(c.last.err) {
			t.state = declined
		}
		m.reach("release left behind")
	}
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
		if t.state == left {
			p = m.parties[t.release.party]
			since, sound = m.soundSince(p)
		}
		if t.state != known && t.state != left || !sound || t.call.ended.IsZero() {
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
		keeper := t.run.party
		if t.state == left {
			keeper = t.release.party
		}
		if t.state != held && !t.state.gone() && !m.parties[keeper].gaveUp {
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
