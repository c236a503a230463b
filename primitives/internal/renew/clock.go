package renew

import "time"

// instant is a reading of both clocks. The monotonic clock stands still while the machine is
// suspended; the wall clock may be set back.
type instant struct {
	time.Time // by the monotonic clock
	wall      time.Time
}

// clock reads the clocks.
type clock func() instant

// systemClock reads those of the machine.
func systemClock() instant {
	now := time.Now()
	return instant{Time: now, wall: now.Round(0)}
}

// since is the time from start to now by the clock that went further.
func (now instant) since(start instant) time.Duration {
	return max(now.Sub(start.Time), now.wall.Sub(start.wall))
}
