package gocronhasp_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	gocronhasp "github.com/hasp-go/hasp/integration/gocron"
	"github.com/hasp-go/hasp/primitives"
)

// job is the name of the job, and of its lock.
const job = "report"

// runs counts the runs of a job over all replicas.
type runs struct {
	mu    sync.Mutex
	count counts
}

// counts are the runs that work now, the most that ever did at once, and those that have ended.
type counts struct{ now, most, ended int }

// work returns a work that takes some time, unless its context ends before.
func (r *runs) work(takes time.Duration) gocronhasp.Work {
	return func(ctx context.Context, _ gocronhasp.Run) error {
		r.add(1)
		defer r.add(-1)
		return sleep(ctx, takes)
	}
}

func (r *runs) add(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count.now += n
	r.count.most = max(r.count.most, r.count.now)
	if n < 0 {
		r.count.ended++
	}
}

// after sleeps in virtual time, and returns the counts then.
func (r *runs) after(d time.Duration) counts {
	time.Sleep(d)
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// failures are the errors that a scheduler passes to its listeners: of locks, and of runs.
type failures struct{ locks, runs recorder }

// recorder keeps errors.
type recorder struct {
	mu   sync.Mutex
	errs []error
}

func (r *recorder) add(_ uuid.UUID, _ string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

func (r *recorder) all() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.errs)
}

func (f *failures) listen() gocron.JobOption {
	return gocron.WithEventListeners(gocron.AfterLockError(f.locks.add), gocron.AfterJobRunsWithError(f.runs.add))
}

// schedule has a replica run a task every minute. It returns what stops it.
func schedule(
	t *testing.T, coordination gocron.SchedulerOption, task any, options ...gocron.JobOption,
) (stop func() error) {
	t.Helper()
	scheduler := must(gocron.NewScheduler(coordination))(t)
	t.Cleanup(func() { _ = scheduler.Shutdown() })
	_, err := scheduler.NewJob(gocron.DurationJob(time.Minute), gocron.NewTask(task),
		append([]gocron.JobOption{gocron.WithName(job)}, options...)...)
	require.NoError(t, err)
	scheduler.Start()
	return scheduler.Shutdown
}

// replica has a replica run a job of a Locker every minute. It returns what stops it.
func replica(
	t *testing.T, locker *gocronhasp.Locker, work gocronhasp.Work, options ...gocron.JobOption,
) (stop func() error) {
	t.Helper()
	task, name := locker.Job(job, work)
	return schedule(t, gocron.WithLocation(time.UTC), task, append(options, name)...)
}

// taskOf returns the function of a job.
func taskOf(locker *gocronhasp.Locker, work gocronhasp.Work) func(ctx context.Context) error {
	task, _ := locker.Job(job, work)
	return task
}

// bubble runs a test in virtual time. A call that hangs, or gocron's busy wait for a job, ends the tests after a minute.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	defer time.AfterFunc(time.Minute, func() { panic(t.Name() + " hangs") }).Stop()
	synctest.Test(t, test)
}

// onServer is bubble with a server.
func onServer(t *testing.T, test func(t *testing.T, s *hasptest.Server)) {
	t.Helper()
	bubble(t, func(t *testing.T) { test(t, hasptest.New(t)) })
}

// lockerOf returns a Locker of a process of its own.
func lockerOf(s *hasptest.Server) *gocronhasp.Locker { return gocronhasp.NewLocker(s.Client(nil), nil) }

// TestLongJobKeepsItsLock has a job that is much longer than the lease and the period.
func TestLongJobKeepsItsLock(t *testing.T) {
	onServer(t, func(t *testing.T, s *hasptest.Server) {
		var r runs
		var f failures
		for range 2 {
			locker := lockerOf(s)
			replica(t, locker, r.work(570*time.Second), f.listen())
		}
		require.Equal(t, counts{now: 1, most: 1, ended: 2}, r.after(30*time.Minute+15*time.Second))
		require.Empty(t, f.runs.all())
		require.NotEmpty(t, f.locks.all())
		require.ErrorIs(t, f.locks.all()[0], primitives.ErrNotAcquired)
	})
}

