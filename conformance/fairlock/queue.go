package fairlock

import (
	"cmp"
	"slices"
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
	Score    int64 // above the base
	Deadline int64 // zero: it is a peer's
	Dead     bool  // whether it counts as dead, at the time that is looked at
}

func (w waiter) ours() bool { return w.Deadline != 0 }

// living are the owners of those who are not dead.
func (f Fair) living() (owners []string) {
	for _, w := range f.Waiters.Without(func(w waiter) bool { return w.Dead }).All() {
		owners = append(owners, w.Owner)
	}
	return owners
}

// ages says who is dead: our waiters by their deadlines, and peers whose score has passed, less what the dead
// before them have added to it.
func ages(f Fair, at time.Time) Fair {
	q, amount := f.at(at), int64(0)
	for i, w := range q.all {
		left := q.base + w.Score - amount - q.now
		if q.all[i].Dead = w.ours() && w.Deadline <= q.now || !w.ours() && left <= 0; q.all[i].Dead {
			amount += max(0, min(share, left))
		}
	}
	return q.of(f)
}

// queue is the queue of a lock at a time.
type queue struct {
	all       []waiter
	base, now int64
}

func (f Fair) at(at time.Time) *queue { return &queue{f.Waiters.All(), f.Base, at.UnixMilli()} }

// of returns f with the queue.
func (q *queue) of(f Fair) Fair {
	if f.Base = q.base; len(q.all) == 0 {
		f.Base = 0
	}
	f.Waiters = engine.ListOf(q.all...)
	return f
}

// found is what a script finds at the begin of the queue.
type found struct {
	first string   // the first who lives; "": nobody
	dead  []string // before it
	lower int64    // by what the scores fall when they are dropped
}

// survey looks for the first who lives, as a caller does, and as if a leaver were gone.
func (q *queue) survey(caller, leaver string) (f found) {
	for _, w := range q.all {
		switch {
		case w.Owner == leaver:
		case w.Owner == caller, !w.Dead:
			f.first = w.Owner
			return f
		default:
			f.dead = append(f.dead, w.Owner)
			f.lower += max(0, min(share, q.base+w.Score-q.now-f.lower))
		}
	}
	return f
}

// drop takes out the dead.
func (q *queue) drop(f found) {
	q.all = slices.DeleteFunc(q.all, func(w waiter) bool { return slices.Contains(f.dead, w.Owner) })
	q.base -= f.lower
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
func (q *queue) push(owner string, beyond int64) {
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
	if q.base+first.Score-q.now < share*9/10 {
		q.base = q.now + share - first.Score
	}
}

// step is the model.
func step(s state, at time.Time, in In, out lock.Out) (state, bool) {
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
func refuse(s state, at time.Time, in In, out lock.Out) (state, bool) {
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
		q.push(in.Owner, q.now+left)
	}
	mine := &q.all[q.place(in.Owner)]
	mine.Deadline, mine.Dead = q.now+in.Allowance.Milliseconds(), false
	first := q.all[q.place(cmp.Or(f.first, in.Owner))]
	if first.Owner == in.Owner {
		ok = ok && s.Remains(at, out.Left)
	} else {
		ok = ok && out.Left == q.wait(first, left)
	}
	if held && first.ours() {
		q.raise(first)
	}
	s.V = q.of(s.V)
	return s, ok
}

// remains is what remains of a holder's lease.
func remains(s state, at time.Time) int64 {
	if s.Kind != engine.Present || s.Ends.IsZero() {
		return 0
	}
	return max(0, s.Ends.Sub(at).Milliseconds())
}

// wait is how long it takes until the first waiter is dead, if a holder's lease has so much left.
func (q *queue) wait(first waiter, left int64) time.Duration {
	end := first.Deadline
	if !first.ours() {
		end = q.base + first.Score
	}
	return time.Duration(left+max(1, end-q.now)) * time.Millisecond
}

// published is the first who lives, if a release or somebody's end may have made the lock free for it.
func published(before, after state, in In) string {
	if before.Kind == engine.Other {
		return ""
	}
	held, q := before.Kind == engine.Present, before.V.at(time.Time{})
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
