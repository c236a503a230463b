package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// cutLink is a backend whose link to the server can be cut.
type cutLink struct {
	*server
	cut atomic.Bool
}

// Run implements backend.ScriptRunner.
func (l *cutLink) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	if l.cut.Load() {
		return backend.Reply{}, backend.ErrUnavailable
	}
	return l.server.Run(ctx, script, keys, args)
}

// jobRun is what Do or TryDo returned, and whether it called work.
type jobRun struct {
	ran, worked bool
	err         error
}

// jobWork is the work of a job that needs no lease.
type jobWork func(ctx context.Context) error

var noWork jobWork = func(context.Context) error { return nil }

// runJob calls do of a job.
func runJob(
	ctx context.Context, at time.Time, work jobWork,
	do func(context.Context, time.Time, func(context.Context, primitives.JobRun) error) (bool, error),
) (r jobRun) {
	r.ran, r.err = do(ctx, at, func(ctx context.Context, _ primitives.JobRun) error {
		r.worked = true
		return work(ctx)
	})
	return r
}

var (
	jobDone      = jobRun{ran: true, worked: true}
	jobCompleted = jobRun{}
)

// withReplicas runs a test with two replicas of an hourly job, the first over a link that can be cut.
func withReplicas(
	t *testing.T, test func(t *testing.T, s *server, link *cutLink, one, other *primitives.PeriodicJob),
) {
	t.Helper()
	virtual(t, func(t *testing.T, s *server) {
		link := &cutLink{server: s}
		replica := func(c *primitives.Client) *primitives.PeriodicJob { return c.NewPeriodicJob("x", time.Hour, nil) }
		test(t, s, link, replica(s.over(t, link, nil)), replica(s.client(t, nil)))
		require.Empty(t, s.holder("x"))
	})
}

// TestPeriodicJobRunsOnceInEachPeriod has five replicas come at the same time, and one later, in three periods.
func TestPeriodicJobRunsOnceInEachPeriod(t *testing.T) {
	withReplicas(t, func(t *testing.T, s *server, _ *cutLink, late, _ *primitives.PeriodicJob) {
		const replicas = 5
		slow := func(context.Context) error { time.Sleep(time.Minute); return nil }
		for range 3 {
			at := time.Now()
			runs := make(chan jobRun)
			for range replicas {
				job := s.client(t, nil).NewPeriodicJob("x", time.Hour, nil)
				go func() { runs <- runJob(t.Context(), at, slow, job.Do) }()
			}
			var ran int
			for range replicas {
				if r := <-runs; r == jobDone {
					ran++
				} else {
					require.Equal(t, jobCompleted, r)
				}
			}
			require.Equal(t, 1, ran)
			require.Equal(t, jobCompleted, runJob(t.Context(), at.Add(59*time.Minute), noWork, late.Do))
			time.Sleep(time.Until(at.Add(time.Hour)))
		}
		require.Equal(t, jobDone, runJob(t.Context(), time.Now(), noWork, late.Do))
		require.Equal(t, jobCompleted, runJob(t.Context(), time.Now().Add(-time.Hour), noWork, late.Do), "an older period")
		old, at := s.client(t, nil).NewPeriodicJob("old", time.Hour, nil), time.Unix(-3*3600, 0)
		require.Equal(t, jobDone, runJob(t.Context(), at, noWork, old.Do))
		require.Equal(t, jobCompleted, runJob(t.Context(), at.Add(time.Hour-1), noWork, old.Do))
		require.Equal(t, jobDone, runJob(t.Context(), at.Add(time.Hour), noWork, old.Do))
	})
}

