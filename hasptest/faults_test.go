package hasptest_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/primitives"
)

// acquire asks for one thing.
type acquire func(ctx context.Context) (*primitives.Lease, error)

// leased returns a way to acquire each kind of thing that has leases, by its kind.
func leased(c *primitives.Client, name string) map[string]acquire {
	readWrite := c.NewReadWriteLock(name, nil)
	return map[string]acquire{
		"Lock":       c.NewLock(name, nil).Lock,
		"FencedLock": c.NewFencedLock(name, nil).Lock,
		"FairLock":   c.NewFairLock(name, nil).Lock,
		"SpinLock":   c.NewSpinLock(name, nil).Lock,
		"Mutex":      c.NewMutex(name, nil).Lock,
		"PlainLock":  c.NewPlainLock(name, nil).Lock,
		"Reader":     readWrite.ReadLock().Lock,
		"Writer":     readWrite.WriteLock().Lock,
		"Counting":   c.NewCountingSemaphore(name, 2, nil).Acquire,
		"ByArrival": c.NewCountingSemaphore(name, 2,
			&primitives.CountingSemaphoreOptions{Order: primitives.ByArrival}).Acquire,
		"Permits": func(ctx context.Context) (*primitives.Lease, error) {
			return c.NewPermitSemaphore(name, &primitives.PermitSemaphoreOptions{Permits: 1}).Acquire(ctx, 1)
		},
	}
}

// forAllLeased has check judge each of them, on a server and a client of its own.
func forAllLeased(t *testing.T, check func(t *testing.T, s *hasptest.Server, get acquire)) {
	t.Helper()
	t.Parallel()
	names := leased(hasptest.New(t).Client(nil), "x")
	for name := range names {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T, s *hasptest.Server) { check(t, s, leased(s.Client(nil), "x")[name]) })
		})
	}
}

// waitUntilDone fails if lease does not end within an hour of virtual time.
func waitUntilDone(t *testing.T, lease *primitives.Lease) {
	t.Helper()
	select {
	case <-lease.Done():
	case <-time.After(time.Hour):
		require.FailNow(t, "the lease has not ended")
	}
}

func TestLose(t *testing.T) {
	forAllLeased(t, func(t *testing.T, s *hasptest.Server, get acquire) {
		lease := must(get(t.Context()))(t)
		start := time.Now()
		s.Lose("x")
		require.NoError(t, lease.Err(), "the holder does not know yet")
		waitUntilDone(t, lease)
		require.ErrorIs(t, lease.Err(), primitives.ErrLost)
		require.LessOrEqual(t, time.Since(start), 10*time.Second, "a third of its lease")
		err := lease.Release(t.Context())
		require.ErrorIs(t, err, primitives.ErrNotHeld)
		require.ErrorIs(t, err, primitives.ErrLost)
	})
}

func TestFailAcquires(t *testing.T) {
	forAllLeased(t, func(t *testing.T, s *hasptest.Server, get acquire) {
		s.FailAcquires(2)
		for range 2 {
			_, err := get(t.Context())
			require.ErrorIs(t, err, primitives.ErrUnavailable)
			require.NotErrorIs(t, err, primitives.ErrIndeterminate)
		}
		require.Equal(t, backend.IntegerReply(0), must(s.Embedded().Do("DBSIZE"))(t), "nothing was executed")
		require.NoError(t, must(get(t.Context()))(t).Release(t.Context()))
	})
}

// TestLoseAnswers has the lock, or all permits, free again long before a lease is over.
func TestLoseAnswers(t *testing.T) {
	forAllLeased(t, func(t *testing.T, s *hasptest.Server, get acquire) {
		s.LoseAnswers(1)
		_, err := get(t.Context())
		require.ErrorIs(t, err, primitives.ErrIndeterminate)
		require.NotErrorIs(t, err, primitives.ErrUnavailable)
		start := time.Now()
		lease := must(get(t.Context()))(t)
		require.Less(t, time.Since(start), 2*time.Second)
		require.NoError(t, lease.Release(t.Context()))
	})
}

