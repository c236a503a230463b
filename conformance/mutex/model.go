package mutex

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/lock"
)

// Held is a mutex at one time. All but its owner outlives its key.
type Held struct {
	Owner string
	Token int64  // the last one granted
	Told  string // the message by which its owner was granted it; "": it asked for it itself

	Waiters     engine.List[waiter] // in turn
	Ends, Shown time.Time           // of the keys of the queue and of the heartbeats; zero: there is none
}

// state is the state of one mutex.
type state = engine.State[Held]

// waiter is one in the queue.
type waiter struct {
	owner  string
	number int64 // its place, in microseconds
	sign   int64 // when its last heartbeat came, in milliseconds; zero: none since it came itself
	stamp  int64 // of that heartbeat
	dead   bool  // whether it counts as crashed, at the time that is looked at
}

// keep is what of a mutex outlives its key.
func keep(h Held) Held {
	h.Owner, h.Told = "", ""
	return h
}

func holders(s state) []string { return strings.Fields(s.V.Owner) }

// ready reports whether an owner that asks gets the mutex.
func ready(s state, in lock.In) bool {
	if s.Kind == engine.Present {
		return s.V.Owner == in.Owner
	}
	first, _ := s.V.next()
	return first.owner == "" || first.owner == in.Owner || in.Number > 0 && in.Number < first.number
}

// with returns h with other waiters, in their order. A key without any is gone.
func (h Held) with(all []waiter) Held {
	slices.SortFunc(all, func(a, b waiter) int {
		return cmp.Or(cmp.Compare(a.number, b.number), strings.Compare(a.owner, b.owner))
	})
	if h.Waiters = engine.ListOf(all...); len(all) == 0 {
		h.Ends = time.Time{}
	}
	if !slices.ContainsFunc(all, func(w waiter) bool { return w.sign > 0 }) {
		h.Shown = time.Time{}
	}
	return h
}

// without returns h without one that waits.
func (h Held) without(owner string) Held {
	return h.with(h.Waiters.Without(func(w waiter) bool { return w.owner == owner }).All())
}

// next returns the first active waiter, if there is one, and h without the crashed ones before it.
func (h Held) next() (first waiter, left Held) {
	all := h.Waiters.All()
	i := slices.IndexFunc(all, func(w waiter) bool { return !w.dead })
	if i < 0 {
		return first, h.with(nil)
	}
	return all[i], h.with(all[i:])
}

// place is how many are before an owner; negative: it does not wait.
func (h Held) place(owner string) int {
	return slices.IndexFunc(h.Waiters.All(), func(w waiter) bool { return w.owner == owner })
}

// worth is how long a waiter's heartbeat counts, in milliseconds: its group ends with that.
func (w waiter) worth() int64 {
	group := groupOf(w.owner)
	return lock.Whole(group[strings.LastIndex(group, ".")+1:])
}

// age is how old a waiter's last heartbeat is, in milliseconds.
func (w waiter) age(at time.Time) int64 { return max(0, at.UnixMilli()-cmp.Or(w.sign, w.number/1000)) }

// ages says which waiters count as crashed, and lets the queue's keys expire: heartbeats no later than the queue.
func ages(h Held, at time.Time) Held {
	if !at.Before(h.Ends) {
		return h.with(nil)
	}
	return h.with(h.Waiters.Each(func(w waiter) waiter {
		if !at.Before(h.Shown) {
			w.sign, w.stamp = 0, 0
		}
		w.dead = 3*w.age(at) >= 2*w.worth()
		return w
	}).All())
}

// show notes a heartbeat of some waiters.
func (h Held) show(at time.Time, stamp int64, owners ...string) Held {
	h.Ends, h.Shown = at.Add(queueLife), at.Add(queueLife)
	return h.with(h.Waiters.Each(func(w waiter) waiter {
		if slices.Contains(owners, w.owner) {
			w.sign, w.stamp, w.dead = at.UnixMilli(), stamp, false
		}
		return w
	}).All())
}

