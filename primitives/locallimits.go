package primitives

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/primitives/extend"
)

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