// TestPeriodicJobAsksOnceForEachWake has a crowd of replicas, with some calls each, come at one instant, in three
// periods. A call tries at most four times: at once, when its client has subscribed, at a poll before that, and when it
// wakes after the run. Then all calls return, although none acquires the lock again.
func TestPeriodicJobAsksOnceForEachWake(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		const replicas, each = 100, 2
		var jobs []*primitives.PeriodicJob
		for range replicas {
			jobs = append(jobs, s.client(t, nil).NewPeriodicJob("x", time.Hour, nil))
		}
		for range 3 {
			at, before := time.Now(), s.called("periodic_acquire")
			var ended time.Time
			runs := make(chan jobRun, each*replicas)
			for i := range cap(runs) {
				go func() {
					runs <- runJob(t.Context(), at, func(context.Context) error {
						time.Sleep(time.Second)
						ended = time.Now()
						return nil
					}, jobs[i/each].Do)
				}()
			}
			for range cap(runs) {
				<-runs
			}
			require.Less(t, time.Since(ended), 200*time.Millisecond, "the last call returns")
			require.LessOrEqual(t, s.called("periodic_acquire")-before, 4*cap(runs))
			require.Zero(t, s.called("lock_acquire"))
			time.Sleep(time.Until(at.Add(time.Hour)))
		}
		require.Equal(t, 3, s.called("lock_release"))
		require.Equal(t, 3, s.called("periodic_complete"))
	})
}

// TestPeriodicJobIsNotCompleted by a run that returns nil, after its lease was lost, which the server does not know, or the
// lock, which no renewal has found out, or without the record of the period. Only an answer to that may be lost.
func TestPeriodicJobIsNotCompleted(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(ctx context.Context, s *server, link *cutLink)
		is    error
		next  jobRun
	}{
		"LostLease": {func(ctx context.Context, _ *server, link *cutLink) {
			link.cut.Store(true)
			<-ctx.Done()
			synctest.Wait()
			link.cut.Store(false)
		}, primitives.ErrLost, jobDone},
		"LostLock":    {func(_ context.Context, s *server, _ *cutLink) { s.lose("x") }, primitives.ErrLost, jobDone},
		"Unavailable": {func(_ context.Context, s *server, _ *cutLink) { s.faultOf("periodic_complete", down) }, primitives.ErrUnavailable, jobDone},
		"Indeterminate": {func(_ context.Context, s *server, _ *cutLink) {
			s.faultOf("periodic_complete", fault{after: time.Millisecond, broken: true})
		}, primitives.ErrIndeterminate, jobCompleted},
	} {
		t.Run(name, func(t *testing.T) {
			withReplicas(t, func(t *testing.T, s *server, link *cutLink, one, other *primitives.PeriodicJob) {
				at := time.Now()
				first := runJob(t.Context(), at, func(ctx context.Context) error {
					c.spoil(ctx, s, link)
					require.Equal(t, name == "LostLock", s.holder("x") == "")
					return nil
				}, one.Do)
				require.ErrorIs(t, first.err, c.is)
				require.True(t, first.ran)
				s.faults(fault{})
				require.Equal(t, c.next, runJob(t.Context(), at, noWork, other.Do))
			})
		})
	}
}

// TestPeriodicJobIsCompletedAfterItsContext ends the context of Do during the work, as a shutdown does.
func TestPeriodicJobIsCompletedAfterItsContext(t *testing.T) {
	withReplicas(t, func(t *testing.T, s *server, _ *cutLink, one, other *primitives.PeriodicJob) {
		at := time.Now()
		s.fault = func(string) fault { return fault{after: 500 * time.Millisecond} }
		ctx, stop := context.WithCancel(t.Context())
		require.Equal(t, jobDone, runJob(ctx, at, func(ctx context.Context) error {
			stop()
			<-ctx.Done()
			return nil // It was about to end.
		}, one.Do))
		require.Equal(t, jobCompleted, runJob(t.Context(), at, noWork, other.Do))
	})
}

