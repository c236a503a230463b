package limiter

import (
	"math"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
)

// Limit is a rate limiter at one time.
type Limit struct {
	Rate            int64
	Interval, Alive int64 // milliseconds
	Grants          engine.List[grant]
	Free            int64 // at the time for which it was asked last
}

// value returns how many permits no grant has, old ones included: what the server keeps.
func (l Limit) value() int64 { return l.Rate - permits(l.Grants.All()) }

// at returns l at a moment.
func (l Limit) at(c clock) Limit {
	l.Free = l.value() + permits(l.Grants.All()[:l.expired(c, math.MaxInt64)])
	return l
}

// ages is what the passing of time makes of it.
func ages(l Limit, at time.Time) Limit { return l.at(clockAt(at)) }

// is returns s as a limiter that is l at a moment. With used its life begins anew, if it has one.
func is(s state, l Limit, at time.Time, used bool) state {
	s = s.Is(l.at(clockAt(at)))
	if used && l.Alive > 0 {
		s = s.Until(at.Add(millis(l.Alive)))
	}
	return s
}

// step is the model.
func step(s state, at time.Time, in In, out Out) (state, bool) {
	there := s.Kind == engine.Present
	switch {
	case s.Kind == engine.Other:
		return s, false
	case in.Op == Set:
		return set(s, at, in, out)
	case in.Op == Delete:
		return s.Gone(nil), out.Done == there
	case in.Op == Config:
		return s, out == configOf(s)
	case in.Op == Acquire:
		return acquire(s, at, in, out)
	case !there:
		return s, out == Out{NoRate: true}
	case in.Op == Available:
		return s, out == Out{N: max(0, s.V.at(clockAt(at)).Free)}
	}
	return release(s, at, in, out)
}

func configOf(s state) Out {
	if s.Kind == engine.Absent {
		return Out{}
	}
	return Out{Done: true, Rate: Of{s.V.Rate, s.V.Interval, s.V.Alive}}
}

// set keeps what was granted.
func set(s state, at time.Time, in In, out Out) (state, bool) {
	there := s.Kind == engine.Present
	if there && !in.Change || !there && !in.Create {
		return s, !out.Done
	}
	l := Limit{Rate: in.Rate.Permits, Interval: in.Rate.Interval, Alive: in.Rate.Alive, Grants: s.V.Grants}
	return is(s.Until(time.Time{}), l, at, true), out.Done
}

// acquire is the model of what takes permits. Without an exact time nobody knows what a refusal says.
func acquire(s state, at time.Time, in In, out Out) (state, bool) {
	l := s.V
	if s.Kind == engine.Absent {
		if in.Make == (Of{}) {
			return s, out == Out{NoRate: true}
		}
		l = Limit{Rate: in.Make.Permits, Interval: in.Make.Interval, Alive: in.Make.Alive}
	}
	if in.N > l.Rate {
		return s, out == Out{TooMany: true}
	}
	c := clockAt(at)
	old, all := l.expired(c, in.N+in.Spare-l.value()), l.Grants.All()
	left := l.value() + permits(all[:old])
	if left < in.N {
		if s.Kind == engine.Present {
			s = is(s, l, at, true)
		}
		target := in.N
		if in.Least > 0 && in.Least < in.N {
			target = max(left+1, in.Least)
		}
		told := Out{Left: max(0, left), Wait: l.until(c, all[old:], target-left)}
		return s, out == told || !c.exact && !out.Done
	}
	left -= in.N
	l.Grants = grantsOf(c.with(all[old:], in.N, in.Grant))
	told := Out{Done: true, Left: left}
	if left < in.Least {
		told.Wait = l.until(c, l.Grants.All(), in.Least-left)
	}
	return is(s, l, at, true), out == told || !c.exact && out.Done
}

// release gives the oldest permits back that are not old.
func release(s state, at time.Time, in In, out Out) (state, bool) {
	l, c := s.V, clockAt(at)
	all := l.Grants.All()
	all = all[l.expired(c, math.MaxInt64):]
	released := min(in.N, permits(all))
	if released == 0 {
		return s, out == Out{}
	}
	for n := released; n > 0; {
		taken := min(n, all[0].N)
		n -= taken
		if all[0].N -= taken; all[0].N == 0 {
			all = all[1:]
		}
	}
	l.Grants = grantsOf(all)
	return is(s, l, at, true), out == Out{Released: released} || !c.exact
}
