package gocronhasp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

var (
	// ErrCompleted means that a replica has completed the job's period before. It is no failure: the job is done.
	ErrCompleted = errors.New("a replica has completed the job's period")

	// ErrNotDue means that gocron ran a job at a time that is not near a time of its Locker's Schedule: by hand, by
	// [gocron.WithStartImmediately], or by another schedule or location. The job was not run. To run a job by
	// hand call [Locker.RunNow].
	ErrNotDue = errors.New("the job is not due by its Locker's schedule")
)

// PeriodicOptions configure the Locker of [NewPeriodicLocker]. The zero value of each field means its default.
type PeriodicOptions struct {
	// Tolerance is how much earlier or later than a time of the schedule gocron may run the job for that time: by
	// clocks that differ, or because the job waits for a place in gocron's limit mode. Zero means one minute, and
	// for [Every] half of its length: then each run is for the nearest time.
	Tolerance time.Duration

	_ struct{}
}

const (
	defaultTolerance = time.Minute

	// minRemembered is the shortest time for which the server keeps the record of a completed period: a cron
	// expression may pause for a month.
	minRemembered = 31 * 24 * time.Hour
)

// NewPeriodicLocker returns a Locker for jobs that one replica runs in each period: each is a [primitives.PeriodicJob]
// with the job's name. A period is a time of the schedule, which must be the schedule of the job in gocron: a job that
// gocron runs more often is skipped as completed, and logged. All replicas pass the same schedule. The error is a
// [*primitives.FieldError] for an invalid schedule or option.
//
// While another replica runs the job, Lock waits. If that replica completes the job, Lock returns [ErrCompleted], and
// this replica skips the run. If it fails or crashes, Lock returns a lock, and this replica runs the job for the
// same period. So a job runs at least once in a period, and again only after a run that failed. If the scheduler stops
// while Lock waits, the error wraps [primitives.ErrNotRun]: that is no failure either. NextRun of a gocron job
// lies in the past while its replica waits.
//
// A run fails if the work of its [Locker.Job] returns an error or panics, or if the lock is lost. A job without Job
// completes the period with each run.
//
// gocron does not pass the time for which a job is due. The Locker takes the time of the schedule that is the nearest
// to the replica's clock. If that is more than Tolerance away, Lock returns [ErrNotDue]. Within three hours of a change to
// or from summer time the tolerance is longer by that change: gocron's kinds of jobs differ in a time that the clock leaves
// out or shows twice. So a run by hand takes the place of a scheduled one if it is within the tolerance, and otherwise
// needs [Locker.RunNow]. LastCompleted of a PeriodicJob with the job's name returns the last completed period.
func NewPeriodicLocker(client *primitives.Client, schedule Schedule, opts *PeriodicOptions) (*Locker, error) {
	p := &periods{
		schedule: schedule, tolerance: cmp.Or(opts, new(PeriodicOptions)).Tolerance, asked: map[string]time.Time{},
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("make a periodic locker: %w", err)
	}
	if e, ok := schedule.(every); ok {
		p.tolerance = cmp.Or(p.tolerance, time.Duration(e)/2)
	}
	p.tolerance = cmp.Or(p.tolerance, defaultTolerance)
	l := NewLocker(client, nil)
	l.periods = p
	return l, nil
}

// periods are those of the jobs of a Locker.
type periods struct {
	schedule  Schedule
	tolerance time.Duration
	asked     map[string]time.Time // the period that gocron last asked for, by the job's name; under the Locker's mu
}

func (p *periods) check() error {
	if p.schedule == nil {
		return &primitives.FieldError{Field: "schedule", Problem: "nil"}
	}
	if p.tolerance < 0 {
		return &primitives.FieldError{Field: "Tolerance", Problem: fmt.Sprintf("%s is negative", p.tolerance)}
	}
	if c, ok := p.schedule.(checked); ok {
		return c.check()
	}
	return nil
}

// due returns the period of a run at now.
func (p *periods) due(now time.Time) (time.Time, error) {
	near := p.schedule.Last(now)
	before, after := offsets(now.In(near.Location()))
	tolerance := p.tolerance + (before - after).Abs()
	for next := p.schedule.Last(now.Add(tolerance)); next.After(now); next = p.before(next) {
		if next.Sub(now) <= now.Sub(near).Abs() {
			near = next // The last one in this loop is the nearest after now.
		}
	}
	if near.IsZero() || near.Sub(now).Abs() > tolerance {
		return time.Time{}, fmt.Errorf("%w: its last time was %s, and none is within %s of now; RunNow of the Locker runs it by hand",
			ErrNotDue, near.Format(time.RFC3339), tolerance)
	}
	return near, nil
}

// before returns the time of the schedule before another one.
func (p *periods) before(due time.Time) time.Time { return p.schedule.Last(due.Add(-1)) }

// holdPeriod calls work if a replica must run the job now.
func (l *Locker) holdPeriod(ctx context.Context, job string, work Work) error {
	due, err := l.periods.due(time.Now())
	if err != nil {
		return err
	}
	again := l.asksAgain(job, due)
	length := due.Sub(l.periods.before(due)).Truncate(time.Millisecond)
	ttl := max(2*min(length, math.MaxInt64/2), minRemembered)
	ran, err := l.client.NewPeriodicJob(job, length, &primitives.PeriodicJobOptions{TTL: ttl}).Do(ctx, due, work)
	if ran || err != nil {
		return err
	}
	if again {
		report(ctx, job, fmt.Errorf("gocron runs it twice for %s: has the Locker another schedule?", due.Format(time.RFC3339)))
	}
	return ErrCompleted
}

// asksAgain reports whether gocron asked for the period before, in this process.
func (l *Locker) asksAgain(job string, due time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	again := l.periods.asked[job].Equal(due)
	l.periods.asked[job] = due
	return again
}
