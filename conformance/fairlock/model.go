package fairlock

import (
	"cmp"
	"slices"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/lock"
)

// Fair is a fair lock at one time. Its queue outlives its key.
type Fair struct {
	lock.Held
	Base    int64 // scores are above it, or below
	Waiters engine.List[waiter]
}

// state is the state of one fair lock.
type state = engine.State[Fair]

// share is the time that each waiter adds to the scores of the waiters behind it. All numbers of a queue are
// milliseconds of the server's clock.
const share = 300_000

// waiter is a waiter with its score and, if it is ours, its deadline, which is a timeout after its last try.
type waiter struct {
	Waiter
	Score, Deadline int64 // above the base; zero: it is a peer's
	WaiterTimeout   time.Duration
}

func (w waiter) ours() bool { return w.Deadline != 0 }

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

// owners returns the owners in the queue.
func (q *queue) owners() (all Queue) {
	for _, w := range q.all {
		all = append(all, w.Waiter)
	}
	return all
}

// left returns how long a waiter has by its score, less an amount. Then the place of a peer ends.
func (q *queue) left(w waiter, amount int64) int64 { return q.base + w.Score - amount - q.now }

// ages ends places: ours by their deadlines, those of peers by their scores, less the shares of the waiters before
// them whose places have ended.
func ages(f Fair, at time.Time) Fair {
	q, amount := f.at(at), int64(0)
	for i, w := range q.all {
		left := q.left(w, amount)
		if q.all[i].Ended = w.ours() && w.Deadline <= q.now || !w.ours() && left <= 0; q.all[i].Ended {
			amount += max(0, min(share, left))
		}
	}
	return q.of(f)
}

// drop takes out the waiters before the first whose places have ended, and lowers the scores of the others. It
// returns the first.
func (q *queue) drop(caller, leaver string) string {
	first, ended := q.owners().First(caller, leaver)
	lower := int64(0)
	q.all = slices.DeleteFunc(q.all, func(w waiter) bool {
		drops := slices.Contains(ended, w.Owner)
		if drops {
			lower += max(0, min(share, q.left(w, lower)))
		}
		return drops
	})
	q.base -= lower
	return first
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

// push adds a peer at the end. Without a queue, its score is its share after a time.
func (q *queue) push(owner string, beyond int64) {
	score := int64(0)
	if n := len(q.all); n > 0 {
		score = q.all[n-1].Score
	} else {
		q.base = beyond
	}
	q.all = append(q.all, waiter{Waiter: Waiter{Owner: owner}, Score: score + share})
}

// step is the model.
func step(s state, at time.Time, in lock.In, out lock.Out) (state, bool) {
	refusal := in.Op == lock.Acquire && out.Token == 0 && s.Kind != engine.Other
	switch {
	case refusal && at.IsZero(): // Other callers may wait.
		return s, true
	case refusal:
		return refuse(s, at, in, out)
	}
	next, ok := lock.Step(locked(s), at, in, out)
	after := state{Kind: next.Kind, V: s.V, Ends: next.Ends}
	after.V.Held = next.V
	if s.Kind == engine.Other || at.IsZero() {
		return after, ok
	}
	q := s.V.at(at)
	switch {
	case in.Op == lock.Acquire:
		first := q.drop(in.Owner, "")
		ok = ok && (first == "" || first == in.Owner)
		if q.place(in.Owner) == 0 { // The next waiter keeps what it has added, from the end of the lease on.
			q.base += max(0, after.Ends.UnixMilli()+share-q.base-q.all[0].Score)
		}
		q.leave(in.Owner)
	case in.Op == lock.Release:
		if s.Kind != after.Kind || s.Kind == engine.Absent {
			q.drop("", in.Owner)
		}
		q.leave(in.Owner)
	case in.Op == lock.Force && s.Kind == engine.Present:
		q.drop("", "")
	}
	after.V = q.of(after.V)
	return after, ok
}

// refuse is the model of an acquire that is refused.
func refuse(s state, at time.Time, in lock.In, out lock.Out) (state, bool) {
	held, q := s.Kind == engine.Present, s.V.at(at)
	next := q.drop(in.Owner, "")
	ok := held || next != "" && next != in.Owner
	if in.WaiterTimeout == 0 {
		s.V = q.of(s.V)
		return s, ok && out.Left == -time.Millisecond
	}
	left := max(0, s.Ends.Sub(at).Milliseconds()) // of the holder's lease, if it ends
	if q.place(in.Owner) < 0 {
		q.push(in.Owner, q.now+left)
	}
	mine := &q.all[q.place(in.Owner)]
	mine.Deadline, mine.WaiterTimeout, mine.Ended = q.now+in.WaiterTimeout.Milliseconds(), in.WaiterTimeout, false
	first := q.all[q.place(cmp.Or(next, in.Owner))]
	if first.Owner == in.Owner {
		ok = ok && s.Remains(at, out.Left)
	} else {
		ok = ok && out.Left.Milliseconds() == left+max(1, q.ends(first)-q.now)
	}
	if held && first.ours() && q.left(first, 0) < share*9/10 { // All scores rise, so the first has its share.
		q.base = q.now + share - first.Score
	}
	s.V = q.of(s.V)
	return s, ok
}

// ends returns when the place of a waiter ends.
func (q *queue) ends(w waiter) int64 {
	if w.ours() {
		return w.Deadline
	}
	return q.base + w.Score
}

// published returns the first waiter, if a release or the end of a place may have made the lock free for it.
func published(before, after state, in lock.In) (first string) {
	held, q := before.Kind == engine.Present, before.V.at(time.Time{}).owners()
	switch {
	case before.Kind == engine.Other:
	case in.Op == lock.Acquire && !held && after.Kind == engine.Absent:
		if next, ended := q.First(in.Owner, ""); len(ended) > 0 {
			return next
		}
	case in.Op == lock.Release && after.Kind == engine.Absent:
		first, _ = q.First("", in.Owner)
	case in.Op == lock.Force && held:
		first, _ = q.First("", "")
	}
	return first
}
