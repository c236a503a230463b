package primitives

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
	"github.com/hasp-go/hasp/primitives/internal/worded"
	"github.com/hasp-go/hasp/primitives/lease"
	"github.com/hasp-go/hasp/primitives/trace"
)

const (
	// minRemembered is the shortest default of [PeriodicJobOptions.TTL].
	minRemembered = 24 * time.Hour

	// completeTimeout bounds the request that records a period.
	completeTimeout = 5 * time.Second
)

// PeriodicJobOptions configure a [PeriodicJob]. The zero value of each field means its default.
type PeriodicJobOptions struct {
	// TTL is how long the server keeps the record of the last completed period. A replica that asks
	// for that period later runs the job again. In whole milliseconds, at least one period. Zero
	// means two periods, at least 24 h, and at most the longest Duration.
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
// schedule, such as 02:00 local time, pass the nominal time, never a rounded one, and a length of at
// most the shortest time between two runs: with summer time 23 h. The time may be ahead
// of the server's clock by up to one period: with more, Do returns [ErrClockAhead]. So a clock that is
// ahead makes the other replicas leave out at most one period. If a job begins more than half a period
// early, the client's Logger receives that.
//
// After a change to a much shorter period a record may be ahead by more, if the longer one was rounded: by up to half of
// it. Then Do returns ErrClockAhead, which names the key of the record, until that time is near, or until you delete the
// key (DEL): the job then runs at once. Two schedules cannot share a name.
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
// job. [Options].MaxHold bounds each run: when it has passed, the lock is lost, and the context of work
// ends. A PeriodicJob is a name, needs no closing, and is safe for concurrent use.
//
// Source: none in Redisson.
type PeriodicJob struct {
	object // with the key of the record

	lock   exclusiveLock
	leases extend.LeaseConfig // of the lock
	period time.Duration
	ttl    time.Duration
	tracer *trace.Tracer // nil: none
}

// NewPeriodicJob returns the job called name, which runs once in each period. It sends nothing. All
// replicas must pass the same period. Its methods return a [*FieldError] for an empty name, a period
// that is no whole number of milliseconds or below 1 ms, or an invalid option. In a cluster a name with braces must have
// its hash tag in them.
func (c *Client) NewPeriodicJob(name string, period time.Duration, opts *PeriodicJobOptions) *PeriodicJob {
	o := *cmp.Or(opts, new(PeriodicJobOptions))
	j := &PeriodicJob{object: c.newObject(periodicJobKind, name, numberKind), period: period, tracer: c.tracer}
	j.ttl = cmp.Or(o.TTL, max(2*min(period, math.MaxInt64/2), minRemembered))
	j.leases = j.lock.configure(c, periodicJobKind, name, nil, &c.tokenTTL)
	lockKey, record := j.base.Key(), extend.Tagged(j.base.Key())+jobRecordKey
	j.base = j.base.WithKey(record).WithTypedKey("lock key", lockKey, "hash")
	j.lock.base = j.lock.base.WithTypedKey("key of the record", record, "string")
	j.reject(wholeMilliseconds("period", period))
	j.reject(extend.AtLeast("TTL", j.ttl, period))
	return j
}

// periodicJobKind names a PeriodicJob in errors.
const periodicJobKind = "periodic job"

// JobRun is one run of a periodic job, for its work.
type JobRun struct {
	// Period is the time for which the job is due, as Do or TryDo got it. After a crash the next run has
	// the same Period, where time.Now may be in the next one.
	Period time.Time

	// Lease is the lease of the job's lock, for its fencing token. The work must not release it.
	Lease *Lease
}

// Do runs work if no replica has completed the period of at, and reports whether it called work. While
// another replica runs the job, Do waits: until the replica has completed it, or until Do can run it
// instead, because the replica failed or its lease ended. If ctx ends first, the error wraps
// [ErrNotRun]: at shutdown that is no failure.
//
// work gets a context that ends if the lock is lost, the period, and the lease. If work panics, the
// period is not completed, Do releases the lock, and the panic continues.
//
// The results are
//
//   - true and nil: work returned nil, and the period is recorded as completed;
//   - false and nil: the period, or a later period, was completed before;
//   - true and an error: that of work or of the record, in a [*ReleaseError] if the release failed, too.
//     The period is not completed, unless only the release failed, or the error wraps
//     [ErrIndeterminate]. If the lock was lost, the error wraps [ErrLost];
//   - false and an error: work was not called. [ErrNotRun] says that ctx ended before, [ErrClockAhead]
//     that at or the record is too far ahead, and [ErrSelfDeadlock] that ctx is of a run of this job, which does not
//     re-enter, or of a lease of its Lock. Other errors are as for [Lock.Lock].
//
// If ctx ends during work and work still returns nil, the period is completed: Do waits for up to 5 s
// for the server's answer.
func (j *PeriodicJob) Do(
	ctx context.Context, at time.Time, work func(ctx context.Context, run JobRun) error,
) (ran bool, err error) {
	return j.do(ctx, at, work, (*extend.Leases).Acquire)
}

// TryDo is Do without waiting: while another replica runs the job, TryDo returns false and
// [ErrNotAcquired]. If that replica fails or crashes, no call waits to run the job instead: call
// TryDo again, or use Do.
func (j *PeriodicJob) TryDo(
	ctx context.Context, at time.Time, work func(ctx context.Context, run JobRun) error,
) (ran bool, err error) {
	return j.do(ctx, at, work, (*extend.Leases).TryAcquire)
}

// errCompleted means that the lock was not granted, because the period is completed.
var errCompleted = errors.New("the period is completed")

// do is Do with the given way to acquire the lock.
func (j *PeriodicJob) do(
	ctx context.Context, at time.Time, work func(ctx context.Context, run JobRun) error,
	acquire func(*extend.Leases, context.Context) (*Lease, error),
) (ran bool, err error) {
	if err := j.validate(at); err != nil {
		return false, err
	}
	lock := func(ctx context.Context) (*Lease, error) {
		return j.lock.acquireBy(ctx, &dueJob{j, at}, j.leases, acquire)
	}
	err = lease.Do(ctx, lock, func(ctx context.Context, lease *Lease) error {
		ran = true
		if err := work(ctx, JobRun{at, lease}); err != nil {
			return err
		}
		return j.complete(ctx, at, lease)
	})
	switch {
	case ran:
		return true, err
	case errors.Is(err, errCompleted):
		return false, nil
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

// dueJob is the lock of a job, for a caller that is to complete the period of at.
type dueJob struct {
	*PeriodicJob
	at time.Time
}

// Acquire implements [extend.Leasable]. So each try of a waiter looks whether the period is completed.
func (j *dueJob) Acquire(
	ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
) (int64, extend.Answer, error) {
	l := &j.lock
	at := j.at.Truncate(time.Millisecond)
	result, err := script.PeriodicAcquire(ctx, r, script.PeriodicAcquireParams{
		Lock: l.base.Key(), Token: l.tokenKey, Completed: j.base.Key(), Owner: owner, Lease: lease,
		Tokenttl: l.tokenTTL, Start: j.start(at), Earliest: at.Add(-j.period), Publish: l.publish(), Released: l.channel,
		Asks: j.base.AsksRights(),
	})
	ahead, record := at.Sub(result.Now), time.UnixMilli(result.Last)
	switch {
	case errors.Is(err, backend.ScriptError("NOTANUMBER")):
		return 0, extend.Answer{}, j.base.Conflict("text that is no such number")
	case err != nil:
		return 0, extend.Answer{}, err
	case result.Answer == 0 && ahead > j.period:
		return 0, extend.Answer{}, errAhead("", at, ahead)
	case result.Answer == 0 && record.Sub(result.Now) > j.period:
		// No caller of this period has made the record, so it does not say that this period is completed. It stays:
		// two schedules of one name would run, and replace each other's records, for ever.
		return 0, extend.Answer{}, errAhead(fmt.Sprintf("the record %q, of another period or a wrong clock: ", j.base.Key()),
			record, record.Sub(result.Now))
	case result.Answer == 0:
		return 0, extend.Answer{}, errCompleted
	case result.Answer > 0 && ahead > j.period/2:
		j.logAhead(at, ahead)
	}
	return lockAnswer(result.Answer, nil)
}

// errAhead returns the error of a time that is too far ahead, after its name.
func errAhead(name string, at time.Time, ahead time.Duration) error {
	return fmt.Errorf("%w: %s%s is %s ahead of it", ErrClockAhead, name, at.UTC().Format(time.RFC3339), ahead)
}

func (j *dueJob) Release(ctx context.Context, r backend.ScriptRunner, owner string) (bool, error) {
	return (*leasableLock)(&j.lock.ownedLock).Release(ctx, r, owner)
}

// logAhead logs that a job begins early. The logger may block.
func (j *PeriodicJob) logAhead(at time.Time, ahead time.Duration) {
	j.base.Go(func(context.Context, backend.ScriptRunner) {
		j.base.Logger().Warn("a job begins early: its time is ahead of the server's clock by more than half a period",
			zap.Time("at", at), zap.Duration("ahead", ahead))
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
	completed, err := extend.Call(ctx, &j.base, nil, "complete", func() (bool, error) {
		// If the server has another holder, the release reports that.
		return script.PeriodicComplete(ctx, j.base.Insistent(), j.lock.base.Key(), j.base.Key(),
			lease.Owner(), at.UnixMilli(), j.ttl)
	})
	if completed {
		j.reportCompleted(at)
	}
	return err
}

func (j *PeriodicJob) reportCompleted(period time.Time) {
	if j.tracer != nil && j.tracer.JobCompleted != nil {
		object := trace.Object{Kind: periodicJobKind, Name: worded.Text(j.Name())}
		j.tracer.JobCompleted(trace.JobCompleted{Object: object, Period: period})
	}
}

// LastCompleted returns the latest time for which a replica has completed the job: the time that the
// replica passed to Do or TryDo, in whole milliseconds. It takes one round trip. The zero time means
// that no replica has completed the job, or that the record has expired (TTL) or was lost. The errors
// are as for [AtomicLong.Load].
func (j *PeriodicJob) LastCompleted(ctx context.Context) (time.Time, error) {
	return extend.Call(ctx, &j.base, j.invalid, "read", func() (time.Time, error) {
		at, err := read(script.LongGet(ctx, j.base.Runner(), j.base.Key()))
		if err != nil || at == 0 {
			return time.Time{}, err
		}
		return time.UnixMilli(at), nil
	})
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
