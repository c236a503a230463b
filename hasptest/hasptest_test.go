package hasptest_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// recorded is a test that keeps what fails it, and goes on.
type recorded struct {
	testing.TB
	failures []string
}

func (r *recorded) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorded) Fatalf(format string, args ...any) { r.Errorf(format, args...) }

func TestLoseWhatNobodyHolds(t *testing.T) {
	t.Parallel()
	test := &recorded{TB: t}
	s := hasptest.New(test)
	s.Lose("orders:42")
	require.Equal(t, []string{`hasptest: lose "orders:42": nobody holds it`}, test.failures)
	client := s.Client(&primitives.Options{KeyPrefix: "app:"})
	require.NoError(t, errOf(client.NewLock("orders:42", nil).Lock(t.Context())))
	s.Lose("app:orders:42")
	require.Len(t, test.failures, 1)
}

// TestCleanup ends a test in an outage, with a lock held: the lock is free after.
func TestCleanup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		inner := &cleanups{TB: t}
		s := hasptest.New(inner)
		lease := must(s.Client(nil).NewLock("x", nil).Lock(t.Context()))(t)
		s.Away(time.Hour)
		inner.run()
		require.ErrorIs(t, lease.Err(), primitives.ErrClosed)
		require.Zero(t, must(must(s.Embedded().Do("EXISTS", "x"))(t).Int())(t), "the lock was released")
		require.Zero(t, time.Since(start), "without waiting")
	})
}

// cleanups is a test whose cleanup is run by hand.
type cleanups struct {
	testing.TB
	list []func()
}

func (c *cleanups) Cleanup(f func()) { c.list = append(c.list, f) }

func (c *cleanups) run() {
	for i := range c.list {
		c.list[len(c.list)-1-i]()
	}
}

func TestMisuse(t *testing.T) {
	t.Parallel()
	s := hasptest.New(t)
	require.Panics(t, func() { s.FailAcquires(0) })
	require.Panics(t, func() { s.LoseAnswers(-1) })
	require.Panics(t, func() { s.Away(0) })
}

// TestWaiterBehindACrashedWaiter has a caller pass a crashed waiter of a full semaphore. The waiter behind, which does
// not poll, hears of it: it enters when the crashed holder's lease ends.
func TestWaiterBehindACrashedWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		start := time.Now()
		byArrival := func() *primitives.CountingSemaphore {
			client := s.Client(&primitives.Options{PollInterval: 100 * time.Hour})
			return client.NewCountingSemaphore("x", 1, &primitives.CountingSemaphoreOptions{
				Order: primitives.ByArrival, Lease: time.Minute, WaiterTimeout: 1000 * time.Hour,
			})
		}
		at := func(after time.Duration) string { return strconv.FormatInt(start.Add(after).UnixMilli(), 10) }
		for _, command := range [][]string{
			{"ZADD", "x", at(time.Minute), "holder", "-" + at(5*time.Second), "waiter"}, {"ZADD", "{x}:owner", "1", "waiter"},
		} {
			require.NoError(t, errOf(s.Embedded().Do(command...)))
		}
		entered := make(chan error)
		go func() {
			_, err := byArrival().Acquire(t.Context())
			entered <- err
		}()
		time.Sleep(10 * time.Second)
		require.ErrorIs(t, errOf(byArrival().TryAcquire(t.Context())), primitives.ErrNotAcquired)
		require.NoError(t, <-entered)
		require.InDelta(t, time.Minute, time.Since(start), float64(100*time.Millisecond))
	})
}

