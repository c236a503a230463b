package primitives

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

const (
	// minRemembered is the shortest default of [PeriodicJobOptions.TTL].
	minRemembered = 24 * time.Hour

	// maxAhead is how far the time of a job with a short period may be ahead of the server's clock.
	maxAhead = time.Minute

	// completeTimeout bounds the request that records a period.
	completeTimeout = 5 * time.Second
)

// PeriodicJobOptions configure a [PeriodicJob]. The zero value of each field means its default.
type PeriodicJobOptions struct {
	// TTL is how long the server keeps the record of the last completed period. A replica that asks
	// for that period later runs the job again. In whole milliseconds, at least one period. Zero
	// means two periods, at least 24 h.
	TTL time.Duration

	_ struct{}
}

// PeriodicJob is a job that one of several replicas runs in each period: whichever comes first. All
// replicas call Do or TryDo at each time of the same schedule.
//
// Each call passes the time for which the job is due. The period is that time divided by the length
// of a period, rounded down, since 1970-01-01 UTC. Pass the nominal time of the schedule, such as
// 02:00:00: then clocks that differ do not matter. A caller without a schedule passes
// time.Now().Round(period): then clocks may differ by less than half a period. For an irregular
// schedule, such as 02:00 local time, the length is at most the shortest time between two runs.
//
// # Guarantees
//
// In each period at most one replica at a time runs the job, like the holder of a [Lock]. Once the job
// has returned nil, no replica runs it again for that period, or for an earlier period. If the job
// returns an error, or its replica crashes, is cut off or stops, the next replica that waits or calls
// runs the job again: after a crash when the lease ends, 30 s by default. So a job may run in part, and
// then again. Lease.Token of the second run is higher.
//
// A job that has returned nil may still run again if its replica cannot record that: the error of Do
// says so. It may also run again if the record expires (TTL), or if a failover loses the record.
//
// If a run is still going on when the next period begins, Do of that period waits for its end. A
// period for which no replica calls Do or TryDo is not made up for.
//
// The job runs under the Lock of its name, with the watchdog's lease: other uses of that Lock exclude the
// job. A PeriodicJob is a name, needs no closing, and is safe for concurrent use.
//
// Source: none in Redisson.
type PeriodicJob struct {
	object // with the key of the record

	lock   exclusiveLock
	period time.Duration
	ttl    time.Duration
}

// NewPeriodicJob returns the job called name, which runs once in each period. It sends nothing. All
// replicas must pass the same period, in whole milliseconds. Its methods return a [*FieldError] for
// an empty name, a period below 1 ms or an invalid option. In a cluster a name with braces must have
// its hash tag in them.
func (c *Client) NewPeriodicJob(name string, period time.Duration, opts *PeriodicJobOptions) *PeriodicJob {
	var o PeriodicJobOptions
	if opts != nil {
		o = *opts
	}
	j := &PeriodicJob{object: c.newObject(periodicJobKind, name, numberKind), period: period, ttl: o.TTL}
	j.lock.init(c, periodicJobKind, name, nil, &c.tokenTTL)
	lockKey := j.base.Key()
	j.base = j.base.WithKey(extend.Tagged(lockKey)+jobRecordKey).WithTypedKey("lock key", lockKey, "hash")
	j.reject(extend.AtLeast("period", period, time.Millisecond))
	if j.ttl == 0 {
		j.ttl = max(2*period, minRemembered)
	}
	j.reject(extend.AtLeast("TTL", j.ttl, period))
	return j
}

// periodicJobKind names a PeriodicJob in errors.
const periodicJobKind = "periodic job"

// Do runs work if no replica has completed the period of at, and reports whether it called work. While
// another replica runs the job, Do waits: until the replica has completed it, or until Do can run it
// instead, because the replica failed or its lease ended. If ctx ends first, the error wraps
// [ErrNotRun]: at shutdown that is no failure.
//
// work gets a context that ends if the lock is lost, and the lease, for its fencing token. work must
// not release the lease. If work panics, the period is not completed, Do releases the lock, and the
// panic continues.
//
// The results are
//
//   - true and nil: work returned nil, and the period is recorded as completed;
//   - false and nil: the period, or a later period, was completed before;
//   - true and an error: that of work or of the record, in a [*ReleaseError] if the release failed, too.
//     The period is not completed, unless only the release failed, or the error wraps
//     [ErrIndeterminate]. If the lock was lost, the error wraps [ErrLost];
//   - false and an error: work was not called. [ErrNotRun] says that ctx ended before, [ErrClockAhead]
//     that at is too far ahead. Other errors are as for [Lock.Lock].
//
// If ctx ends during work and work still returns nil, the period is completed: Do waits for up to 5 s
// for the server's answer.
func (j *PeriodicJob) Do(
	ctx context.Context, at time.Time, work func(ctx context.Context, lease *Lease) error,
) (ran bool, err error) {
	return j.do(ctx, at, j.lock.Lock, work)
}

