package primitives

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/trace"
)

// maxLocalRefusal is how long a refusal is repeated at most: meanwhile other processes may have given back permits.
const maxLocalRefusal = time.Second

// localRefusals are what the server has last refused to the throttles of a client, and still refuses, by all that the
// client knows. The zero value is ready.
type localRefusals struct {
	any atomic.Bool // there may be one, or a call whose answer is one

	mu   sync.Mutex
	last recent[localRefusal]
}

// localRefusal is what the server has last refused to one throttle.
type localRefusal struct {
	limit    Limit
	n        int // permits; 0: nothing is refused any more
	decision Decision
	at       time.Time // when it was received
	ended    uint64    // how often this client has given back permits
}

// ask returns the decisions for takes of which one is still refused; nil: the server must be asked. Then note gets ended.
func (l *localRefusals) ask(takes []Take) (each []Decision, ended []uint64) {
	l.any.Store(true)
	l.mu.Lock()
	defer l.mu.Unlock()
	refused := false
	each, ended = make([]Decision, len(takes)), make([]uint64, len(takes))
	for i, take := range takes {
		name := take.throttle.base.ID().Object
		last := l.last.get(name)
		if last.n > 0 && last.limit != take.throttle.limit {
			last = localRefusal{ended: last.ended}
			l.last.keep(name, last)
		}
		each[i], ended[i] = last.repeated(take.n), last.ended
		refused = refused || each[i].RetryAfter > 0
	}
	if !refused {
		return nil, ended
	}
	return each, nil
}

// repeated returns the decision for n permits, or the zero Decision if nothing is known about them. More permits than
// were refused are free later, by the time of the difference.
func (r localRefusal) repeated(n int) Decision {
	passed := time.Since(r.at)
	if r.n == 0 || n < r.n || passed >= maxLocalRefusal {
		return Decision{}
	}
	retry := r.decision.RetryAfter - r.limit.time(r.n-n) - passed
	if retry <= 0 {
		return Decision{}
	}
	reset := max(retry, r.decision.ResetAfter-passed)
	return Decision{Remaining: r.decision.Remaining, RetryAfter: retry, NextAfter: retry, ResetAfter: reset}
}

// note notes the server's decisions, unless this client has given back permits meanwhile.
func (l *localRefusals) note(takes []Take, each []Decision, ended []uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, take := range takes {
		name := take.throttle.base.ID().Object
		if each[i].RetryAfter > 0 && l.last.get(name).ended == ended[i] {
			l.last.keep(name, localRefusal{take.throttle.limit, take.n, each[i], time.Now(), ended[i]})
		}
	}
}

// end ends the refusals of a throttle some of whose permits this client has given back.
func (l *localRefusals) end(t *Throttle) {
	if !l.any.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	name := t.base.ID().Object
	l.last.keep(name, localRefusal{ended: l.last.get(name).ended + 1})
}

// localLimits limit, within a client, what its server does not decide. The zero value is ready.
type localLimits struct {
	any atomic.Bool // there may be a limit

	mu     sync.Mutex
	freeAt recent[time.Time] // when all permits are free again
}

// localTake is the permits of a limiter that a call takes.
type localTake struct {
	of      *extend.Object
	rate    localRate
	n       int
	retryIn time.Duration // the answer: until so many are free
}

// take takes the permits at a share of the rates, and returns 0. If too few are free of one, it takes none, and returns
// the time until they are.
func (l *localLimits) take(takes []localTake, share float64) (longest time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	freeAt := make([]time.Time, len(takes))
	for i := range takes {
		freeAt[i] = l.ask(&takes[i], share, now)
		longest = max(longest, takes[i].retryIn)
	}
	for i := range takes {
		if longest == 0 {
			l.freeAt.keep(takes[i].of.ID().Object, freeAt[i])
			l.any.Store(true)
		}
	}
	return longest
}

// ask notes when the permits of a take are free, and returns when all are free after it. The caller holds the mutex.
func (l *localLimits) ask(t *localTake, share float64, now time.Time) time.Time {
	rate, used := t.rate.share(share), max(0, l.freeAt.get(t.of.ID().Object).Sub(now))
	free := time.Duration(rate.burst-min(t.n, rate.burst)) * rate.each
	if t.n > rate.burst || used > free {
		t.retryIn = max(used-free, 1)
	}
	return now.Add(used + time.Duration(t.n)*rate.each)
}

// forget forgets the limits about which the server has decided.
func (l *localLimits) forget(decided []localTake) {
	if !l.any.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, take := range decided {
		l.any.Store(l.freeAt.forget(take.of.ID().Object))
	}
}

// maxRecent is the largest number of young names, and of old ones.
const maxRecent = 2000

// recent is a bounded memory of what a client knows of names. If there are too many, those are forgotten that were not
// kept for the longest time. The zero value is ready. The caller holds a mutex.
type recent[V any] struct {
	young, old map[trace.Object]V
}

// get returns the value of a name, or the zero value.
func (r *recent[V]) get(name trace.Object) V {
	if v, ok := r.young[name]; ok {
		return v
	}
	return r.old[name]
}

// keep keeps a name among the young ones.
func (r *recent[V]) keep(name trace.Object, v V) {
	if len(r.young) >= maxRecent {
		r.young, r.old = nil, r.young
	}
	if r.young == nil {
		r.young = make(map[trace.Object]V)
	}
	r.young[name] = v
}

// forget forgets a name, and reports whether others are left.
func (r *recent[V]) forget(name trace.Object) (others bool) {
	delete(r.young, name)
	delete(r.old, name)
	return len(r.young)+len(r.old) > 0
}