// step is the model. In a history, without times, nobody is known to wait.
func step(s state, at time.Time, in lock.In, out lock.Out) (state, bool) {
	held := s.Kind == engine.Present
	mine := held && s.V.Owner == in.Owner
	switch {
	case in.Op == lock.Remaining:
		return s, s.Remains(at, out.Left)
	case out.Other, s.Kind == engine.Other:
		return s, out == lock.Out{Other: true} && s.Kind == engine.Other
	case in.Op == lock.Acquire && out.Token > 0:
		return granted(s, at, in, out)
	case in.Op == lock.Acquire:
		return refused(s, at, in, out)
	case in.Op == beat:
		return shown(s, at, in, out)
	case in.Op == lock.Renew && mine:
		return s.Until(at.Add(in.Lease)), out == lock.Out{Done: true}
	case in.Op == lock.Renew:
		return s, out == lock.Out{Owner: strings.Join(holders(s), "")}
	case in.Op == lock.Release && !mine:
		s.V = s.V.without(in.Owner)
		return passFree(s, at), out == lock.Out{}
	case in.Op == lock.Release:
		return pass(s, at), out == lock.Out{Done: true}
	case in.Op == lock.Force:
		return pass(s, at), out.Done == held
	case in.Op == lock.Revoke && held:
		next := s
		next.V.Owner = lock.Nobody
		return lock.Revoked(s, next, at, in, out)
	case in.Op == lock.Revoke:
		return s, out == lock.Out{}
	}
	return s, out.Done == (in.Op == lock.IsLocked && held)
}

// granted is the model of an acquire that is granted.
func granted(s state, at time.Time, in lock.In, out lock.Out) (state, bool) {
	ok := ready(s, in)
	if s.Kind == engine.Present { // It was granted the mutex by another's script.
		return raised(s, at, in.Lease), ok && out.Token == s.V.Token
	}
	ok = ok && lock.Follows(s.V.Token, at, out.Token)
	_, left := s.V.next()
	s.V = left.without(in.Owner)
	s.V.Owner, s.V.Token = out.Owner, out.Token
	return s.Is(s.V).Until(at.Add(in.Lease)), ok
}

// refused is the model of an acquire that is refused: another owner has the mutex, or is granted it.
func refused(s state, at time.Time, in lock.In, out lock.Out) (state, bool) {
	if at.IsZero() {
		return s, true
	}
	ok := !ready(s, in)
	s = passFree(s, at)
	ok = ok && s.Remains(at, out.Left)
	if in.Waiters == "" {
		return s, ok && out.Count == 0
	}
	all := append([]waiter{{}}, s.V.Waiters.All()...)
	place := cmp.Or(in.Number, max(at.UnixMicro(), all[len(all)-1].number+1))
	others := s.V.without(in.Owner).Waiters
	s.V = s.V.with(others.And(waiter{owner: in.Owner, number: place}).All())
	if s.V.Ends = at.Add(queueLife); in.Stamp > 0 {
		s.V = s.V.show(at, in.Stamp, in.Owner)
	}
	return s, ok && out.Count == place
}

// raised makes a hold last for the lease, unless it lasts longer: its rest is then written in whole milliseconds.
func raised(s state, at time.Time, lease time.Duration) state {
	return s.Until(at.Add(max(lease, s.Ends.Sub(at).Truncate(time.Millisecond))))
}

// pass grants a mutex to the first active waiter, from its last heartbeat on. If there is none it is free.
func pass(s state, at time.Time) state {
	first, left := s.V.next()
	if s.V = left; first.owner == "" {
		return s.Gone(keep)
	}
	s.V = left.without(first.owner)
	s.V.Owner, s.V.Token = first.owner, max(s.V.Token+1, at.UnixMicro())
	s.V.Told = fmt.Sprint(s.V.Owner, " ", s.V.Token, " ", first.stamp)
	return s.Is(s.V).Until(at.Add(time.Duration(first.worth()-first.age(at)) * time.Millisecond))
}

// passFree does what pass does, if nobody holds the mutex.
func passFree(s state, at time.Time) state {
	if s.Kind == engine.Absent {
		return pass(s, at)
	}
	return s
}

// shown is the model of a beat. It says of each owner that it has no place, 0, that it waits, 1, or that it holds the
// mutex, 2, and before that the place of the first that waits.
func shown(s state, at time.Time, in lock.In, out lock.Out) (state, bool) {
	owners := strings.Fields(in.Waiters)
	if slices.ContainsFunc(owners, func(owner string) bool { return s.V.place(owner) >= 0 }) {
		s.V = s.V.show(at, in.Stamp, owners...)
	}
	s = passFree(s, at)
	first, token, said := -1, int64(0), ""
	for _, owner := range owners {
		switch place := s.V.place(owner); {
		case owner == s.V.Owner:
			s, token = raised(s, at, in.Lease), s.V.Token
			said += " 2"
		case place < 0:
			said += " 0"
		default:
			if said += " 1"; first < 0 {
				first = place
			}
		}
	}
	return s, s.Remains(at, out.Left) && out.Token == token && out.Said == fmt.Sprint(first, said)
}
