package gocronhasp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"

	"github.com/hasp-go/hasp/primitives"
)

// ErrNotLocked means that the function of [Locker.Job] was called by a job without its lock: an option of the job
// replaces that of Locker.Job, or the scheduler has an [Elector]. The work was not called.
var ErrNotLocked = errors.New("the job does not hold its lock; it needs the option that Job returns, last, and no Elector")

// errPanicked is the result of a work that panics.
var errPanicked = errors.New("the job panicked")

// Locker is a [gocron.Locker]. Its [Locker.Job] gives a job of gocron this Locker and a name. It is safe for concurrent
// use, and needs no closing. Make one by [NewLocker] or [NewPeriodicLocker].
type Locker struct {
	client  *primitives.Client
	opts    *primitives.LockOptions
	periods *periods // nil: of NewLocker

	mu    sync.Mutex
	runs  map[string]*run // that no Job has claimed, by the job's name
	works map[string]Work // by the job's name
}

var _ gocron.Locker = (*Locker)(nil)

// Run is one run of a job. Its Period is the time of the Schedule for which the job is due, and zero without a
// Schedule: with [NewLocker] and [Elector]. Its Lease is for its fencing token, and must not be released.
type Run = primitives.JobRun

// Work is the work of a job. Its context ends when the job's context ends, or when the lock is lost: then its cause
// is [primitives.ErrLost].
type Work = func(ctx context.Context, run Run) error

// NewLocker returns a Locker whose jobs run under a [primitives.Lock] with the job's name. A replica that finds the
// lock held skips this run of the job: Lock returns [primitives.ErrNotAcquired]. The watchdog renews the lock, unless
// opts set a fixed Lease. Nil options are the defaults.
func NewLocker(client *primitives.Client, opts *primitives.LockOptions) *Locker {
	return &Locker{client: client, opts: opts, runs: map[string]*run{}, works: map[string]Work{}}
}

// hold acquires the lock of a job, calls work, and releases the lock, like [primitives.Lock.Do].
func (l *Locker) hold(ctx context.Context, job string, work Work) error {
	if l.periods != nil {
		return l.holdPeriod(ctx, job, work)
	}
	return l.tryHold(ctx, job, time.Time{}, work)
}

// tryHold calls work under the lock of a job if that is free.
func (l *Locker) tryHold(ctx context.Context, job string, period time.Time, work Work) error {
	lease, err := l.client.NewLock(job, l.opts).TryLock(ctx)
	if err != nil {
		return err
	}
	return lease.Do(ctx, func(ctx context.Context) error { return work(ctx, Run{Period: period, Lease: lease}) })
}

// report logs what gocron shows nobody but listeners: a job may never run.
func report(ctx context.Context, job string, err error) {
	slog.ErrorContext(ctx, "gocron: a job was not run", "job", job, "error", err)
}

// Lock implements [gocron.Locker]. If the job may run, Lock returns a lock that gocron releases after the run. With
// an error the run is skipped: an [gocron.AfterLockError] listener receives it. [slog.Default] receives it, too, unless it
// says that another replica does the job, or that the scheduler stops.
func (l *Locker) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	r := &run{locked: make(chan struct{}), done: make(chan error, 1), released: make(chan error, 1)}
	go func() { r.released <- l.hold(ctx, job, r.wait) }()
	select {
	case <-r.locked:
		l.mu.Lock()
		defer l.mu.Unlock()
		l.runs[job] = r
		return &lock{l, job, r}, nil
	case err := <-r.released:
		for _, usual := range []error{ErrCompleted, primitives.ErrNotAcquired, primitives.ErrNotRun, context.Canceled} {
			if errors.Is(err, usual) {
				return nil, err
			}
		}
		report(ctx, job, err)
		return nil, err
	}
}

