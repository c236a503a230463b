// Package limits has what the limits of package primitives compute without their server: the time of permits, what a
// client decides by itself, and what it remembers of names.
package limits

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/primitives/trace"
)

// Local limits, within a client, what its server does not decide. The zero value is ready.
type Local struct {
	any atomic.Bool // there may be a limit

	mu     sync.Mutex
	freeAt Recent[time.Time] // when all permits are free again
}

// Take is the permits of a limiter that a call takes.
type Take struct {
	Of      trace.Object
	Pace    Pace
	N       int
	RetryIn time.Duration // the answer: until so many are free
}

// Take takes the permits at a share of the paces, and returns 0. If too few are free of one, it takes none, and returns
// the time until they are.
func (l *Local) Take(takes []Take, share float64) (longest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	freeAt := make([]time.Time, len(takes))
	for i := range takes {
		freeAt[i] = l.ask(&takes[i], share, now)
		longest = max(longest, takes[i].RetryIn)
	}
	for i := range takes {
		if longest == 0 {
			l.freeAt.Keep(takes[i].Of, freeAt[i])
			l.any.Store(true)
		}
	}
	return longest
}

// ask notes when the permits of a take are free, and returns when all are free after it. The caller holds the mutex.
func (l *Local) ask(t *Take, share float64, now time.Time) time.Time {
	pace, used := t.Pace.share(share), max(0, l.freeAt.Get(t.Of).Sub(now))
	free := time.Duration(pace.burst-min(t.N, pace.burst)) * pace.each
	if t.N > pace.burst { // So many are never free, but the server may decide the next try.
		t.RetryIn = max(used, pace.each, 1)
	} else if used > free {
		t.RetryIn = used - free
	}
	return now.Add(used + time.Duration(t.N)*pace.each)
}

// Forget forgets the limits about which the server has decided.
func (l *Local) Forget(decided []Take) {
	if !l.any.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, take := range decided {
		l.any.Store(l.freeAt.Forget(take.Of))
	}
}

// Pace is a rate with a burst, that a client approximates.
type Pace struct {
	each  time.Duration // the time that frees one permit
	burst int
}

// PaceOf returns the pace of so many permits in an interval.
func PaceOf(permits int, interval time.Duration, burst int) Pace {
	return Pace{interval / time.Duration(max(1, permits)), burst}
}

func (p Pace) share(share float64) Pace {
	each := min(float64(p.each)/share, float64(math.MaxInt64/2))
	return Pace{time.Duration(each), max(1, int(float64(p.burst)*share))}
}

// Time returns how long a rate takes to free n permits, in whole microseconds, rounded down. If n is negative, the
// time is, too.
func Time(perInterval int, interval time.Duration, n int) time.Duration {
	micros, permits := interval.Microseconds(), int64(perInterval)
	parts := micros % permits * int64(n)
	whole := micros/permits*int64(n) + parts/permits
	if parts%permits < 0 {
		whole--
	}
	return time.Duration(whole) * time.Microsecond
}

// maxRecent is the largest number of young names, and of old ones.
const maxRecent = 2000

// Recent is a bounded memory of what a client knows of names. If there are too many, those are forgotten that were not
// kept for the longest time. The zero value is ready. The caller holds a mutex.
type Recent[V any] struct {
	young, old map[trace.Object]V
}

// Get returns the value of a name, or the zero value.
func (r *Recent[V]) Get(name trace.Object) V {
	if v, ok := r.young[name]; ok {
		return v
	}
	return r.old[name]
}

// Keep keeps a name among the young ones.
func (r *Recent[V]) Keep(name trace.Object, v V) {
	if len(r.young) >= maxRecent {
		r.young, r.old = nil, r.young
	}
	if r.young == nil {
		r.young = make(map[trace.Object]V)
	}
	r.young[name] = v
}

// Forget forgets a name, and reports whether others are left.
func (r *Recent[V]) Forget(name trace.Object) (others bool) {
	delete(r.young, name)
	delete(r.old, name)
	return len(r.young)+len(r.old) > 0
}