// TestFaultsWithoutLeases are those of what has permits and no leases.
func TestFaultsWithoutLeases(t *testing.T) {
	t.Parallel()
	s := hasptest.New(t)
	client := s.Client(nil)
	rate := primitives.Rate{Permits: 1, Interval: time.Hour}
	for name, get := range map[string]func(ctx context.Context, n int) error{
		"Semaphore":   client.NewSemaphore("made", &primitives.SemaphoreOptions{Permits: 1}).TryAcquire,
		"RateLimiter": client.NewRateLimiter("rate", rate, rateRefuse).Wait,
	} {
		s.FailAcquires(1)
		require.ErrorIs(t, get(t.Context(), 1), primitives.ErrUnavailable, name)
		require.Eventually(t, func() bool { return get(t.Context(), 1) == nil }, time.Minute, time.Millisecond, name)
		s.LoseAnswers(1)
		require.ErrorIs(t, get(t.Context(), 1), primitives.ErrIndeterminate, name)
	}
	there := client.NewSemaphore("there", nil)
	require.NoError(t, there.AddPermits(t.Context(), 1))
	s.FailAcquires(1)
	require.ErrorIs(t, there.TryAcquire(t.Context(), 1), primitives.ErrUnavailable)
}

// TestOutage keeps a lease over half its length without a server, and loses it over all of it.
func TestOutage(t *testing.T) {
	forAllLeased(t, func(t *testing.T, s *hasptest.Server, get acquire) {
		lease := must(get(t.Context()))(t)
		for range 50 {
			s.Away(15 * time.Second)
			time.Sleep(31700 * time.Millisecond) // at all times of the renewals' round
			require.NoError(t, lease.Err())
		}
		s.Away(30 * time.Second)
		require.ErrorIs(t, errOf(get(t.Context())), primitives.ErrUnavailable)
		start := time.Now()
		waitUntilDone(t, lease)
		require.LessOrEqual(t, time.Since(start), 27*time.Second, "the lease, less the clock drift")
		require.ErrorIs(t, lease.Release(t.Context()), primitives.ErrLost)
		time.Sleep(30 * time.Second)
		lease = must(get(t.Context()))(t)
		require.NoError(t, lease.Release(t.Context()))
	})
}

// TestWaiterInAnOutage shows that a gap has waiters look: the release that it missed came without a
// message, and its next poll is an hour away.
func TestWaiterInAnOutage(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		unaffected := newUnaffected(t, s)
		held := must(unaffected.NewLock("x", nil).Lock(t.Context()))(t)
		waited := make(chan time.Time)
		lock := s.Client(&primitives.Options{PollInterval: time.Hour}).NewLock("x", nil)
		go func() {
			require.NoError(t, errOf(lock.Lock(t.Context())))
			waited <- time.Now()
		}()
		time.Sleep(time.Second)
		s.Away(3 * time.Second)
		s.Away(time.Second) // It does not end the outage earlier.
		back := time.Now().Add(3 * time.Second)
		require.NoError(t, held.Release(t.Context()))
		granted := <-waited
		require.False(t, granted.Before(back))
		require.Less(t, granted.Sub(back), time.Second)
	})
}

// newUnaffected returns a client that faults do not concern.
func newUnaffected(t *testing.T, s *hasptest.Server) *primitives.Client {
	t.Helper()
	client := must(embedded.NewClient(s.Embedded(), nil))(t)
	t.Cleanup(func() { require.NoError(t, client.Close(context.Background())) })
	return client
}

// TestLoseAnswersOfOthers loses the answers of releases and of CountDowns, which are executed.
func TestLoseAnswersOfOthers(t *testing.T) {
	forAllLeased(t, func(t *testing.T, s *hasptest.Server, get acquire) {
		lease := must(get(t.Context()))(t)
		latch := s.Client(nil).NewCountDownLatch("latch")
		require.NoError(t, errOf(latch.InitCount(t.Context(), 3)))
		s.LoseAnswersOf(hasptest.CountDowns, 1)
		s.LoseAnswersOf(hasptest.Releases, 1)

		start := time.Now()
		require.ErrorIs(t, lease.Release(t.Context()), primitives.ErrIndeterminate)
		require.ErrorIs(t, errOf(latch.CountDown(t.Context())), primitives.ErrIndeterminate)
		require.EqualValues(t, 1, must(latch.CountDown(t.Context()))(t))
		lease = must(get(t.Context()))(t)
		require.NoError(t, lease.Release(t.Context()))
		require.Less(t, time.Since(start), time.Second)
	})
}

