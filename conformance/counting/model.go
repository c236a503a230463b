package counting

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/fairlock"
	"github.com/hasp-go/hasp/conformance/lock"
)

// Held is a counting semaphore at one time. Its queue outlives its key.
type Held struct {
	Members engine.List[member] // of the zset at its name, by their owners
	Queue   engine.List[waiter] // in the order of arrival
	Number  int64               // the last one in the queue
	Until   int64               // when the keys of the queue end; zero: there are none
}

// farOff is in the year 2100, after the end of every test. All times are milliseconds of the server's clock.
const farOff = 4_102_444_800_000

// member is a holder, or a waiter in the queue.
type member struct {
	owner string
	ends  int64 // of the hold, or of the place
	waits bool
	over  bool // it has ended, and is still there
}

// with returns h with other members.
func (h Held) with(all ...member) Held {
	slices.SortFunc(all, func(a, b member) int { return cmp.Compare(a.owner, b.owner) })
	h.Members = engine.ListOf(all...)
	return h
}

// find returns the member of that name.
func (h Held) find(owner string) (member, bool) {
	return h.Members.Find(func(m member) bool { return m.owner == owner })
}

// holding returns the holders.
func (h Held) holding() []member {
	return h.Members.Without(func(m member) bool { return m.waits || m.over }).All()
}

func holders(s state) []string {
	return lock.ForEach(s.V.holding(), func(m member) string { return m.owner })
}

func (h Held) holds(owner string) bool {
	return slices.ContainsFunc(h.holding(), func(m member) bool { return m.owner == owner })
}

// room returns how many owners more may acquire by a limit.
func (h Held) room(limit int64) int64 { return limit - int64(len(h.holding())) }

// waiter is an owner in the queue.
type waiter struct {
	owner  string
	number int64
}

// without returns h without some owners, also in its queue.
func (h Held) without(owners ...string) Held {
	h.Members = h.Members.Without(func(m member) bool { return slices.Contains(owners, m.owner) })
	h.Queue = h.Queue.Without(func(w waiter) bool { return slices.Contains(owners, w.owner) })
	return h
}

// queue returns the waiters. A place without a known end has not ended.
func (h Held) queue() (all fairlock.Queue) {
	for _, w := range h.Queue.All() {
		m, found := h.find(w.owner)
		all = append(all, fairlock.Waiter{Owner: w.owner, Ended: found && (!m.waits || m.over)})
	}
	return all
}

// ages ends holds and places, and the keys of the queue.
func ages(h Held, at time.Time) Held {
	h.Members = h.Members.Each(func(m member) member {
		m.over = at.UnixMilli() > m.ends
		return m
	})
	if h.Until != 0 && at.UnixMilli() >= h.Until {
		return Held{Members: h.Members}
	}
	return h
}

// keep returns the part of a semaphore that outlives its key.
func keep(h Held) Held {
	h.Members = engine.List[member]{}
	return h
}

// last returns the last end of the members, and of one more.
func (h Held) last(ends int64) int64 {
	for _, m := range h.Members.All() {
		ends = max(ends, m.ends)
	}
	return ends
}

// enter adds a holder or a waiter, and drops the holds that have ended.
func enter(s state, m member) state {
	last := s.V.last(m.ends)
	others := s.V.Members.Without(func(o member) bool { return o.over && !o.waits || o.owner == m.owner })
	return s.Is(s.V.with(append(others.All(), m)...)).Until(time.UnixMilli(last))
}

// ready reports whether in acquires.
func (o order) ready(s state, in lock.In) bool {
	first, _ := s.V.queue().First(in.Owner, "")
	return s.V.room(in.Limit) > 0 && (first == "" || first == in.Owner)
}

// step is the model.
func (o order) step(s state, at time.Time, in lock.In, out lock.Out) (state, bool) {
	holds := s.V.holds(in.Owner)
	switch {
	case out.Other, s.Kind == engine.Other:
		return s, out.Other && !out.Done && s.Kind == engine.Other
	case in.Op == lock.Acquire && out.Token > 0:
		return o.admit(s, at, in, out)
	case in.Op == lock.Acquire:
		return o.refuse(s, at, in, out)
	case in.Op == lock.Renew && holds:
		return enter(s, member{owner: in.Owner, ends: at.Add(in.Lease).UnixMilli()}), out.Done
	case in.Op == lock.Renew:
		return s, !out.Done
	case in.Op == lock.Release:
		return leave(s, in), out.Done == holds
	}
	return s, out.Count == int64(len(s.V.holding()))
}

// admit is the model of a grant.
func (o order) admit(s state, at time.Time, in lock.In, out lock.Out) (state, bool) {
	ok := o.ready(s, in)
	if !at.IsZero() {
		ok = ok && out.Token == at.UnixMicro() && (o.queues() || out.Count == s.V.room(in.Limit)-1)
	}
	_, ended := s.V.queue().First(in.Owner, "")
	s.V = s.V.without(ended...)
	s = enter(s, member{owner: out.Owner, ends: at.Add(in.Lease).UnixMilli()})
	s.V.Queue = s.V.Queue.Without(func(w waiter) bool { return w.owner == out.Owner })
	if s.V.Queue == (engine.List[waiter]{}) {
		s.V.Members = s.V.Members.Without(func(m member) bool { return m.waits && m.over })
	}
	return s, ok
}

