package primitives

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/primitives/internal/limits"
)

// maxLocalRefusal is how long a refusal is repeated at most: meanwhile other processes may have given back permits.
const maxLocalRefusal = time.Second

// localRefusals are what the server has last refused to the throttles of a client, and still refuses, by all that the
// client knows. The zero value is ready.
type localRefusals struct {
	any atomic.Bool // there may be one, or a call whose answer is one

	mu   sync.Mutex
	last limits.Recent[localRefusal]
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
		last := l.last.Get(name)
		if last.n > 0 && last.limit != take.throttle.limit {
			last = localRefusal{ended: last.ended}
			l.last.Keep(name, last)
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
	retry := r.decision.RetryAfter - limits.Time(r.limit.Permits, r.limit.Interval, r.n-n) - passed
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
		if each[i].RetryAfter > 0 && l.last.Get(name).ended == ended[i] {
			l.last.Keep(name, localRefusal{take.throttle.limit, take.n, each[i], time.Now(), ended[i]})
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
	l.last.Keep(name, localRefusal{ended: l.last.Get(name).ended + 1})
}