// TryDo is Do without waiting: while another replica runs the job, TryDo returns false and
// [ErrNotAcquired]. If that replica fails or crashes, no call waits to run the job instead: call
// TryDo again, or use Do.
func (j *PeriodicJob) TryDo(
	ctx context.Context, at time.Time, work func(ctx context.Context, lease *Lease) error,
) (ran bool, err error) {
	ran, err = j.do(ctx, at, j.lock.TryLock, work)
	if ran || !errors.Is(err, ErrNotAcquired) {
		return ran, err
	}
	// The holder may be a replica that is about to find the period completed, or to release.
	due, unknown := j.due(ctx, at)
	if unknown != nil || !due {
		return false, notRun(ctx, unknown)
	}
	return false, err
}

// do is Do with the given way to acquire the lock.
func (j *PeriodicJob) do(
	ctx context.Context, at time.Time, acquire func(ctx context.Context) (*Lease, error),
	work func(ctx context.Context, lease *Lease) error,
) (ran bool, err error) {
	if err := j.validate(at); err != nil {
		return false, err
	}
	err = extend.Do(ctx, acquire, func(ctx context.Context, lease *Lease) error {
		due, err := j.due(ctx, at)
		if err != nil || !due {
			return err
		}
		ran = true
		if err := work(ctx, lease); err != nil {
			return err
		}
		return j.complete(ctx, at, lease)
	})
	if ran {
		return true, err
	}
	if failed, is := err.(*ReleaseError); is { //nolint:errorlint // work, which may return another one, was not called.
		err = j.workOf(failed) // The lock was needed only for the query.
	}
	return false, notRun(ctx, err)
}

// notRun returns the error of a call that has not run the job. It adds [ErrNotRun] if the end of ctx is
// the reason.
func notRun(ctx context.Context, err error) error {
	if stoppedBy(ctx, err) {
		return fmt.Errorf("%w: %w", ErrNotRun, err)
	}
	return err
}

// validate returns the [*FieldError] of a job with invalid arguments, or of the zero time.
func (j *PeriodicJob) validate(at time.Time) error {
	invalid := j.invalid
	if invalid == nil && at.IsZero() {
		invalid = &FieldError{Field: "at", Problem: "zero"}
	}
	if invalid == nil {
		return nil
	}
	return fmt.Errorf("run %s %q: %w", periodicJobKind, j.Name(), invalid)
}

// due reports whether the period of at is still to be completed.
func (j *PeriodicJob) due(ctx context.Context, at time.Time) (bool, error) {
	return extend.Call(ctx, &j.base, nil, "query", func() (bool, error) {
		last, err := script.PeriodicLast(ctx, j.base.Runner(), j.base.Key())
		if err != nil {
			return false, err
		}
		if ahead := at.Truncate(time.Millisecond).Sub(last.Now); ahead > max(j.period, maxAhead) {
			return false, fmt.Errorf("%w: %s is %s ahead of it", ErrClockAhead, at.UTC().Format(time.RFC3339), ahead)
		}
		return !last.StartOK || last.Start < j.start(at), nil
	})
}

// complete records that the period of at is completed, if lease still holds the lock.
func (j *PeriodicJob) complete(ctx context.Context, at time.Time, lease *Lease) error {
	if lease.Err() != nil {
		return nil // The release reports it.
	}
	// The job is done, even if ctx has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), completeTimeout)
	defer cancel()
	_, err := extend.Call(ctx, &j.base, nil, "complete", func() (bool, error) {
		// If the server has another holder, the release reports that.
		return script.PeriodicComplete(ctx, j.base.Runner(), j.lock.base.Key(), j.base.Key(),
			lease.Owner(), j.start(at), j.ttl)
	})
	return err
}

// start returns the first millisecond of the period that at is in.
func (j *PeriodicJob) start(at time.Time) int64 {
	ms, period := at.UnixMilli(), j.period.Milliseconds()
	past := ms % period
	if past < 0 {
		past += period
	}
	return ms - past
}
