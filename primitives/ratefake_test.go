package primitives_test

import (
	"slices"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// fakeRate is a rate limiter of the fakeServer.
type fakeRate struct {
	permits  int
	interval time.Duration
	grants   []fakeGrant // the oldest first
	made     []fakeGrant // all that were ever made
}

// fakeGrant is when so many permits were granted.
type fakeGrant struct {
	at time.Time
	n  int
}

// limit makes the limiter at a key.
func (s *fakeServer) limit(key string, permits int, interval time.Duration) *fakeRate {
	l := &fakeRate{permits: permits, interval: interval}
	s.set(func() { s.rates[key] = l })
	return l
}

// free returns how many permits are free.
func (l *fakeRate) free() int {
	l.grants = slices.DeleteFunc(l.grants, func(g fakeGrant) bool { return time.Since(g.at) >= l.interval })
	free := l.permits
	for _, g := range l.grants {
		free -= g.n
	}
	return free
}

// until returns how long it takes until so many permits more are free.
func (l *fakeRate) until(missing int) time.Duration {
	for _, g := range l.grants {
		if missing -= g.n; missing <= 0 {
			return time.Until(g.at.Add(l.interval))
		}
	}
	return 0
}

// rateAcquire does what rate_acquire does. The arguments are how many are wanted, the grant, the fewest that
// another waits for, how many free ones are told, and those of a new limiter.
func (s *fakeServer) rateAcquire(key string, args []string) backend.Reply {
	if s.rates[key] == nil {
		s.rates[key] = &fakeRate{permits: number(args[4]), interval: milliseconds(args[5])}
	}
	return s.rates[key].acquire(args)
}

func (l *fakeRate) acquire(args []string) backend.Reply {
	n, least, spare := number(args[0]), number(args[2]), number(args[3])
	free, wait := l.free(), time.Duration(0)
	taken := free >= n
	switch {
	case taken:
		g := fakeGrant{time.Now(), n}
		l.grants, l.made = append(l.grants, g), append(l.made, g)
		if free -= n; free < least {
			wait = l.until(least - free)
		}
	case least > 0 && least < n:
		wait = l.until(max(free+1, least) - free)
	default:
		wait = l.until(n - free)
	}
	left := min(free, max(spare, n))
	return backend.ArrayReply([]backend.Reply{
		truth(taken), backend.IntegerReply(int64(left)), backend.IntegerReply(wait.Milliseconds()), {},
	})
}

// rateRelease does what rate_release does: with a message.
func (s *fakeServer) rateRelease(key string, args []string) backend.Reply {
	l, n := s.rates[key], number(args[0])
	before := l.free()
	for len(l.grants) > 0 && n > 0 {
		taken := min(n, l.grants[0].n)
		n -= taken
		if l.grants[0].n -= taken; l.grants[0].n == 0 {
			l.grants = l.grants[1:]
		}
	}
	s.publish(args[2], strconv.Itoa(l.free()))
	return backend.IntegerReply(int64(l.free() - before))
}

// most returns the most permits that were granted in any window of one interval, of which the end does not
// count.
func (l *fakeRate) most() (most int) {
	for i, first := range l.made {
		sum := 0
		for _, g := range l.made[i:] {
			if g.at.Sub(first.at) < l.interval {
				sum += g.n
			}
		}
		most = max(most, sum)
	}
	return most
}
