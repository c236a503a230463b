package primitives

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/trace"
)

// maxLocalLimits is the largest number of young local limits, and of old ones.
const maxLocalLimits = 2000

// localLimits limit, within a client, what its server does not decide. If there are too many, those are
// forgotten that were not used for the longest time. The zero value is ready.
type localLimits struct {
	any atomic.Bool // there may be a limit

	mu         sync.Mutex
	young, old map[trace.Object]time.Time // when all permits are free again
}

// take takes n permits at a rate with a burst, and returns 0. If too few are free, it takes none, and returns the
// time until they are.
func (l *localLimits) take(o *extend.Object, rate localRate, n int) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	name, now := o.ID().Object, time.Now()
	freeAt, ok := l.young[name]
	if !ok {
		freeAt = l.old[name]
	}
	used := max(0, freeAt.Sub(now))
	free := time.Duration(rate.burst-min(n, rate.burst)) * rate.each
	if n > rate.burst || used > free {
		return max(used-free, 1)
	}
	l.keep(name, now.Add(used+time.Duration(n)*rate.each))
	return 0
}

// keep keeps a limit among the young ones. The caller holds the mutex.
func (l *localLimits) keep(name trace.Object, freeAt time.Time) {
	if len(l.young) >= maxLocalLimits {
		l.young, l.old = nil, l.young
	}
	if l.young == nil {
		l.young = make(map[trace.Object]time.Time)
	}
	l.young[name] = freeAt
	l.any.Store(true)
}

// forget forgets the limit of an object, about which the server has decided.
func (l *localLimits) forget(o *extend.Object) {
	if !l.any.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.young, o.ID().Object)
	delete(l.old, o.ID().Object)
	l.any.Store(len(l.young)+len(l.old) > 0)
}