// TestRestartWithoutDataIsNoticed: a client that only holds leases learns that its server has lost them as soon as the
// server is back. A client whose leases the server still has goes on.
func TestRestartWithoutDataIsNoticed(t *testing.T) {
	t.Parallel()
	for kind := range leased(hasptest.New(t).Client(nil), "x") {
		if slices.Contains([]string{"SpinLock", "PlainLock"}, kind) {
			continue // They have no channel.
		}
		for _, lost := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%t", kind, lost), func(t *testing.T) {
				virtual(t, func(t *testing.T, s *hasptest.Server) {
					client := s.Client(nil)
					var leases []*primitives.Lease
					for i := range 5 {
						leases = append(leases, must(leased(client, fmt.Sprint("x", i))[kind](t.Context()))(t))
						time.Sleep(1500 * time.Millisecond)
					}
					s.Away(time.Second)
					if lost {
						require.NoError(t, errOf(s.Embedded().Do("FLUSHALL")))
					}
					time.Sleep(time.Second + 100*time.Millisecond)
					for _, lease := range leases {
						if lost {
							require.ErrorIs(t, lease.Err(), primitives.ErrLost)
						} else {
							require.NoError(t, lease.Err())
						}
					}
				})
			})
		}
	}
}

// mismatches keeps the mismatches of one client, whose calls come one after the other.
type mismatches struct{ all []trace.Mismatch }

func (m *mismatches) tracer() *trace.Tracer {
	return &trace.Tracer{Mismatch: func(data trace.Mismatch) { m.all = append(m.all, data) }}
}

// deployments are those of a limiter or a semaphore with so many permits, by its kind.
var deployments = map[string]struct {
	mismatch trace.Mismatch // that of 9 permits where there are 5

	// try acquires n permits of x without waiting, by an option of so many.
	try func(ctx context.Context, c *primitives.Client, permits, n int) error
}{
	"RateLimiter": {
		trace.Mismatch{Object: trace.Object{Kind: "rate limiter", Name: "x"}, Option: "Rate", Want: "9 in 1h0m0s", Have: "5 in 1h0m0s"},
		func(ctx context.Context, c *primitives.Client, permits, n int) error {
			d, err := c.NewRateLimiter("x", primitives.Rate{Permits: permits, Interval: time.Hour}, rateRefuse).Allow(ctx, n)
			if err == nil && !d.Allowed {
				err = primitives.ErrNotAcquired
			}
			return err
		},
	},
	"PermitSemaphore": {
		trace.Mismatch{Object: trace.Object{Kind: "permit semaphore", Name: "x"}, Option: "Permits", Want: "9", Have: "5"},
		func(ctx context.Context, c *primitives.Client, permits, n int) error {
			return errOf(c.NewPermitSemaphore("x", &primitives.PermitSemaphoreOptions{Permits: permits}).TryAcquire(ctx, n))
		},
	},
}

// TestMismatch deploys another number of permits: the server's applies, and the mismatch is reported, once.
func TestMismatch(t *testing.T) {
	t.Parallel()
	for name, l := range deployments {
		t.Run(name, func(t *testing.T) {
			virtual(t, func(t *testing.T, s *hasptest.Server) {
				m := &mismatches{}
				old, deployed := s.Client(nil), s.Client(&primitives.Options{Tracer: m.tracer()})
				require.NoError(t, l.try(t.Context(), deployed, 5, 1))
				require.Empty(t, m.all, "it has made what the option says")
				require.NoError(t, l.try(t.Context(), old, 5, 1))
				for range 3 {
					require.NoError(t, l.try(t.Context(), deployed, 9, 1))
				}
				require.ErrorIs(t, l.try(t.Context(), deployed, 9, 1), primitives.ErrNotAcquired)
				require.Equal(t, []trace.Mismatch{l.mismatch}, m.all)
			})
		})
	}
}

// TestMismatchOfMoreThanThereAre: the rate has fewer permits than a caller needs, whose option has them.
func TestMismatchOfMoreThanThereAre(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		m, try := &mismatches{}, deployments["RateLimiter"].try
		require.NoError(t, try(t.Context(), s.Client(nil), 5, 1))
		err := try(t.Context(), s.Client(&primitives.Options{Tracer: m.tracer()}), 9, 7)
		require.ErrorIs(t, err, primitives.ErrAboveRate)
		require.Len(t, m.all, 1)
		require.Equal(t, "fewer than 7 permits", m.all[0].Have)
	})
}

// virtual runs a test in virtual time, on a server of its own.
func virtual(t *testing.T, test func(t *testing.T, s *hasptest.Server)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, hasptest.New(t)) })
}
