package gocronhasp_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	gocronhasp "github.com/hasp-go/hasp/integration/gocron"
	"github.com/hasp-go/hasp/primitives"
)

func periodicLocker(t *testing.T, client *primitives.Client, schedule gocronhasp.Schedule) *gocronhasp.Locker {
	t.Helper()
	return must(gocronhasp.NewPeriodicLocker(client, schedule, nil))(t)
}

// everyMinute returns a Locker of a process of its own.
func everyMinute(t *testing.T, s *hasptest.Server) *gocronhasp.Locker {
	t.Helper()
	return periodicLocker(t, s.Client(nil), gocronhasp.Every(time.Minute))
}

// TestWaitingReplicaTakesOver has a replica wait for another one whose run ends in each way.
func TestWaitingReplicaTakesOver(t *testing.T) {
	t.Parallel()
	none := func(ctx context.Context, task func(context.Context) error) error { return nil }
	call := func(ctx context.Context, task func(context.Context) error) error { return task(ctx) }
	panics := func(ctx context.Context, task func(context.Context) error) (err error) {
		defer func() { err, _ = recover().(error) }()
		return task(ctx)
	}
	failed := errors.New("no space")
	for name, c := range map[string]struct {
		call  func(ctx context.Context, task func(context.Context) error) error
		work  gocronhasp.Work
		wants error // of the replica that waits
	}{
		"Completed":   {call, func(context.Context, gocronhasp.Run) error { return nil }, gocronhasp.ErrCompleted},
		"Failed":      {call, func(context.Context, gocronhasp.Run) error { return failed }, nil},
		"Panicked":    {panics, func(context.Context, gocronhasp.Run) error { panic(failed) }, nil},
		"WithoutTask": {none, nil, gocronhasp.ErrCompleted},
	} {
		t.Run(name, func(t *testing.T) {
			onServer(t, func(t *testing.T, s *hasptest.Server) {
				one, other := everyMinute(t, s), everyMinute(t, s)
				held := must(one.Lock(t.Context(), job))(t)
				waited := make(chan error, 1)
				go func() { waited <- hold(t.Context(), other) }()
				synctest.Wait()
				require.Empty(t, waited)
				_ = c.call(t.Context(), taskOf(one, c.work))
				_ = held.Unlock(t.Context())
				require.ErrorIs(t, <-waited, c.wants)
			})
		})
	}
}

// hold locks and unlocks.
func hold(ctx context.Context, locker *gocronhasp.Locker) error {
	held, err := locker.Lock(ctx, job)
	if err != nil {
		return err
	}
	return held.Unlock(ctx)
}

// periods are those for which a job ran.
type periods struct {
	mu  sync.Mutex
	all []string
}

func (p *periods) work(_ context.Context, run gocronhasp.Run) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, run.Period.Format(time.DateTime))
	return nil
}

// take returns the periods since the last call.
func (p *periods) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() { p.all = nil }()
	return p.all
}

// byHand is a replica of a job at midnight.
type byHand struct {
	locker *gocronhasp.Locker
	job    gocron.Job
	f      failures
}

// midnightly has a replica run a job at midnight, until the returned function is called.
func midnightly(
	t *testing.T, s *hasptest.Server, work gocronhasp.Work, options ...gocron.JobOption,
) (replica *byHand, stop func() error) {
	t.Helper()
	r := &byHand{locker: periodicLocker(t, s.Client(nil), gocronhasp.Daily(0, 0, time.UTC))}
	scheduler, err := gocron.NewScheduler(gocron.WithLocation(time.UTC))
	require.NoError(t, err)
	t.Cleanup(func() { _ = scheduler.Shutdown() })
	task, name := r.locker.Job(job, work)
	r.job, err = scheduler.NewJob(
		gocron.CronJob("0 0 * * *", false), gocron.NewTask(task), append(options, name, r.f.listen())...)
	require.NoError(t, err)
	scheduler.Start()
	return r, scheduler.Shutdown
}

