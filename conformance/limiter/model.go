package limiter

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/primitives"
)

// Limit is a rate limiter at one time.
type Limit struct {
	Rate   primitives.Rate
	Grants engine.List[grant] // in the server's order
	Free   int                // the free permits at the time of the state
	Kept   time.Time          // the end of the keys of the grants; zero: they have none
}

// state is the state of one limiter.
type state = engine.State[Limit]

// grant is a member of the sorted set: permits that were granted at a millisecond.
type grant struct {
	At int64
	N  int
	ID ID
}

// ID is the first part of a member, which is random.
type ID string

// String returns the same text for each ID, since random bytes would make the reports of one failure differ.
func (ID) String() string { return "#" }

// member returns the member: the ID, and the number of permits.
func (g grant) member() string {
	return string(binary.LittleEndian.AppendUint32([]byte(g.ID), uint32(g.N))) //nolint:gosec // It is small.
}

// permits returns the permits of all grants together.
func permits(all []grant) (sum int) {
	for _, g := range all {
		sum += g.N
	}
	return sum
}

// value returns the number that the server keeps: the permits that are in no grant, not even in an old one.
func (l Limit) value() int { return l.Rate.Permits - permits(l.Grants.All()) }

// split returns the first grants that are old, until they have the missing permits, and the other grants.
func (l Limit) split(at time.Time, missing int) (old, rest []grant) {
	rest = l.Grants.All()
	for len(rest) > 0 && missing > 0 && rest[0].At <= at.Add(-l.Rate.Interval).UnixMilli() {
		missing -= rest[0].N
		old, rest = append(old, rest[0]), rest[1:]
	}
	return old, rest
}

// until returns the time until the first grants with the missing permits are old, or until all grants are.
func (l Limit) until(at time.Time, all []grant, missing int) (wait time.Duration) {
	for i := 0; i < len(all) && missing > 0; i++ {
		missing -= all[i].N
		wait = max(time.Millisecond, millis(all[i].At-at.UnixMilli())+l.Rate.Interval)
	}
	return wait
}

// ages sets the free permits to those of a time, and drops the grants when their keys end.
func ages(l Limit, at time.Time) Limit {
	if !l.Kept.IsZero() && !at.Before(l.Kept) {
		l.Grants, l.Kept = engine.List[grant]{}, time.Time{}
	}
	old, _ := l.split(at, math.MaxInt)
	l.Free = l.value() + permits(old)
	return l
}

// used returns a limiter that a caller has just used: its life begins again, if it has one.
func (l Limit) used(at time.Time) state {
	s := engine.New(ages(l, at))
	if l.Rate.KeepAlive > 0 {
		s = s.Until(at.Add(l.Rate.KeepAlive))
	}
	s.V.Kept = s.Ends
	return s
}

// answered is the part of an answer that a caller gets.
func answered(out Out) Out {
	out.Count, out.Wait, out.Reset = 0, 0, 0
	return out
}

// farAway is the time of a step without a time. For a server its grants are from before a change of the clock.
var farAway = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)

// step is the model: there is one right answer. Without a time only the part that callers get is known.
func step(s state, at time.Time, in In, out Out) (state, bool) {
	if s.Kind == engine.Other {
		return s, false
	}
	next, want := after(s, cmp.Or(at, farAway), in)
	return next, out == want || at.IsZero() && answered(out) == answered(want)
}

// after returns the limiter after an input, and the answer.
func after(s state, at time.Time, in In) (state, Out) {
	there := s.Kind == engine.Present
	switch {
	case in.Op == Set && there && in.Change, in.Op == Set && !there && in.Create:
		return Limit{Rate: in.Rate, Grants: s.V.Grants}.used(at), Out{Done: true}
	case in.Op == Set:
		return s, Out{}
	case in.Op == Delete:
		return s.Gone(nil), Out{Done: there}
	case in.Op == Config:
		return s, Out{Done: there, Rate: s.V.Rate}
	case !there && (in.Op != Acquire || in.Rate == primitives.Rate{}):
		return s, Out{Code: "NORATE"}
	case in.Op == Acquire:
		return acquire(s, at, in)
	case in.Op == Available:
		l := ages(s.V, at)
		_, used := l.split(at, math.MaxInt)
		return s, Out{N: max(0, l.Free), Wait: l.until(at, used, 1-l.Free), Reset: l.Rate.Interval * time.Duration(min(1, len(used)))}
	}
	return release(s, at, in.N)
}

// acquire is the model of a script that asks for permits. It makes a missing limiter.
func acquire(s state, at time.Time, in In) (state, Out) {
	l := s.V
	if s.Kind == engine.Absent {
		l.Rate = in.Rate
		l.Rate.KeepAlive = cmp.Or(in.Rate.KeepAlive, max(time.Hour, in.Rate.Interval))
	}
	if in.N > l.Rate.Permits {
		return s, Out{Code: "TOOMANY"}
	}
	old, rest := l.split(at, in.N+in.Spare-l.value())
	left := l.value() + permits(old)
	if left < in.N {
		target := in.N
		if in.Least > 0 && in.Least < in.N {
			target = max(left+1, in.Least)
		}
		next := l.used(at)
		next.V.Kept = l.Kept // A refusal leaves the grants as they are.
		return next, Out{Count: max(0, left), Wait: l.until(at, rest, target-left)}
	}
	left -= in.N
	rest = append(rest, grant{at.Add(999 * time.Microsecond).UnixMilli(), in.N, in.Grant}) // Its time is rounded up.
	slices.SortFunc(rest, func(a, b grant) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) })
	l.Grants = engine.ListOf(rest...)
	return l.used(at), Out{Done: true, Count: left, Wait: l.until(at, rest, in.Least-left)}
}

// release frees n permits of the oldest grants that are not old.
func release(s state, at time.Time, n int) (state, Out) {
	l := s.V
	_, all := l.split(at, math.MaxInt)
	released := min(n, permits(all))
	if released == 0 {
		return s, Out{}
	}
	for range released {
		if all[0].N--; all[0].N == 0 {
			all = all[1:]
		}
	}
	l.Grants = engine.ListOf(all...)
	return l.used(at), Out{Count: released}
}

// stored are a limiter's keys. Those of the grants exist only while there are grants.
func stored(key string, s state) []engine.Key {
	side, r, all := engine.SideName("", key), s.V.Rate, s.V.Grants.All()
	own, value, grants := engine.Key{Name: key}, engine.Key{Name: side + ":value"}, engine.Key{Name: side + ":permits"}
	if s.Kind == engine.Present {
		own.Fields = map[string]string{
			"rate": fmt.Sprint(r.Permits), "interval": fmt.Sprint(r.Interval.Milliseconds()), "type": "0",
			"keepAliveTime": fmt.Sprint(r.KeepAlive.Milliseconds()),
		}
	}
	if len(all) > 0 {
		value.Text, value.Ends = fmt.Sprint(s.V.value()), s.V.Kept
		grants.Set, grants.Ends = map[string]int64{}, s.V.Kept
	}
	for _, g := range all {
		if grants.Set[g.member()] = g.At; g.At == farAway.UnixMilli() { // The order in the server is not known.
			grants.Ranked = func(got map[string]string) bool { return len(got) > 0 }
		}
	}
	return []engine.Key{own, value, grants}
}
