package gocronhasp

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-co-op/gocron/v2"

	"github.com/hasp-go/hasp/primitives"
)

// ErrNotLocked means that the function of a [Locker.Task] was called by a job that holds no lock of the Locker. The
// job has another name, or no [gocron.WithDistributedLocker] or [gocron.WithDistributedJobLocker] with this Locker.
// The work was not called.
var ErrNotLocked = errors.New("the job does not hold its lock; its name and its locker must be those of the task")

// errPanicked is the result of a work that panics.
var errPanicked = errors.New("the job panicked")

// Locker is a [gocron.Locker], for [gocron.WithDistributedLocker] or [gocron.WithDistributedJobLocker]. It is safe
// for concurrent use, and needs no closing. Make one by [NewLocker] or [NewPeriodicLocker].
type Locker struct {
	hold hold

	mu   sync.Mutex
	runs map[string]*run // that no Task has claimed, by the job's name
}

var _ gocron.Locker = (*Locker)(nil)

// Work is the work of a job. Its context ends when the job's context ends, or when the lock is lost: then its cause
// is [primitives.ErrLost]. The lease is for its fencing token, and must not be released.
type Work = func(ctx context.Context, lease *primitives.Lease) error

// hold acquires the lock of a job, calls work, and releases the lock, like [primitives.Lock.Do].
type hold func(ctx context.Context, job string, work Work) error

// NewLocker returns a Locker whose jobs run under a [primitives.Lock] with the job's name. A replica that finds the
// lock held skips this run of the job: Lock returns [primitives.ErrNotAcquired]. The watchdog renews the lock, unless
// opts set a fixed Lease. Nil options are the defaults.
func NewLocker(client *primitives.Client, opts *primitives.LockOptions) *Locker {
	return newLocker(func(ctx context.Context, job string, work Work) error {
		lease, err := client.NewLock(job, opts).TryLock(ctx)
		if err != nil {
			return err
		}
		return lease.Do(ctx, func(ctx context.Context) error { return work(ctx, lease) })
	})
}

func newLocker(hold hold) *Locker { return &Locker{hold: hold, runs: map[string]*run{}} }

// Lock implements [gocron.Locker]. If the job may run, Lock returns a lock that gocron releases after the run. With
// an error the run is skipped: an [gocron.AfterLockError] listener receives it.
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
		return nil, err
	}
}

// Task returns a function for [gocron.NewTask]: it calls work under the lock of the job. job is the name that the job
// has by [gocron.WithName]. When work has returned, the function releases the lock.
//
// The function returns the errors of work and of the release, as [primitives.Lock.Do] does. gocron passes them
// to listeners such as [gocron.AfterJobRunsWithError]. Nil proves that the lock was held to the end, except after a
// failover.
func (l *Locker) Task(job string, work Work) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		r := l.claim(job)
		if r == nil {
			return fmt.Errorf("job %q: %w", job, ErrNotLocked)
		}
		return r.do(ctx, work)
	}
}

// claim returns the run that holds the lock of a job, once; nil: there is none.
func (l *Locker) claim(job string) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.runs[job]
	delete(l.runs, job)
	return r
}

// forget forgets a run that has ended without a Task.
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
