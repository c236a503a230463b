package listen

import "time"

// Alarm is a timer that knows when it fires. The mutex of its waiters guards it.
type Alarm struct {
	Ring  func() // calls Fired first, with the mutex; set before Within
	timer *time.Timer
	at    time.Time // zero: it is not armed
	ended bool
}

// Within makes the alarm ring in d, unless it rings earlier.
func (a *Alarm) Within(d time.Duration) {
	at := time.Now().Add(d)
	if a.ended || !a.at.IsZero() && !at.Before(a.at) {
		return
	}
	a.at = at
	if a.timer == nil {
		a.timer = time.AfterFunc(d, a.Ring)
		return
	}
	a.timer.Reset(d)
}

// Fired notes that the alarm is no longer armed.
func (a *Alarm) Fired() { a.at = time.Time{} }

// Stop disarms the alarm.
func (a *Alarm) Stop() {
	if a.timer != nil {
		a.timer.Stop()
		a.at = time.Time{}
	}
}

// End disarms the alarm for good: otherwise it would keep a closed client in memory.
func (a *Alarm) End() {
	a.Stop()
	a.ended = true
}
