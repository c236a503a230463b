package renew

import "time"

// epoch is the zero of the monotonic clock's readings. It is so far back that all readings are
// positive, in virtual time, too.
var epoch = time.Now().Add(-50 * 365 * 24 * time.Hour)

// instant is a reading of both clocks, each since an epoch of its own, so an entry stores it
// in few bytes. The monotonic clock stands still while the machine is suspended. The wall clock may
// be set back.
type instant struct {
	at   time.Duration // by the monotonic clock
	wall time.Duration
}

// clock reads the clocks.
type clock func() instant

// systemClock reads the clocks of the machine.
func systemClock() instant { return instantOf(time.Now()) }

// instantOf returns t as a reading of the machine's clocks.
func instantOf(t time.Time) instant {
	return instant{at: t.Sub(epoch), wall: time.Duration(t.UnixNano())}
}

// since returns the time from start to now, by the clock on which it is longer.
func (now instant) since(start instant) time.Duration {
	return max(now.at-start.at, now.wall-start.wall)
}