// refuse is the model of an acquire that is refused. In a history, without times, every refusal may be right:
// the model does not know which holds have ended, and which callers wait.
func (o order) refuse(s state, at time.Time, in lock.In, out lock.Out) (state, bool) {
	ok := at.IsZero() || !o.ready(s, in)
	switch {
	case at.IsZero():
		return s, ok
	case !o.queues():
		return s, ok && waits(s, at, in.Limit, out.Left)
	case in.WaiterTimeout > 0:
		s.V = s.V.queued(in.Owner)
	}
	first, ended := s.V.queue().First(in.Owner, "")
	behind := first != "" && first != in.Owner
	s.V = s.V.without(ended...)
	if _, known := s.V.find(first); behind && !known {
		s = enter(s, member{owner: first, ends: at.Add(30 * time.Second).UnixMilli(), waits: true})
	}
	if in.WaiterTimeout > 0 {
		place := member{owner: in.Owner, ends: at.Add(in.WaiterTimeout).UnixMilli(), waits: true}
		s.V.Until = s.V.last(place.ends)
		s = enter(s, place)
	}
	if behind || in.WaiterTimeout == 0 {
		return s, ok && out.Left == -time.Millisecond
	}
	return s, ok && waits(s, at, in.Limit, out.Left)
}

// queued returns h with an owner in the queue, at its end if it was not there.
func (h Held) queued(owner string) Held {
	if _, found := h.Queue.Find(func(w waiter) bool { return w.owner == owner }); found {
		return h
	}
	for _, w := range h.Queue.All() {
		h.Number = max(h.Number, w.number)
	}
	h.Number++
	h.Queue = h.Queue.And(waiter{owner, h.Number})
	return h
}

// waits reports whether a refusal has the right time: until enough holds have ended.
func waits(s state, at time.Time, limit int64, left time.Duration) bool {
	var ends []int64
	for _, m := range s.V.holding() {
		ends = append(ends, m.ends)
	}
	slices.Sort(ends)
	over := -s.V.room(limit)
	return over >= 0 && over < int64(len(ends)) && left.Milliseconds() == max(0, ends[over]-at.UnixMilli())
}

// soon reports whether a hold ends before the first who waits, since an owner acquired, tries again.
func (h Held) soon(in lock.In) bool {
	own, _ := h.find(in.Owner)
	now := own.ends - in.Lease.Milliseconds()
	return slices.ContainsFunc(h.holding(), func(m member) bool { return 3*(m.ends-now) < in.WaiterTimeout.Milliseconds() })
}

// leave takes out an owner and, if there is room then, or the owner was the first, the waiters before the first whose
// places have ended.
func leave(s state, in lock.In) state {
	first, _ := s.V.queue().First(in.Owner, "")
	s.V = s.V.without(in.Owner)
	if s.V.room(in.Limit) > 0 || first == in.Owner {
		_, ended := s.V.queue().First("", "")
		s.V = s.V.without(ended...)
	}
	if s.Kind == engine.Present && s.V.Members == (engine.List[member]{}) {
		return s.Gone(keep)
	}
	return s
}

// published returns 1 if a holder leaves; with a queue, the first waiter, if there is room for it since an owner
// acquired, left, or lost its place.
func (o order) published(before, after state, in lock.In) string {
	first, ended := before.V.queue().First(in.Owner, "")
	behind, _ := before.V.queue().First("", in.Owner)
	room, granted := before.V.room(in.Limit), after.V.holds(in.Owner)
	switch releases := in.Op == lock.Release; {
	case before.Kind == engine.Other, !releases && in.Op != lock.Acquire:
	case !o.queues() && releases && before.V.holds(in.Owner):
		return "1"
	case !o.queues():
	case releases && (before.V.without(in.Owner).room(in.Limit) > 0 || first == in.Owner):
		return behind
	case !releases && granted && (room > 1 || after.V.soon(in)):
		return behind
	case !releases && !granted && first != in.Owner && len(ended) > 0:
		return first
	}
	return ""
}

func queueKey(key string) string { return engine.SideName("", key) + ":owner" }

// stored returns the keys of a counting semaphore.
func (o order) stored(key string, s state) []engine.Key {
	own, queue := engine.Key{Name: key, Set: map[string]int64{}}, map[string]int64{}
	for _, m := range s.V.Members.All() {
		if own.Set[m.owner] = m.ends; m.waits {
			own.Set[m.owner] = -m.ends
		}
	}
	if !o.queues() {
		return []engine.Key{own}
	}
	for _, w := range s.V.Queue.All() {
		queue[w.owner] = w.number
	}
	side := []engine.Key{{Name: queueKey(key), Set: queue, Ranked: func(got map[string]string) bool {
		return maps.EqualFunc(got, queue, func(score string, number int64) bool {
			whole, _, _ := strings.Cut(score, ".") // The fraction is the logarithm of the waiter timeout.
			return whole == fmt.Sprint(number)
		})
	}}, {Name: engine.SideName("", key) + ":counter"}}
	if s.V.Number > 0 {
		side[1].Text = fmt.Sprint(s.V.Number)
	}
	if s.V.Until != 0 {
		side[0].Ends, side[1].Ends = time.UnixMilli(s.V.Until), time.UnixMilli(s.V.Until)
	}
	return append([]engine.Key{own}, side...)
}