// TestByHand runs a job by hand, and starts a replica that runs it at once, at each hour of two days. gocron's RunNow is
// refused, the Locker's is not, and the job runs at each midnight nevertheless.
func TestByHand(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, ctx := hasptest.New(t), t.Context()
		time.Sleep(time.Until(time.Now().Truncate(24 * time.Hour).Add(24*time.Hour + 30*time.Minute)))
		var p periods
		one, _ := midnightly(t, s, p.work)
		other, _ := midnightly(t, s, p.work)
		for range 48 {
			midnight := time.Now().Truncate(24 * time.Hour)
			require.NoError(t, one.job.RunNow())
			immediate, stop := midnightly(t, s, p.work, gocron.WithStartAt(gocron.WithStartImmediately()))
			synctest.Wait()
			require.NoError(t, stop())
			for _, r := range []*byHand{one, immediate} {
				require.ErrorIs(t, last(r.f.locks.all()), gocronhasp.ErrNotDue)
			}
			require.Empty(t, p.take())
			require.NoError(t, other.locker.RunNow(ctx, job))
			require.Equal(t, []string{midnight.Format(time.DateTime)}, p.take())
			time.Sleep(time.Hour)
			synctest.Wait()
			if now := time.Now().Truncate(24 * time.Hour); now != midnight {
				require.Equal(t, []string{now.Format(time.DateTime)}, p.take())
				completed := must(s.Client(nil).NewPeriodicJob(job, time.Hour, nil).LastCompleted(ctx))(t)
				require.WithinDuration(t, now, completed, 0)
			}
		}
		require.Empty(t, append(one.f.runs.all(), other.f.runs.all()...))
	})
}

func last(errs []error) error { return errs[len(errs)-1] }

// TestRunNow runs a job while it runs, a job that is unknown, and one without a schedule.
func TestRunNow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s, ctx := hasptest.New(t), t.Context()
		one, other := everyMinute(t, s), everyMinute(t, s)
		failed := errors.New("no space")
		work := func(context.Context, gocronhasp.Run) error { return failed }
		for _, locker := range []*gocronhasp.Locker{one, other, lockerOf(s)} {
			var invalid *primitives.FieldError
			require.ErrorAs(t, locker.RunNow(ctx, job), &invalid)
			_, _ = locker.Job(job, work)
			require.ErrorIs(t, locker.RunNow(ctx, job), failed)
		}
		held := must(one.Lock(ctx, job))(t)
		require.ErrorIs(t, other.RunNow(ctx, job), primitives.ErrNotAcquired)
		require.NoError(t, held.Unlock(ctx))
	})
}

// TestNotRunIsLogged has jobs that never run, and one that gocron runs more often than its Locker expects: no listener
// receives that, and the log of the process shows it. What another replica does is no fault, nor is a scheduler that
// stops. (It is not parallel: the log is one for all tests.)
func TestNotRunIsLogged(t *testing.T) {
	var logged bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	defer slog.SetDefault(before)
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		every, nightly := gocronhasp.Every(10*time.Minute), gocronhasp.Daily(12, 0, time.UTC)
		for text, c := range map[string]struct {
			schedule gocronhasp.Schedule
			options  []gocron.JobOption
		}{
			"does not hold its lock": {every, []gocron.JobOption{gocron.WithDisabledDistributedJobLocker(true)}},
			`job \"report\"`:         {every, []gocron.JobOption{gocron.WithName("another")}},
			"runs it twice":          {every, nil},
			"is not due":             {nightly, nil},
		} {
			logged.Reset()
			locker := periodicLocker(t, s.Client(nil), c.schedule)
			task, name := locker.Job(job, func(context.Context, gocronhasp.Run) error { return nil })
			stop := schedule(t, gocron.WithLocation(time.UTC), task, append([]gocron.JobOption{name}, c.options...)...)
			time.Sleep(150 * time.Second)
			require.NoError(t, stop())
			synctest.Wait()
			require.Contains(t, logged.String(), text)
		}
		s = hasptest.New(t)
		ended, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		requireLogged := func(is bool, locker *gocronhasp.Locker, ctx context.Context, want error) {
			logged.Reset()
			_, err := locker.Lock(ctx, job)
			require.ErrorIs(t, err, want)
			require.Equal(t, is, logged.Len() > 0, want)
		}
		s.FailAcquires(1)
		requireLogged(true, lockerOf(s), t.Context(), primitives.ErrUnavailable)
		held := must(everyMinute(t, s).Lock(t.Context(), job))(t)
		requireLogged(false, lockerOf(s), t.Context(), primitives.ErrNotAcquired)
		requireLogged(false, everyMinute(t, s), ended, primitives.ErrNotRun)
		require.NoError(t, held.Unlock(t.Context()))
		requireLogged(false, everyMinute(t, s), t.Context(), gocronhasp.ErrCompleted)
		ended, end = context.WithCancel(t.Context())
		end()
		requireLogged(false, lockerOf(s), ended, context.Canceled)
	})
}

// election is the name of the election, and of its lock.
const election = "scheduler"