// Job returns what a job of gocron needs, so one replica runs it: the function for [gocron.NewTask], and the option
// that sets the job's name, which its lock has, too, and this Locker.
//
//	task, name := locker.Job("report", report)
//	_, err := scheduler.NewJob(gocron.DailyJob(1, gocron.NewAtTimes(gocron.NewAtTime(2, 30, 0))), gocron.NewTask(task), name)
//
// The function calls work under the lock, and then releases it. It returns the errors of work and of the release, as
// [primitives.Lock.Do] does. gocron passes them to listeners such as [gocron.AfterJobRunsWithError]. Nil proves that
// the lock was held to the end, except after a failover. Without the lock the function returns [ErrNotLocked], and logs
// it by [slog.Default].
func (l *Locker) Job(name string, work Work) (task func(ctx context.Context) error, option gocron.JobOption) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.works[name] = work
	task = func(ctx context.Context) error {
		r := l.claim(name)
		if r == nil {
			err := fmt.Errorf("job %q: %w", name, ErrNotLocked)
			report(ctx, name, err)
			return err
		}
		return r.do(ctx, work)
	}
	return task, both(gocron.WithName(name), gocron.WithDistributedJobLocker(l))
}

// both returns two options as one. It infers J, the job of an option, which gocron does not export.
func both[J any](one, other func(*J, time.Time) error) func(*J, time.Time) error {
	return func(job *J, now time.Time) error { return cmp.Or(one(job, now), other(job, now)) }
}

// RunNow runs the work of a [Locker.Job] at once, in the calling goroutine, whatever the time, and returns its error. It
// holds the lock of the job meanwhile, so no replica runs the job at the same time: if one does, the error is
// [primitives.ErrNotAcquired]. RunNow completes no period, so the next scheduled run is not skipped. The Period of
// the Run is the latest time of the schedule. If this Locker has no such job, the error is a [*primitives.FieldError].
func (l *Locker) RunNow(ctx context.Context, job string) error {
	l.mu.Lock()
	work := l.works[job]
	l.mu.Unlock()
	if work == nil {
		return &primitives.FieldError{Field: "job", Problem: fmt.Sprintf("the Locker has no job %q", job)}
	}
	var period time.Time
	if l.periods != nil {
		period = l.periods.schedule.Last(time.Now())
	}
	return l.tryHold(ctx, job, period, work)
}

// claim returns the run that holds the lock of a job, once; nil: there is none.
func (l *Locker) claim(job string) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.runs[job]
	delete(l.runs, job)
	return r
}

// forget forgets a run that has ended without a Job.
func (l *Locker) forget(job string, r *run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.runs[job] == r {
		delete(l.runs, job)
	}
}

// lock is the [gocron.Lock] of a run.
type lock struct {
	locker *Locker
	job    string
	run    *run
}

// Unlock implements [gocron.Lock]. It needs no context: the job's has ended if the scheduler was stopped, and the
// release has a time of its own.
func (k *lock) Unlock(context.Context) error {
	k.locker.forget(k.job, k.run)
	return k.run.end(nil)
}

// run is one run of a job. A goroutine holds the lock, and waits until the job is done.
type run struct {
	locked   chan struct{} // closed when the goroutine holds the lock
	done     chan error    // receives the result of the job
	released chan error    // receives the result of the goroutine
	run      Run

	once sync.Once
	err  error // the result of the goroutine
}

// wait is the work of the goroutine.
func (r *run) wait(_ context.Context, run Run) error {
	r.run = run
	close(r.locked)
	return <-r.done
}

// do calls work under the lease, and ends the run, even if work panics.
func (r *run) do(ctx context.Context, work Work) (err error) {
	result := errPanicked
	defer func() { err = r.end(result) }()
	result = work(r.run.Lease.Context(ctx), r.run)
	return nil
}

// end ends the run with the job's result, unless it has ended, and returns the result of the goroutine.
func (r *run) end(result error) error {
	r.once.Do(func() {
		r.done <- result
		r.err = <-r.released
	})
	return r.err
}