// TestPeriodicJobStopped ends the context of a call that has not run the job: the caller can tell that from a failure.
func TestPeriodicJobStopped(t *testing.T) {
	withReplicas(t, func(t *testing.T, s *server, _ *cutLink, one, other *primitives.PeriodicJob) {
		at := time.Now()
		stopped := func(after time.Duration, do func(context.Context, time.Time,
			func(context.Context, primitives.JobRun) error) (bool, error),
		) error {
			ctx := within(t, after)
			r := runJob(ctx, at, noWork, do)
			require.False(t, r.ran || r.worked)
			wraps(t, r.err, primitives.ErrNotRun, context.DeadlineExceeded)
			return r.err
		}
		require.Equal(t, jobDone, runJob(t.Context(), at, func(context.Context) error {
			require.ErrorIs(t, stopped(time.Minute, other.Do), primitives.ErrNotAcquired)
			require.ErrorIs(t, runJob(t.Context(), at, noWork, other.TryDo).err, primitives.ErrNotAcquired)
			require.NotErrorIs(t, runJob(t.Context(), at, noWork, other.TryDo).err, primitives.ErrNotRun)
			_ = stopped(0, other.Do)
			_ = stopped(0, other.TryDo)
			s.faults(fault{after: time.Second})
			require.ErrorIs(t, stopped(500*time.Millisecond, other.Do), primitives.ErrIndeterminate)
			require.ErrorIs(t, stopped(500*time.Millisecond, other.TryDo), primitives.ErrIndeterminate)
			s.faults(down)
			require.ErrorIs(t, runJob(t.Context(), at, noWork, other.Do).err, primitives.ErrUnavailable)
			require.NotErrorIs(t, runJob(t.Context(), at, noWork, other.Do).err, primitives.ErrNotRun)
			s.faults(fault{})
			return nil
		}, one.Do))
		require.Equal(t, jobCompleted, runJob(t.Context(), at, noWork, other.Do))
		ctx, cancel := context.WithCancel(t.Context())
		failed := runJob(ctx, at.Add(time.Hour), func(context.Context) error { cancel(); return ctx.Err() }, one.Do)
		require.True(t, failed.ran)
		require.NotErrorIs(t, failed.err, primitives.ErrNotRun, "it was interrupted")
	})
}

// TestPeriodicJobTried asks while another replica runs the job, after it, and while a replica has the lock only to
// find the period completed.
func TestPeriodicJobTried(t *testing.T) {
	withReplicas(t, func(t *testing.T, s *server, _ *cutLink, one, other *primitives.PeriodicJob) {
		at := time.Now()
		require.Equal(t, jobDone, runJob(t.Context(), at, func(context.Context) error {
			refused := runJob(t.Context(), at, noWork, other.TryDo)
			require.ErrorIs(t, refused.err, primitives.ErrNotAcquired)
			require.False(t, refused.ran || refused.worked)
			return nil
		}, one.TryDo))
		require.Equal(t, jobCompleted, runJob(t.Context(), at, noWork, other.TryDo))
		s.hold("x", another, time.Second)
		require.Equal(t, jobCompleted, runJob(t.Context(), at, noWork, other.TryDo))
		time.Sleep(time.Hour)
		inner := runJob(t.Context(), time.Now(), func(context.Context) error { return primitives.ErrNotAcquired }, one.TryDo)
		require.Equal(t, jobRun{ran: true, worked: true, err: inner.err}, inner, "the error is of the work")
		require.ErrorIs(t, inner.err, primitives.ErrNotAcquired)
	})
}

// TestPeriodicJobAheadOfTheServer has clocks that would stop the job for a year or for one period more, a clock at the
// limit, and one with which a caller that rounds still means the present period. More than that is logged.
func TestPeriodicJobAheadOfTheServer(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		core, logs := observer.New(zap.WarnLevel)
		client := s.client(t, &primitives.Options{Logger: zap.New(core)})
		for _, period := range []time.Duration{time.Second, 10 * time.Second, time.Hour} {
			job := client.NewPeriodicJob(period.String(), period, nil)
			for _, ahead := range []time.Duration{365 * 24 * time.Hour, period + time.Millisecond} {
				r := runJob(t.Context(), time.Now().Add(ahead), noWork, job.Do)
				require.ErrorIs(t, r.err, primitives.ErrClockAhead)
				require.False(t, r.ran || r.worked)
			}
			require.Equal(t, jobDone, runJob(t.Context(), time.Now().Add(period/2), noWork, job.Do))
			synctest.Wait()
			require.Empty(t, logs.TakeAll())
			require.Equal(t, jobDone, runJob(t.Context(), time.Now().Add(period), noWork, job.Do))
			synctest.Wait()
			early := logs.TakeAll()
			require.Len(t, early, 1)
			require.Equal(t, period, early[0].ContextMap()["ahead"])
			require.Equal(t, jobCompleted, runJob(t.Context(), time.Now(), noWork, job.Do))
			time.Sleep(2 * period)
			require.Equal(t, jobDone, runJob(t.Context(), time.Now(), noWork, job.Do))
		}
	})
}

