package gocronhasp

import (
	"time"

	"github.com/robfig/cron/v3"

	"github.com/hasp-go/hasp/primitives"
)

// Cron is the schedule of a [gocron.CronJob] with that expression, of five fields, or of six that begin with the
// seconds. loc is the location of the scheduler. A zone in the expression, as in "CRON_TZ=Europe/Berlin 30 2 * * *", has
// precedence. Descriptors such as @daily are allowed, except for @every: use [Every].
//
// A time that the clock leaves out is no time of the schedule, as in gocron. For a CronJob with
// [gocron.WithDaylightSavingsTimePolicy] that runs on each day nevertheless, use [Daily]. A time that the clock shows twice
// in succession counts once, the first time.
func Cron(expression string, loc *time.Location) Schedule {
	s, err := cronParser.Parse(expression)
	fields, ok := s.(*cron.SpecSchedule)
	switch {
	case err != nil:
		return &cronTimes{problem: err.Error()}
	case !ok:
		return &cronTimes{problem: "@every has no fixed times; use Every"}
	case fields.Location != time.Local:
		loc = fields.Location
	case loc == nil:
		return &cronTimes{problem: "no location"}
	}
	return &cronTimes{fields: fields, loc: loc}
}

var cronParser = cron.NewParser(
	cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

type cronTimes struct {
	problem string
	fields  *cron.SpecSchedule
	loc     *time.Location
}

func (c *cronTimes) check() error {
	if c.problem != "" {
		return &primitives.FieldError{Field: "Cron", Problem: c.problem}
	}
	return nil
}

// Last implements [Schedule].
func (c *cronTimes) Last(now time.Time) time.Time {
	last := c.match(now.In(c.loc))
	if before, after := offsets(last); before > after { // The clock may have shown it before.
		if first := c.match(last.Add(-time.Second)); sameClock(first, last) {
			return first
		}
	}
	return last
}

// match returns the latest time from t back that the fields have. robfig/cron only looks ahead, and over a change of half
// an hour not exactly. It gives up after five years, too.
func (c *cronTimes) match(t time.Time) time.Time {
	t = t.Truncate(time.Second)
	for end := t.AddDate(-5, 0, 0); t.After(end); {
		seconds := time.Duration(t.Second()) * time.Second
		switch {
		case !c.day(t) || !has(c.fields.Hour, t.Hour()):
			// Clocks change at full quarters of an hour.
			t = t.Add(-time.Duration(t.Minute()%15)*time.Minute - seconds - time.Second)
		case !has(c.fields.Minute, t.Minute()):
			t = t.Add(-seconds - time.Second)
		case !has(c.fields.Second, t.Second()):
			t = t.Add(-time.Second)
		default:
			return t
		}
	}
	return time.Time{}
}

// day reports whether the fields have the day of t. If both the day of the month and of the week are limited, one suffices.
func (c *cronTimes) day(t time.Time) bool {
	ofMonth, ofWeek := has(c.fields.Dom, t.Day()), has(c.fields.Dow, int(t.Weekday()))
	day := ofMonth || ofWeek
	if has(c.fields.Dom, anyValue) || has(c.fields.Dow, anyValue) {
		day = ofMonth && ofWeek
	}
	return day && has(c.fields.Month, int(t.Month()))
}

// anyValue is the bit of a field that is a star.
const anyValue = 63

func has(field uint64, value int) bool { return field&(1<<value) != 0 }
