package conformance

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/model"
	"github.com/hasp-go/hasp/primitives"
)

// sent implements watcher.
func (m *numberMachine) sent(r *scriptRun) error {
	if c := callOf(r); c != nil {
		c.sends++
		c.last = numberAnswer{run: r}
	}
	return nil
}

// callOf returns the call that a script is part of; nil: it goes on in the background, or asks what
// is in the way.
func callOf(r *scriptRun) *numberCall {
	c, _ := r.call.(*numberCall)
	if r.name == "object_kind" {
		return nil
	}
	return c
}

// callOf implements watcher. A release is sent once by its call, and then in the background.
func (m *numberMachine) callOf(r *scriptRun, named any) any {
	if c, _ := named.(*numberCall); c != nil && r.name == "semaphore_add" && (!c.sure || c.sends > 0) {
		return nil
	}
	return named
}

// answered implements watcher.
func (m *numberMachine) answered(r *scriptRun) error {
	c := callOf(r)
	if c == nil || c.last.run != r {
		return nil
	}
	c.last.at, c.last.err = time.Now(), r.err
	c.barred = c.barred || r.err == nil && r.name == "semaphore_acquire"
	if r.err != nil {
		return nil
	}
	value, err := m.told(r)
	if c.last.value = value; c.snap == whenItGets && (value > 0 || !r.writes) {
		c.cancel()
	}
	return err
}

// closed implements watcher.
func (m *numberMachine) closed(int, time.Time, bool) error { return nil }

// told decodes what a script returns: nil is 0, and of several the first.
func (m *numberMachine) told(r *scriptRun) (int64, error) {
	if items, err := r.reply.Items(); err == nil && len(items) > 0 {
		return items[0].Int()
	}
	text, err := r.reply.Text()
	switch {
	case r.reply.IsNil(), err == nil && text == "OK":
		return 0, nil
	case err == nil && tellsNumber.MatchString(r.name):
		return m.count(text)
	}
	return r.reply.Int()
}

// tellsNumber matches the scripts that return a number, and not whether something was done.
var tellsNumber = regexp.MustCompile("_(get|add|swap|take)$")

// count returns how many parts a number at a key is.
func (m *numberMachine) count(text string) (int64, error) { return parsedParts(text, m.parts) }

// parsedParts returns how many parts of 1 the number in text is.
func parsedParts(text string, parts int64) (int64, error) {
	if parts == 1 {
		return strconv.ParseInt(text, 10, 64)
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, err
	}
	return wholeParts(value, parts)
}

// holds reports whether a key that holds text is worth so many parts.
func (m *numberMachine) holds(text string, parts int64) bool {
	n, err := m.count(text)
	return err == nil && n == parts && (m.parts > 1 || text == textOf(n))
}

// ran implements watcher: the answer to a script must be the model's.
func (m *numberMachine) ran(r *scriptRun) error {
	key := m.key(r.keys[0])
	if err := m.compare(key, r); err != nil {
		return fmt.Errorf("%s%v at %s: its answer was %v, %w", r.name, r.args, key.name, r.reply, err)
	}
	return nil
}

func (m *numberMachine) key(name string) *numberKey {
	for _, key := range m.keys {
		if key.name == name {
			return key
		}
	}
	return &numberKey{name: name}
}

func (m *numberMachine) compare(key *numberKey, r *scriptRun) error {
	switch {
	case r.name == "object_kind":
		return r.err
	case key.other && !isConflict(r.err):
		return fmt.Errorf("%v over another kind", r.err)
	case !key.other && m.of.overflows(key, r) && !isOverflow(r.err):
		return fmt.Errorf("%v, though %v overflows", r.err, key)
	case key.other && isConflict(r.err), m.of.overflows(key, r) && isOverflow(r.err):
		return nil
	case r.err != nil:
		return r.err
	}
	value, err := m.told(r)
	if err != nil {
		return err
	}
	return m.step(key, r, value)
}