// candidate is a replica that takes part in the election.
type candidate struct {
	elector *gocronhasp.Elector
	resign  context.CancelFunc // has Run end
	ended   chan error         // receives the result of Run
}

// campaign has a replica take part in the election, and schedule a job with that work.
func campaign(
	t *testing.T, s *hasptest.Server, work gocronhasp.Work, options ...gocron.JobOption,
) candidate {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	c := candidate{
		gocronhasp.NewElector(s.Client(nil).NewElection(election, nil)), cancel, make(chan error, 1),
	}
	go func() { c.ended <- c.elector.Run(ctx) }()
	schedule(t, gocron.WithDistributedElector(c.elector), c.elector.Task(work), options...)
	return c
}

// TestLostLeadership loses the leadership during a job: the job ends, and fails, and another replica leads.
func TestLostLeadership(t *testing.T) {
	onServer(t, func(t *testing.T, s *hasptest.Server) {
		var r runs
		var f failures
		one := campaign(t, s, r.work(time.Hour), f.listen())
		synctest.Wait()
		other := campaign(t, s, r.work(time.Hour))
		require.Equal(t, 1, r.after(time.Minute+time.Second).now)
		require.NoError(t, one.elector.IsLeader(t.Context()))
		require.ErrorIs(t, other.elector.IsLeader(t.Context()), gocronhasp.ErrNotLeader)

		s.Lose(election)
		require.Equal(t, counts{most: 1, ended: 1}, r.after(10*time.Second)) // a third of the lease
		require.Len(t, f.runs.all(), 1)
		require.ErrorIs(t, f.runs.all()[0], primitives.ErrLost)
		require.ErrorIs(t, one.elector.IsLeader(t.Context()), gocronhasp.ErrNotLeader)
		require.NoError(t, other.elector.IsLeader(t.Context()))
	})
}

// TestLeaderLeaves has the leader leave during a job that takes a while to end: another replica leads only then.
func TestLeaderLeaves(t *testing.T) {
	onServer(t, func(t *testing.T, s *hasptest.Server) {
		one := campaign(t, s, func(ctx context.Context, run gocronhasp.Run) error {
			require.NoError(t, run.Lease.Err())
			<-ctx.Done()
			time.Sleep(10 * time.Second)
			return context.Cause(ctx)
		})
		synctest.Wait()
		other := campaign(t, s, func(context.Context, gocronhasp.Run) error { return nil })
		time.Sleep(time.Minute + time.Second)
		one.resign()
		time.Sleep(9 * time.Second)
		require.Empty(t, one.ended)
		require.ErrorIs(t, other.elector.IsLeader(t.Context()), gocronhasp.ErrNotLeader)
		require.ErrorIs(t, one.elector.IsLeader(t.Context()), gocronhasp.ErrNotLeader)
		require.NoError(t, <-one.ended)
		synctest.Wait()
		require.NoError(t, other.elector.IsLeader(t.Context()))
		third := campaign(t, s, func(context.Context, gocronhasp.Run) error { return nil })
		synctest.Wait()
		third.resign()
		require.NoError(t, <-third.ended, "it does not lead, and leaves")
	})
}

// TestJobThatIgnoresItsContext goes on after the loss of the leadership, and fails: the error is that of both.
func TestJobThatIgnoresItsContext(t *testing.T) {
	onServer(t, func(t *testing.T, s *hasptest.Server) {
		var f failures
		causes := make(chan error, 1)
		campaign(t, s, func(ctx context.Context, _ gocronhasp.Run) error {
			s.Lose(election)
			time.Sleep(20 * time.Second)
			causes <- context.Cause(ctx)
			return io.ErrUnexpectedEOF
		}, f.listen())
		time.Sleep(90 * time.Second)
		synctest.Wait()
		require.ErrorIs(t, <-causes, primitives.ErrLost)
		require.Len(t, f.runs.all(), 1)
		require.ErrorIs(t, f.runs.all()[0], primitives.ErrLost)
		require.ErrorIs(t, f.runs.all()[0], io.ErrUnexpectedEOF)
	})
}

func TestElectorWithoutRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		elector := gocronhasp.NewElector(hasptest.New(t).Client(nil).NewElection(election, nil))
		require.ErrorIs(t, elector.IsLeader(t.Context()), gocronhasp.ErrNotLeader)
		called := false
		task := elector.Task(func(context.Context, gocronhasp.Run) error { called = true; return nil })
		require.ErrorIs(t, task(t.Context()), gocronhasp.ErrNotLeader)
		require.False(t, called)
	})
}
