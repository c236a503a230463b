package fairlock

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/lock"
)

// share is what each waiter adds to the scores of those behind it. All numbers of a queue are milliseconds
// of the server's clock.
const share = 300_000

// waiter is one in the queue.
type waiter struct {
	Owner    string
	Score    int64       // above the base
	Deadline engine.Span // zero: it is a peer's
	Dead     bool        // whether it counts as dead, at the time that is looked at
}

func (w waiter) ours() bool { return w.Deadline != engine.Span{} }

// waiters are those in the queue. They are a text in the state, which must be comparable.
func (f Fair) waiters() (all []waiter) {
	for line := range strings.Lines(f.Waiters) {
		words := strings.Fields(line)
		n := make([]int64, len(words))
		for i, word := range words {
			n[i], _ = strconv.ParseInt(word, 10, 64)
		}
		all = append(all, waiter{words[0], n[1], engine.Span{Least: n[2], Most: n[3]}, words[4] == "true"})
	}
	return all
}

// with returns f with other waiters.
func (f Fair) with(all []waiter) Fair {
	var text strings.Builder
	for _, w := range all {
		fmt.Fprintln(&text, w.Owner, w.Score, w.Deadline.Least, w.Deadline.Most, w.Dead)
	}
	f.Waiters = text.String()
	return f
}

// living are the owners of those who are not dead.
func (f Fair) living() (owners []string) {
	for _, w := range f.waiters() {
		if !w.Dead {
			owners = append(owners, w.Owner)
		}
	}
	return owners
}

// ages says who is dead at a moment. One whose deadline is about then may be, or not.
func ages(f Fair, at engine.Moment) []Fair {
	ways := [][]waiter{nil}
	for _, w := range f.waiters() {
		was := len(ways)
		dead := w.ours() && (w.Dead || at.To.UnixMilli() >= w.Deadline.Least)
		open := dead && !w.Dead && at.From.UnixMilli() < w.Deadline.Most
		for i := range was {
			before := slices.Clip(ways[i])
			w.Dead = dead && !open
			ways[i] = append(before, w)
			if w.Dead = dead; open {
				ways = append(ways, append(before, w))
			}
		}
	}
	all := make([]Fair, len(ways))
	for i, way := range ways {
		q := queue{way, f.Base, milli(at)}
		q.judgePeers()
		all[i] = f.with(way)
	}
	return all
}

// queue is the queue of a lock at a moment.
type queue struct {
	all       []waiter
	base, now engine.Span
}

func milli(at engine.Moment) engine.Span {
	return engine.Span{Least: at.From.UnixMilli(), Most: at.To.UnixMilli()}
}

func plus(s engine.Span, n int64) engine.Span {
	return engine.Span{Least: s.Least + n, Most: s.Most + n}
}

func (f Fair) at(at engine.Moment) *queue { return &queue{f.waiters(), f.Base, milli(at)} }

// of returns f with the queue.
func (q *queue) of(f Fair) Fair {
	if f.Base = q.base; len(q.all) == 0 {
		f.Base = engine.Span{}
	}
	return f.with(q.all)
}

// written makes all numbers what is written of them.
func (q *queue) written() {
	q.base.Most = q.base.Least
	for i := range q.all {
		q.all[i].Deadline.Most, q.all[i].Dead = q.all[i].Deadline.Least, false
	}
}

// judgePeers says which peers are dead: those whose score has passed, less what the dead before them have
// added to it. Their scores are far from any moment in real time.
func (q *queue) judgePeers() {
	amount := int64(0)
	for i, w := range q.all {
		left := q.base.Least + w.Score - amount - q.now.Least
		if !w.ours() {
			q.all[i].Dead = left <= 0
		}
		if q.all[i].Dead {
			amount += max(0, min(share, left))
		}
	}
}

// found is what a script finds at the begin of the queue.
type found struct {
	first string      // the first who lives; "": nobody
	dead  []string    // before it
	lower engine.Span // by what the scores fall when they are dropped
}

// survey looks for the first who lives, as a caller does, and as if a leaver were gone.
func (q *queue) survey(caller, leaver string) found {
	f := q.look(caller, leaver, q.base.Least-q.now.Least)
	f.lower.Most = q.look(caller, leaver, q.base.Most-q.now.Most).lower.Least
	return f
}

func (q *queue) look(caller, leaver string, ahead int64) (f found) {
	for _, w := range q.all {
		switch {
		case w.Owner == leaver:
		case w.Owner == caller, !w.Dead:
			f.first = w.Owner
			return f
		default:
			f.dead = append(f.dead, w.Owner)
			f.lower.Least += max(0, min(share, ahead+w.Score-f.lower.Least))
		}
	}
	return f
}

// drop takes out the dead.
func (q *queue) drop(f found) {
	q.all = slices.DeleteFunc(q.all, func(w waiter) bool { return slices.Contains(f.dead, w.Owner) })
	q.base = engine.Span{Least: q.base.Least - f.lower.Least, Most: q.base.Most - f.lower.Most}
}

// place returns the place of an owner; negative: it has none.
func (q *queue) place(owner string) int {
	return slices.IndexFunc(q.all, func(w waiter) bool { return w.Owner == owner })
}

