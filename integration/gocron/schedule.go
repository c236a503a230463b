package gocronhasp

import (
	"fmt"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// Schedule is when a job is due, for [NewPeriodicLocker]: the schedule that the job has in gocron. [Every], [Daily] and
// [Cron] make one.
type Schedule interface {
	// Last returns the latest time of the schedule that is not after now, or the zero time if there is none. The
	// time is in the zone of the schedule. All replicas get the same time for the same now.
	Last(now time.Time) time.Time
}

// checked is a Schedule that may be invalid.
type checked interface{ check() error }

// Every is the schedule of a [gocron.DurationJob]: the multiples of d since 1970-01-01 UTC. d is less than 24 h: a day
// has its length in a zone only, so longer schedules need [Daily] or [Cron]. Invalid arguments are reported by
// [NewPeriodicLocker], here as in the other functions.
func Every(d time.Duration) Schedule { return every(d) }

type every time.Duration

func (e every) check() error {
	switch d := time.Duration(e); {
	case d < time.Millisecond || d%time.Millisecond != 0:
		return &primitives.FieldError{Field: "Every", Problem: fmt.Sprintf("%s is no positive whole number of milliseconds", d)}
	case d >= 24*time.Hour:
		return &primitives.FieldError{Field: "Every", Problem: fmt.Sprintf("%s is a day or more, which has no zone; use Daily or Cron", d)}
	}
	return nil
}

// Last implements [Schedule].
func (e every) Last(now time.Time) time.Time {
	ms, length := now.UnixMilli(), time.Duration(e).Milliseconds()
	return time.UnixMilli(ms - (ms%length+length)%length).UTC()
}

// Daily is the schedule of a job at hour:minute on each day in loc, the location of the scheduler: of a
// [gocron.DailyJob], or of a [gocron.CronJob] such as "30 2 * * *".
//
// Each day has one such time, even if the clock changes: the first one if the clock shows it twice. If the clock
// leaves it out, the time is as much later as the clock is put forward. On such a day gocron runs a DailyJob up to two
// hours off; a CronJob it runs only with [gocron.WithDaylightSavingsTimePolicy].
func Daily(hour, minute int, loc *time.Location) Schedule { return &daily{hour, minute, loc} }

type daily struct {
	hour, minute int
	loc          *time.Location
}

func (d *daily) check() error {
	switch {
	case d.loc == nil:
		return &primitives.FieldError{Field: "Daily", Problem: "no location"}
	case d.hour < 0 || d.hour > 23 || d.minute < 0 || d.minute > 59:
		return &primitives.FieldError{Field: "Daily", Problem: fmt.Sprintf("%d:%02d is no time of day", d.hour, d.minute)}
	}
	return nil
}

// Last implements [Schedule].
func (d *daily) Last(now time.Time) time.Time {
	year, month, day := now.In(d.loc).Date()
	due := d.on(year, month, day)
	for ; due.After(now); day-- {
		due = d.on(year, month, day-1)
	}
	return due
}

func (d *daily) on(year int, month time.Month, day int) time.Time {
	clock := time.Date(year, month, day, d.hour, d.minute, 0, 0, time.UTC)
	before, after := offsets(time.Date(year, month, day, d.hour, d.minute, 0, 0, d.loc))
	first, second := clock.Add(-before).In(d.loc), clock.Add(-after).In(d.loc)
	if !sameClock(first, clock) && sameClock(second, clock) {
		return second
	}
	return first
}

// nearChange is how far from a change of the clock [offsets] sees it.
const nearChange = 3 * time.Hour

// offsets returns how far the clock of t's zone is ahead of UTC, before and after a change that is near t.
func offsets(t time.Time) (before, after time.Duration) {
	_, from := t.Add(-nearChange).Zone()
	_, to := t.Add(nearChange).Zone()
	return time.Duration(from) * time.Second, time.Duration(to) * time.Second
}

// sameClock reports whether clocks show the same day and time, each in its zone.
func sameClock(one, other time.Time) bool {
	return one.Format(time.DateTime) == other.Format(time.DateTime)
}