// step compares what all such objects can do with the model.
func (m *numberMachine) step(key *numberKey, r *scriptRun, value int64) error {
	there := value == 1
	switch r.name {
	case "object_expire":
		if key.exists {
			key.ends = r.ran.Add(long)
		}
	case "object_persist":
		if want := !key.ends.IsZero(); there != want {
			return fmt.Errorf("want %v", want)
		}
		key.ends = model.Moment{}
		return nil
	case "object_delete":
	default:
		return m.of.step(key, r, value)
	}
	if there != key.exists {
		return fmt.Errorf("but it is %v", key)
	}
	if r.name == "object_delete" {
		key.gone()
		m.changed(key, "")
	}
	return nil
}

// isOverflow reports whether a server says that a number would leave its range.
func isOverflow(err error) bool {
	var server *backend.ServerError
	return errors.Is(err, backend.ErrOverflow) || errors.As(err, &server) && server.Code == "OVERFLOW"
}

// judge compares what a call returned with the answer that its last script got.
func (m *numberMachine) judge(c *numberCall) error {
	defer c.cancel()
	m.mu.Lock()
	defer m.mu.Unlock()
	err := m.verdict(c)
	if err == nil {
		err = m.of.judged(c)
	}
	if err != nil {
		return fmt.Errorf("%s by client %d, of %d, after %d scripts and %v, %v, returned %d, %v: %w",
			c.op, c.party, c.need, c.sends, c.last.value, c.last.err, c.value, c.err, err)
	}
	return m.waitedInVain(c, c.ended)
}

// verdict returns an error if a call cannot have returned what it did.
func (m *numberMachine) verdict(c *numberCall) error {
	told, ok := c.last, false
	over := c.ctx.Err() != nil && errors.Is(c.err, c.ctx.Err())
	unknown := errors.Is(c.err, backend.ErrIndeterminate)
	switch {
	case c.err == nil:
		ok = c.sends > 0 && !told.at.IsZero() && told.err == nil && c.value == told.value
		m.reach("answer")
	case errors.Is(c.err, primitives.ErrClosed):
		ok = m.parties[c.party].closed && !unknown && !c.stray()
		m.reach("closed")
	case errors.Is(c.err, primitives.ErrNotAcquired):
		ok = c.barred && !unknown && (over && m.leftRightly(c, unknown) ||
			!c.waits && !told.at.IsZero() && told.err == nil && told.value == 0)
		m.reach("refusal")
	// A script whose context ended was given up when its caller had left: that is no answer to it.
	case told.err != nil && !errors.Is(told.err, context.Canceled) && errors.Is(c.err, told.err):
		ok = sameKind(c.err, told.err) &&
			isConflict(told.err) == errors.Is(c.err, primitives.ErrConflict) &&
			isOverflow(told.err) == errors.Is(c.err, primitives.ErrOverflow)
		m.reach(kindOf(told.err))
	case c.sends > 0 && unknown == told.run.writes && told.run.ctx.Err() != nil &&
		(unknown || errors.Is(c.err, backend.ErrUnavailable)) &&
		!m.parties[c.party].closing.IsZero():
		ok = true // Its client gave it up at the end of Close.
	case errors.Is(c.err, backend.ErrUnavailable) && !over:
		ok = m.batches && !unknown && c.sends > 0 &&
			(told.at.IsZero() || errors.Is(told.err, errWithdrawn) || told.run.ctx.Err() != nil)
		if ok && told.run.writes {
			told.run.withdrawn = true
		}
		m.reach("not sent for too long")
	case over:
		ok = m.leftRightly(c, unknown)
		m.reach("impatience")
	}
	if !ok {
		return errors.New("that is no answer to it")
	}
	return nil
}

func kindOf(err error) string {
	switch {
	case isConflict(err):
		return "conflict"
	case isOverflow(err):
		return "overflow"
	}
	return "failure"
}

// stray reports whether something of a call may have run whose outcome it does not know, or has
// taken something that the call did not return.
func (c *numberCall) stray() bool {
	return c.sends > 0 && c.last.run.writes &&
		(c.last.at.IsZero() || c.last.at.After(c.ended) || c.last.err == nil && c.took())
}

// took reports whether the last script of a call took permits.
func (c *numberCall) took() bool {
	name := c.last.run.name
	return c.last.value > 0 && (name == "semaphore_acquire" || name == "semaphore_drain")
}

