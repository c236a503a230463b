package engine

import (
	"errors"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/must"
)

// script returns what a client sends, and the answer so far.
func (r *scriptRun) script() *Script {
	return &Script{Name: r.name, Keys: r.keys, Args: r.args, Reply: r.reply, Err: r.err}
}

// callOf implements watcher: the call whose script it is; nil: it goes on in the background, or is part of no operation.
func (m *machine[S, I, O]) callOf(r *scriptRun, named any) any {
	c, _ := named.(*call[S, I, O])
	ins := m.of.Asks(r.script())
	if len(ins) == 0 {
		if c == nil || c.life == "" || c.other { // It only asks what is in the way.
			return nil
		}
		return c
	}
	if m.of.Hold != nil {
		switch act, owner, _ := m.of.Hold.Of(ins[0]); {
		case act == Renews, act == Releases && len(ins) > 1:
			return nil
		case act == Releases:
			return m.unlockOf(r, owner)
		}
	}
	if c == nil || c.op == nil || m.of.Verb(c.in) != m.of.Verb(ins[0]) || c.sure() && c.sends > 0 {
		return nil
	}
	return c
}

// scriptsCall returns the call of a script; nil: it has none.
func (m *machine[S, I, O]) scriptsCall(r *scriptRun) *call[S, I, O] {
	c, _ := r.call.(*call[S, I, O])
	return c
}

// sent implements watcher.
func (m *machine[S, I, O]) sent(r *scriptRun) {
	ins := m.of.Asks(r.script())
	if c := m.scriptsCall(r); c != nil {
		c.sends++
		r.writes = r.writes && (c.op == nil || !c.op.Queries)
		c.last = answer{run: r}
		if len(ins) > 0 {
			c.last.in = ins[0]
		}
	}
	if m.of.Hold != nil {
		m.holdsSent(r, ins)
		m.signsSent(r, ins)
	}
	if m.of.Takes != nil {
		m.takesSent(r, ins)
	}
}

// ran implements watcher: the answer to a script must be the model's.
func (m *machine[S, I, O]) ran(r *scriptRun) {
	ins := m.of.Asks(r.script())
	c := m.scriptsCall(r)
	if len(ins) == 0 && c == nil || errors.Is(r.err, backend.ErrCrossSlot) {
		return // It is part of no operation, or is sent again by slot.
	}
	o := m.objectAt(r.keys[0])
	err := must.Catch(func() {
		switch {
		case isConflict(r.err):
			must.Not(o.state.Kind != Other, "%w, but it is %v", r.err, o.state)
			if c != nil {
				c.other = true
			}
		case len(ins) == 0:
			m.livesOn(o, r, c.life)
		default:
			m.compare(r, ins)
		}
	})
	if err != nil {
		must.Fail("%s%v at %s: %w", r.name, r.args, o.name, err)
	}
}

// compare compares what a script did to each of its objects with the model.
func (m *machine[S, I, O]) compare(r *scriptRun, ins []I) {
	outs := must.Get(m.of.Answers(r.script()))
	must.Not(len(outs) != len(ins), "%d answers about %d objects", len(outs), len(ins))
	for i, in := range ins {
		o := m.objectAt(r.keys[i*(len(r.keys)/len(ins))]) // Each may have more keys.
		before := m.happened(o, r.ran, in, outs[i])
		if m.of.Hold != nil {
			m.holdsRan(r, in, outs[i], before, o)
		}
		if m.of.Takes != nil {
			m.takesRan(r, o, in, outs[i], before)
		}
	}
}

// livesOn compares what a script about an object's life did with the model. It answers 1 if it did it.
func (m *machine[S, I, O]) livesOn(o *object[S], r *scriptRun, life string) {
	must.Do(r.err)
	done := must.Get(r.reply.Int()) == 1
	s := o.state
	want := s.Kind == Present
	switch {
	case life == "persist":
		want = want && !s.Ends.IsZero()
		s.Ends = time.Time{}
	case want:
		s.Ends = r.ran.Add(long)
	}
	must.Not(done != want, "it answered %v, but it was %v", done, o.state)
	o.state = s
}

// answered implements watcher.
func (m *machine[S, I, O]) answered(r *scriptRun) {
	c := m.scriptsCall(r)
	if c != nil && c.last.run == r {
		m.answeredCall(r, c)
	}
	if m.of.Hold != nil {
		m.holdsAnswered(r, c)
		m.signsAnswered(r)
	}
	if m.of.Takes != nil {
		m.takesAnswered(r, c)
	}
}

// answeredCall notes the answer that a call got.
func (m *machine[S, I, O]) answeredCall(r *scriptRun, c *call[S, I, O]) {
	c.last.at, c.last.err = time.Now(), r.err
	if r.err != nil {
		if IsOverflow(r.err) {
			c.last.err = nil // It is an answer.
		} else {
			return
		}
	}
	if c.life != "" {
		c.last.out, c.last.got = must.Get(r.reply.Int()) == 1, true
		return
	}
	out := must.Get(m.of.Answers(r.script()))[0]
	c.last.got = m.granted(c, out)
	if !c.last.got {
		c.refused, c.saw = r.answered, r.ran
		c.barred = c.waits()
	}
	if m.of.CallerView != nil {
		out = m.of.CallerView(out)
	}
	if c.last.out = out; c.snap == whenItGets && c.last.got {
		c.cancel()
	}
}

// granted reports whether an answer lets a call return.
func (m *machine[S, I, O]) granted(c *call[S, I, O], out O) bool {
	return c.op == nil || !c.op.Waits && !c.op.Tries || m.of.Granted(out)
}

// IsOverflow reports whether a server says that a number would leave its range.
func IsOverflow(err error) bool {
	var server *backend.ServerError
	return errors.Is(err, backend.ErrOverflow) || errors.As(err, &server) && server.Code == "OVERFLOW"
}

// Number returns the number that a script answers: 0 for nothing, and for OK. It is a text if the
// script was sent as a plain command.
func Number(s *Script) (int64, error) {
	text, err := s.Reply.Text()
	switch {
	case s.Err != nil:
		return 0, s.Err
	case s.Reply.IsNil(), err == nil && text == "OK":
		return 0, nil
	case err == nil:
		return strconv.ParseInt(text, 10, 64)
	}
	return s.Reply.Int()
}