// TestPeriodicJobWithAShorterPeriod rounds to a week, and then to five minutes: the record is days ahead. No call says that
// the job was completed, and none replaces the record, so the weekly callers run no second time. Without the record
// the job runs.
func TestPeriodicJobWithAShorterPeriod(t *testing.T) {
	served(t, func(t *testing.T, s *server, client *primitives.Client) {
		const week, often = 7 * 24 * time.Hour, 5 * time.Minute
		ask := func(period time.Duration) jobRun {
			return runJob(t.Context(), time.Now().Round(period), noWork, client.NewPeriodicJob("x", period, nil).Do)
		}
		time.Sleep(time.Until(time.Now().Round(week).Add(week/2 + time.Hour)))
		require.Equal(t, jobDone, ask(week))
		runs := 0
		for range 24 {
			time.Sleep(time.Hour)
			r := ask(often)
			require.ErrorIs(t, r.err, primitives.ErrClockAhead)
			require.ErrorContains(t, r.err, `"{x}:completed"`)
			require.False(t, r.ran || r.worked)
			require.Equal(t, jobCompleted, ask(week))
		}
		s.lose("{x}:completed")
		for range 24 {
			time.Sleep(often)
			if ask(often) == jobDone {
				runs++
			}
		}
		require.Equal(t, 24, runs)
	})
}

// TestPeriodicJobLastCompleted asks before a run, during it, after one that failed, and when the record has expired.
func TestPeriodicJobLastCompleted(t *testing.T) {
	withReplicas(t, func(t *testing.T, s *server, _ *cutLink, one, other *primitives.PeriodicJob) {
		completed := func() time.Time { return must(other.LastCompleted(t.Context()))(t) }
		at := time.Now().Add(1234567 * time.Nanosecond)
		require.Zero(t, completed())
		_, err := one.Do(t.Context(), at, func(_ context.Context, run primitives.JobRun) error {
			require.Equal(t, at, run.Period)
			require.Zero(t, completed())
			return nil
		})
		require.NoError(t, err)
		require.WithinDuration(t, at.Truncate(time.Millisecond), completed(), 0)
		time.Sleep(time.Hour)
		failed := runJob(t.Context(), time.Now(), func(context.Context) error { return errors.New("no space") }, one.Do)
		require.True(t, failed.ran)
		require.WithinDuration(t, at.Truncate(time.Millisecond), completed(), 0)
		time.Sleep(24*time.Hour + time.Second)
		require.Zero(t, completed())
		s.fault = func(string) fault { return down }
		require.ErrorIs(t, errOf(other.LastCompleted(t.Context())), primitives.ErrUnavailable)
	})
}

// TestPeriodicJobByLocalTime has a daily job in zones with summer time, on the days around each change: with the nominal
// times and a length of 23 h it runs once on each day.
func TestPeriodicJobByLocalTime(t *testing.T) {
	served(t, func(t *testing.T, _ *server, client *primitives.Client) {
		for _, zone := range []string{
			"Europe/London", "Europe/Berlin", "America/New_York", "America/Los_Angeles", "Australia/Sydney",
			"Australia/Lord_Howe", "Pacific/Chatham",
		} {
			loc := must(time.LoadLocation(zone))(t)
			for _, minute := range []int{30, 2*60 + 30, 12 * 60, 23*60 + 30} {
				job := client.NewPeriodicJob(fmt.Sprint(zone, minute), 23*time.Hour, nil)
				for day := range 366 {
					at := time.Date(1999, 1, 1+day, 0, minute, 0, 0, loc)
					_, before := at.Add(-48 * time.Hour).Zone()
					if _, after := at.Add(48 * time.Hour).Zone(); before == after {
						continue
					}
					require.Equal(t, jobDone, runJob(t.Context(), at, noWork, job.Do), at)
					require.Equal(t, jobCompleted, runJob(t.Context(), at, noWork, job.Do), at)
				}
			}
		}
	})
}