// leftRightly reports whether a call whose context ended says rightly whether something of it may
// have run. In real time it may not have sent yet what it is going to send.
func (m *numberMachine) leftRightly(c *numberCall, unknown bool) bool {
	if run := c.last.run; !unknown && run != nil && run.writes && m.batches && !c.sure &&
		(c.last.at.IsZero() || errors.Is(c.last.err, errWithdrawn)) {
		run.withdrawn = true
		return true
	}
	if !unknown {
		return !c.stray() && !c.sure
	}
	atOnce := c.sends > 0 && c.last.run.writes && !c.last.at.Before(c.ended)
	queued := c.sure && c.sends == 0 // It is sent when the queue moves.
	return c.stray() || atOnce || queued || !m.virtual
}

// check implements machine.
func (m *numberMachine) check(ctx context.Context) error {
	return m.checkAll(m.collect, func() error { return m.look(ctx) })
}

// look compares all that can be seen with the model. The caller holds mu.
func (m *numberMachine) look(ctx context.Context) error {
	for _, key := range m.keys {
		if err := m.checkKey(ctx, key); err != nil {
			return fmt.Errorf("key %s: %w", key.name, err)
		}
	}
	for _, c := range m.waits {
		if err := m.waitedInVain(c, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// checkKey compares what is on the server, and what was published, with the model.
func (m *numberMachine) checkKey(ctx context.Context, key *numberKey) error {
	reply, _, err := m.raw(ctx, key.name, "GET", key.name)
	text, _ := reply.Text()
	switch {
	case key.other && !isConflict(err), !key.other && err != nil:
		return fmt.Errorf("it is %v, but: %w", key, err)
	case !key.other && (reply.IsNil() == key.exists || key.exists && !m.holds(text, key.value)):
		return fmt.Errorf("it is %q, want %v", text, key)
	}
	if !m.virtual || key.ear == nil {
		return m.checkLife(ctx, key)
	}
	got, _ := key.ear.got()
	if len(got) != len(key.messages) {
		return fmt.Errorf("published were %q, want %q", got, key.messages)
	}
	return m.checkLife(ctx, key)
}

func (m *numberMachine) checkLife(ctx context.Context, key *numberKey) error {
	reply, at, err := m.raw(ctx, key.name, "PTTL", key.name)
	left, timeErr := reply.Duration(time.Millisecond)
	if err := errors.Join(err, timeErr); err != nil {
		return err
	}
	least, most := key.ends.From.Sub(at.To)-time.Millisecond, key.ends.To.Sub(at.From)+time.Millisecond
	switch {
	case !key.exists:
		least, most = -2*time.Millisecond, -2*time.Millisecond
	case key.ends.IsZero():
		least, most = -time.Millisecond, -time.Millisecond
	}
	if left < least || left > most {
		return fmt.Errorf("it lives for %v, want %v to %v", left, least, most)
	}
	return nil
}

// waitedInVain reports that a call stood before what it waits for until now, though its client could
// know of that. All that wait in its client may look one after the other.
func (m *numberMachine) waitedInVain(c *numberCall, now time.Time) error {
	p := m.parties[c.party]
	since, sound := m.soundSince(p)
	if !c.waits || !sound || p.deaf > 0 || c.there.IsZero() || c.err == nil && !c.ended.IsZero() {
		return nil
	}
	looks := 4
	for _, other := range m.waits {
		if other.party == c.party && other.key == c.key {
			looks++
		}
	}
	allowed, from := time.Duration(looks)*m.trip(p)+5*time.Millisecond, c.told
	if c.told.IsZero() || !m.Capabilities.PubSub {
		allowed, from = allowed+m.poll+m.poll/10, c.there
	}
	if age := now.Sub(latest(from, c.began, since, p.heard)); age > allowed {
		return fmt.Errorf("client %d waits for %d of %s, which has been %v for %v",
			c.party, c.need, c.key.name, c.key, age)
	}
	return nil
}

// textOf returns a number as a key holds it.
func textOf(n int64) string { return strconv.FormatInt(n, 10) }