// TestLostLock loses the lock of a job: the job ends, and fails, and another run follows.
func TestLostLock(t *testing.T) {
	onServer(t, func(t *testing.T, s *hasptest.Server) {
		var r runs
		var f failures
		locker := lockerOf(s)
		replica(t, locker, r.work(time.Hour), f.listen())
		require.Equal(t, 1, r.after(time.Minute+time.Second).now)

		s.Lose(job)
		require.Equal(t, 0, r.after(10*time.Second).now) // a third of the lease
		require.Len(t, f.runs.all(), 1)
		require.ErrorIs(t, f.runs.all()[0], primitives.ErrLost, "of the work")
		require.ErrorIs(t, f.runs.all()[0], primitives.ErrNotHeld, "of the release")

		require.Equal(t, 1, r.after(time.Minute).now, "the next run")
	})
}

// requireFree looks at the lock of the job.
func requireFree(t *testing.T, s *hasptest.Server) {
	t.Helper()
	require.False(t, must(s.Client(nil).NewLock(job, nil).IsLocked(t.Context()))(t))
}

// TestJobWithoutTask runs a function that knows nothing of its lock.
func TestJobWithoutTask(t *testing.T) {
	onServer(t, func(t *testing.T, s *hasptest.Server) {
		var r runs
		work := r.work(570 * time.Second)
		schedule(t, gocron.WithDistributedLocker(lockerOf(s)), func(ctx context.Context) error { return work(ctx, gocronhasp.Run{}) },
			gocron.WithSingletonMode(gocron.LimitModeReschedule))
		require.Equal(t, 1, r.after(2*time.Minute).now)
		require.True(t, must(s.Client(nil).NewLock(job, nil).IsLocked(t.Context()))(t))
		require.Equal(t, counts{most: 1, ended: 1}, r.after(525*time.Second))
		requireFree(t, s)
	})
}

// TestTaskNeedsTheLockOfItsJob calls a task without a lock, under the lock of another job, twice under one lock, and
// after an unlock without a task.
func TestTaskNeedsTheLockOfItsJob(t *testing.T) {
	bubble(t, func(t *testing.T) {
		locker := lockerOf(hasptest.New(t))
		called := 0
		task := taskOf(locker, func(context.Context, gocronhasp.Run) error { called++; return nil })
		require.ErrorIs(t, task(t.Context()), gocronhasp.ErrNotLocked)
		for _, name := range []string{"another", job} {
			held := must(locker.Lock(t.Context(), name))(t)
			if name == job {
				require.NoError(t, task(t.Context()))
			}
			require.ErrorIs(t, task(t.Context()), gocronhasp.ErrNotLocked)
			require.NoError(t, held.Unlock(t.Context()))
			require.ErrorIs(t, task(t.Context()), gocronhasp.ErrNotLocked)
		}
		require.NoError(t, must(locker.Lock(t.Context(), job))(t).Unlock(t.Context()))
		require.ErrorIs(t, task(t.Context()), gocronhasp.ErrNotLocked)
		require.Equal(t, 1, called)
	})
}

// TestTaskReportsItsWork: a task passes on the error of its work, or its panic, and releases the lock.
func TestTaskReportsItsWork(t *testing.T) {
	onServer(t, func(t *testing.T, s *hasptest.Server) {
		locker := lockerOf(s)
		failed := errors.New("no space")
		held := must(locker.Lock(t.Context(), job))(t)
		var token int64
		err := taskOf(locker, func(_ context.Context, run gocronhasp.Run) error {
			token = run.Lease.Token()
			require.Zero(t, run.Period)
			return failed
		})(t.Context())
		require.ErrorIs(t, err, failed)
		require.Positive(t, token)
		requireFree(t, s)
		require.ErrorIs(t, held.Unlock(t.Context()), failed, "the result of the run")

		held = must(locker.Lock(t.Context(), job))(t)
		require.PanicsWithValue(t, "oops", func() {
			_ = taskOf(locker, func(context.Context, gocronhasp.Run) error { panic("oops") })(t.Context())
		})
		requireFree(t, s)
		require.Error(t, held.Unlock(t.Context()))
	})
}

// must returns a function that returns what a call returned, and requires that it did not fail.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}
