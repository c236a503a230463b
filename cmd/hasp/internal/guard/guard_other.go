//go:build unix && !linux

package guard

import (
	"os"
	"time"
)

// Separate says that a guard acts even while the process that started it is stopped.
const Separate = false

// Main is the program of a guard on Linux.
func Main() int { return 1 }

// Self returns the path of the running program.
func Self() (string, error) { return os.Executable() }

// Start starts a guard, which has known from then on: when the guard knows the group, it writes a byte to known.
func Start(known *os.File) (*Guard, error) {
	r, w, err := os.Pipe()
	if err != nil {
		_ = known.Close()
		return nil, err
	}
	done := make(chan bool, 2)
	go func() {
		acted := keep(r, newAlarm(), func() {
			_, _ = known.Write([]byte{'\n'})
			_ = known.Close()
		})
		_ = r.Close()
		done <- acted
		done <- acted // For End, after a reader of Done.
	}()
	return &Guard{messages: w, done: done}, nil
}

// start is the zero of the clock.
var start = time.Now()

// Now returns the time by the monotonic clock. Its zero has no meaning.
func Now() time.Duration { return time.Since(start) }

// alarm yields at a time of the clock.
type alarm struct {
	C     chan struct{}
	timer *time.Timer
}

func newAlarm() *alarm {
	a := &alarm{C: make(chan struct{}, 1)}
	a.timer = time.AfterFunc(never, func() {
		select {
		case a.C <- struct{}{}:
		default:
		}
	})
	return a
}

// set sets the time at which a yields next.
func (a *alarm) set(at time.Duration) { a.timer.Reset(at - Now()) }