// leave takes out an owner, if it is there.
func (q *queue) leave(owner string) {
	i := q.place(owner)
	if i < 0 {
		return
	}
	q.all = slices.Delete(q.all, i, i+1)
	for ; i < len(q.all); i++ {
		q.all[i].Score -= share
	}
}

// push puts a peer at the end. The first has its share beyond some time.
func (q *queue) push(owner string, beyond engine.Span) {
	score := int64(0)
	if n := len(q.all); n > 0 {
		score = q.all[n-1].Score
	} else {
		q.base = beyond
	}
	q.all = append(q.all, waiter{Owner: owner, Score: score + share})
}

// raise gives all scores so much that the first has its share before it, if less than nine tenths of that
// are left to it.
func (q *queue) raise(first waiter) {
	least, most := q.base.Least+first.Score-q.now.Most, q.base.Most+first.Score-q.now.Least
	raised := plus(q.now, share-first.Score)
	switch {
	case most < share*9/10:
		q.base = raised
	case least < share*9/10: // Perhaps.
		q.base = engine.Span{Least: min(q.base.Least, raised.Least), Most: max(q.base.Most, raised.Most)}
	}
}

// step is the model.
func step(s state, at engine.Moment, in In, out lock.Out) (state, bool) {
	refusal := in.Op == lock.Acquire && out.Token == 0 && s.Kind != engine.Other
	switch {
	case refusal && at.IsZero(): // Others may wait.
		return s, true
	case refusal:
		return refuse(s, at, in, out)
	}
	next, ok := lock.Step(locked(s), at, in.In, out)
	after := state{Kind: next.Kind, V: s.V, Ends: next.Ends}
	after.V.Held = next.V
	if s.Kind == engine.Other || at.IsZero() {
		return after, ok
	}
	q := s.V.at(at)
	switch {
	case in.Op == lock.Acquire:
		f := q.survey(in.Owner, "")
		ok = ok && (f.first == "" || f.first == in.Owner)
		q.drop(f)
		q.leave(in.Owner)
	case in.Op == lock.Release && s.Kind == after.Kind && s.Kind == engine.Present:
		q.leave(in.Owner)
	case in.Op == lock.Release:
		f := q.survey("", in.Owner)
		q.leave(in.Owner)
		q.drop(f)
	case in.Op == lock.Force && s.Kind == engine.Present:
		q.drop(q.survey("", ""))
	}
	after.V = q.of(after.V)
	return after, ok
}

// refuse is the model of an acquire that is refused.
func refuse(s state, at engine.Moment, in In, out lock.Out) (state, bool) {
	held, q := s.Kind == engine.Present, s.V.at(at)
	f := q.survey(in.Owner, "")
	ok := held || f.first != "" && f.first != in.Owner
	q.drop(f)
	if in.Allowance == 0 {
		s.V = q.of(s.V)
		return s, ok && out.Left == -time.Millisecond
	}
	left := remains(s, at)
	if q.place(in.Owner) < 0 {
		q.push(in.Owner, engine.Span{Least: q.now.Least + left.Least, Most: q.now.Most + left.Most})
	}
	mine := &q.all[q.place(in.Owner)]
	mine.Deadline, mine.Dead = plus(q.now, in.Allowance.Milliseconds()), false
	first := q.all[q.place(cmp.Or(f.first, in.Owner))]
	if first.Owner == in.Owner {
		ok = ok && s.Remains(at, out.Left)
	} else {
		ok = ok && q.waits(first, left, out.Left)
	}
	if held && first.ours() {
		q.raise(first)
	}
	s.V = q.of(s.V)
	return s, ok
}

// remains is what remains of a holder's lease.
func remains(s state, at engine.Moment) engine.Span {
	if s.Kind != engine.Present || s.Ends.IsZero() {
		return engine.Span{}
	}
	return engine.Span{
		Least: max(0, s.Ends.From.Sub(at.To).Milliseconds()), Most: max(0, s.Ends.To.Sub(at.From).Milliseconds()),
	}
}

// waits reports whether the answer to a later waiter is right: the time until the first waiter is dead.
func (q *queue) waits(first waiter, left engine.Span, told time.Duration) bool {
	end := first.Deadline
	if !first.ours() {
		end = plus(q.base, first.Score)
	}
	least := left.Least + max(1, end.Least-q.now.Most)
	most := left.Most + max(1, end.Most-q.now.Least)
	return told.Milliseconds() >= least && told.Milliseconds() <= most
}

// published is the first who lives, if a release or somebody's end may have made the lock free for it.
func published(before, after state, in In) string {
	if before.Kind == engine.Other {
		return ""
	}
	held, q := before.Kind == engine.Present, before.V.at(engine.Moment{})
	switch in.Op {
	case lock.Acquire:
		if f := q.survey(in.Owner, ""); !held && after.Kind == engine.Absent && len(f.dead) > 0 {
			return f.first
		}
	case lock.Release:
		if after.Kind == engine.Absent {
			return q.survey("", in.Owner).first
		}
	case lock.Force:
		if held {
			return q.survey("", "").first
		}
	}
	return ""
}