// TestRequestsAreOfHasp: each script by which hasp acquires, releases or counts down is of its sort, and an author's is of
// none.
func TestRequestsAreOfHasp(t *testing.T) {
	t.Parallel()
	files := must(filepath.Glob("../primitives/internal/script/*.lua"))(t)
	for sort, suffix := range map[hasptest.Requests]string{
		hasptest.Acquires: "_acquire", hasptest.Releases: "_release", hasptest.CountDowns: "_count_down",
	} {
		lost := func(name string) bool {
			s := hasptest.New(t)
			s.LoseAnswersOf(sort, 1)
			_, err := s.Backend().Run(t.Context(), counting(name, backend.RetryNever), []string{"a"}, nil)
			return err != nil
		}
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".lua")
			of := strings.HasSuffix(name, suffix) && !strings.HasSuffix(name, "_force_release") ||
				slices.Contains(strings.Fields("counting_admit plain_adopt plain_set"), name) && sort == hasptest.Acquires
			require.Equal(t, of, lost(name), name)
		}
		require.False(t, lost("own"+suffix))
	}
}

// TestCrash: others get what a crashed client held when its lease has ended, and not before.
func TestCrash(t *testing.T) {
	t.Parallel()
	for name := range leased(hasptest.New(t).Client(nil), "x") {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T, s *hasptest.Server) {
				crashes := s.Client(nil)
				lease := must(leased(crashes, "x")[name](t.Context()))(t)
				time.Sleep(5 * time.Minute) // It is renewed.
				s.Crash(crashes)
				require.ErrorIs(t, lease.Release(t.Context()), primitives.ErrClosed)
				require.ErrorIs(t, errOf(leased(crashes, "x")[name](t.Context())), primitives.ErrClosed)

				start, another := time.Now(), s.Client(nil)
				if name == "Reader" {
					name = "Writer"
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				for range max(1, map[string]int{"Counting": 2, "ByArrival": 2}[name]) {
					require.NoError(t, errOf(leased(another, "x")[name](ctx)))
				}
				require.InDelta(t, 25*time.Second, time.Since(start), float64(6*time.Second), "the rest of its lease")
			})
		})
	}
}

// TestCrashOfAnother fails the test.
func TestCrashOfAnother(t *testing.T) {
	t.Parallel()
	test := &recorded{TB: t}
	s := hasptest.New(test)
	s.Crash(newUnaffected(t, s))
	require.Len(t, test.failures, 1)
}

// TestLatency: each request takes as long as the link, and a lease is renewed over it.
func TestLatency(t *testing.T) {
	forAllLeased(t, func(t *testing.T, s *hasptest.Server, get acquire) {
		const latency = 4 * time.Second
		s.SetLatency(latency)
		start := time.Now()
		lease := must(get(t.Context()))(t)
		require.Equal(t, latency, time.Since(start))
		time.Sleep(5 * time.Minute)
		require.NoError(t, lease.Err())
		start = time.Now()
		require.NoError(t, lease.Release(t.Context()))
		require.Equal(t, latency, time.Since(start))

		short, cancel := context.WithTimeout(t.Context(), latency/4)
		defer cancel()
		_, err := get(short)
		require.ErrorIs(t, err, primitives.ErrIndeterminate, "it is under way")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		s.SetLatency(0)
		start = time.Now()
		lease = must(get(t.Context()))(t)
		require.NoError(t, lease.Release(t.Context()))
		require.Less(t, time.Since(start), 2*latency, "what was granted late is released")
	})
}

// TestFaultsOverASlowLink: a request is lost on its way, its answer on the way back, and both at a crash.
func TestFaultsOverASlowLink(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		s.SetLatency(2 * time.Second)
		add := func(c *primitives.Client) error {
			_, err := c.NewAtomicLong("n").Increment(t.Context())
			return err
		}
		value := func() int64 { return must(newUnaffected(t, s).NewAtomicLong("n").Load(t.Context()))(t) }
		for want, at := range []time.Duration{500 * time.Millisecond, 1500 * time.Millisecond} {
			before, client := value(), s.Client(nil)
			time.AfterFunc(at, func() { s.Crash(client) })
			require.Error(t, add(client))
			require.EqualValues(t, want, value()-before)
		}
		s.LoseAnswersOf("long_add", 1)
		before, start := value(), time.Now()
		require.ErrorIs(t, add(s.Client(nil)), primitives.ErrIndeterminate)
		require.Equal(t, 2*time.Second, time.Since(start))
		require.EqualValues(t, 1, value()-before)
		s.Away(time.Minute)
		start = time.Now()
		require.ErrorIs(t, add(s.Client(nil)), primitives.ErrUnavailable)
		require.Zero(t, time.Since(start))
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

// errOf returns the error alone that a call returned.
func errOf[T any](_ T, err error) error { return err }
