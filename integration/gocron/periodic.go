package gocronhasp

import (
	"context"
	"errors"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// ErrCompleted means that a replica has completed the job's period before. It is no failure: the job is done.
var ErrCompleted = errors.New("a replica has completed the job's period")

// PeriodicOptions configure the Locker of [NewPeriodicLocker]. The zero value of each field means its default.
type PeriodicOptions struct {
	// Offset is the time of the schedule within the period. A period begins at a multiple of its length, in
	// UTC: for a job at 12:00 UTC each day it is 12 hours. Zero suits jobs at the full minute, hour or day. It
	// need not be exact: a replica may run the job up to half a period earlier or later.
	Offset time.Duration

	_ struct{}
}

// NewPeriodicLocker returns a Locker for jobs that one replica runs in each period: each is a [primitives.PeriodicJob]
// with the job's name. All replicas pass the same period and options. Jobs with other periods have Lockers of their
// own, by [gocron.WithDistributedJobLocker].
//
// While another replica runs the job, Lock waits. If that replica completes the job, Lock returns [ErrCompleted], and
// this replica skips the run. If it fails or crashes, Lock returns a lock, and this replica runs the job. So a job
// runs at least once in a period, and again only after a run that failed. If the scheduler stops while Lock waits, the
// error wraps [primitives.ErrNotRun]: that is no failure either.
//
// A run fails if the work of its [Locker.Task] returns an error or panics, or if the lock is lost. Without Task each
// run completes the period.
//
// gocron does not pass the time for which a job is due. The Locker takes the time of the schedule that is the nearest
// to the replica's clock. So replicas may start a job at other times within the period, as a [gocron.DurationJob] does,
// and clocks may differ by less than half a period.
func NewPeriodicLocker(client *primitives.Client, period time.Duration, opts *PeriodicOptions) *Locker {
	var o PeriodicOptions
	if opts != nil {
		o = *opts
	}
	return newLocker(func(ctx context.Context, job string, work Work) error {
		due := time.Now().Add(-o.Offset).Round(period)
		ran, err := client.NewPeriodicJob(job, period, nil).Do(ctx, due,
			func(ctx context.Context, run primitives.JobRun) error { return work(ctx, run.Lease) })
		if !ran && err == nil {
			return ErrCompleted
		}
		return err
	})
}
