package gocronhasp_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	gocronhasp "github.com/hasp-go/hasp/integration/gocron"
	"github.com/hasp-go/hasp/primitives"
)

// everyMinute returns a Locker of a process of its own.
func everyMinute(s *hasptest.Server) *gocronhasp.Locker {
	return gocronhasp.NewPeriodicLocker(s.Client(nil), time.Minute, nil)
}

// TestReplicasThatStartAtOtherTimes has a job that ends before the next replica comes to it.
func TestReplicasThatStartAtOtherTimes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := hasptest.New(t)
		var r runs
		var f failures
		for range 4 {
			locker := everyMinute(s)
			schedule(t, gocron.WithDistributedLocker(locker), locker.Task(job, r.work(time.Second)), f.listen())
			time.Sleep(13 * time.Second) // The last comes to it 39 s after the first.
		}
		require.Equal(t, counts{most: 1, ended: 11}, r.after(10*time.Minute))
		require.Empty(t, f.runs.all())
		for _, err := range f.locks.all() {
			require.ErrorIs(t, err, gocronhasp.ErrCompleted)
		}
	})
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
		"Completed":   {call, func(context.Context, *primitives.Lease) error { return nil }, gocronhasp.ErrCompleted},
		"Failed":      {call, func(context.Context, *primitives.Lease) error { return failed }, nil},
		"Panicked":    {panics, func(context.Context, *primitives.Lease) error { panic(failed) }, nil},
		"WithoutTask": {none, nil, gocronhasp.ErrCompleted},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := hasptest.New(t)
				one, other := everyMinute(s), everyMinute(s)
				held, err := one.Lock(t.Context(), job)
				require.NoError(t, err)
				waited := make(chan error, 1)
				go func() { waited <- hold(t.Context(), other) }()
				synctest.Wait()
				require.Empty(t, waited)
				_ = c.call(t.Context(), one.Task(job, c.work))
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

// TestReplicaThatIsCutOff loses its connection during a run: another replica runs the job when the lease has ended.
func TestReplicaThatIsCutOff(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := hasptest.New(t)
		link := s.Backend()
		client, err := primitives.New(link, nil)
		require.NoError(t, err)
		held, err := gocronhasp.NewPeriodicLocker(client, time.Minute, nil).Lock(t.Context(), job)
		require.NoError(t, err)
		require.NoError(t, link.Close())
		began := time.Now()
		require.NoError(t, hold(t.Context(), everyMinute(s)))
		require.Less(t, time.Since(began), 31*time.Second)
		require.ErrorIs(t, held.Unlock(t.Context()), primitives.ErrLost)
	})
}

// TestOffset has a job at noon each day, and replicas whose clocks differ.
func TestOffset(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const day = 24 * time.Hour
		opts := &gocronhasp.PeriodicOptions{Offset: day / 2}
		client := hasptest.New(t).Client(nil)
		time.Sleep(time.Until(time.Now().Truncate(day).Add(day + day/2 - time.Second)))
		for range 3 { // at noon, less a second
			require.NoError(t, hold(t.Context(), gocronhasp.NewPeriodicLocker(client, day, opts)))
			time.Sleep(2 * time.Second)
			require.ErrorIs(t, hold(t.Context(), gocronhasp.NewPeriodicLocker(client, day, opts)), gocronhasp.ErrCompleted)
			time.Sleep(day - 2*time.Second)
		}
	})
}

func TestPeriodicLockerChecksThePeriod(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, period := range []time.Duration{-time.Hour, 0, time.Microsecond} {
			locker := gocronhasp.NewPeriodicLocker(hasptest.New(t).Client(nil), period, nil)
			var invalid *primitives.FieldError
			require.ErrorAs(t, hold(t.Context(), locker), &invalid)
			require.Equal(t, "period", invalid.Field)
		}
	})
}
