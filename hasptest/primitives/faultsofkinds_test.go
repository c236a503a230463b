package primitives_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/primitives"
)

// acquiring returns what tries to acquire an object, without waiting; nil if there is no such call.
func acquiring(object any) func(ctx context.Context) (*primitives.Lease, error) {
	alone := func(err error) (*primitives.Lease, error) { return nil, err }
	switch o := object.(type) {
	case interface {
		TryLock(ctx context.Context) (*primitives.Lease, error)
	}:
		return o.TryLock
	case interface {
		TryAcquire(ctx context.Context) (*primitives.Lease, error)
	}:
		return o.TryAcquire
	case *primitives.PermitSemaphore:
		return func(ctx context.Context) (*primitives.Lease, error) { return o.TryAcquire(ctx, 1) }
	case interface {
		TryAcquire(ctx context.Context, n int) error
	}:
		return func(ctx context.Context) (*primitives.Lease, error) { return alone(o.TryAcquire(ctx, 1)) }
	case *primitives.PeriodicJob:
		return func(ctx context.Context) (*primitives.Lease, error) {
			return alone(errOf(o.TryDo(ctx, time.Now(), func(context.Context, primitives.JobRun) error { return nil })))
		}
	}
	return nil
}

// TestFaultsMeetEveryKind: FailAcquires and LoseAnswers are of every kind's acquires, and of the releases of its leases.
func TestFaultsMeetEveryKind(t *testing.T) {
	t.Parallel()
	kinds := slices.Sorted(maps.Keys(constructed(t)))
	kinds = append(kinds, "WriteLock", "CountingSemaphore by arrival")
	met := 0
	for _, kind := range kinds {
		synctest.Test(t, func(t *testing.T) {
			s := hasptest.New(t)
			c := s.Client(nil)
			var object any
			switch kind {
			case "ReadWriteLock":
				object = c.NewReadWriteLock("x", nil).ReadLock()
			case "WriteLock":
				object = c.NewReadWriteLock("x", nil).WriteLock()
			case "CountingSemaphore by arrival":
				object = c.NewCountingSemaphore("x", 1, &primitives.CountingSemaphoreOptions{Order: primitives.ByArrival})
			case "PermitSemaphore":
				object = c.NewPermitSemaphore("x", &primitives.PermitSemaphoreOptions{Permits: 3})
			case "Semaphore":
				object = c.NewSemaphore("x", &primitives.SemaphoreOptions{Permits: 3})
			case "RateLimiter":
				object = c.NewRateLimiter("x", &primitives.RateLimiterOptions{Rate: primitives.Rate{Permits: 3, Interval: time.Hour}})
			default:
				object, _ = construct(t, c, kind, "")
			}
			acquire := acquiring(object)
			if acquire == nil {
				return
			}
			met++
			s.FailAcquires(1)
			require.ErrorIs(t, errOf(acquire(t.Context())), primitives.ErrUnavailable, kind)
			s.LoseAnswers(1)
			require.ErrorIs(t, errOf(acquire(t.Context())), primitives.ErrIndeterminate, kind)
			time.Sleep(time.Minute) // A grant that nobody has was given back.
			lease, err := acquire(t.Context())
			require.True(t, err == nil || kind == "PeriodicJob", "%s: %v", kind, err)
			if lease == nil {
				return
			}
			s.LoseAnswersOf(hasptest.Releases, 1)
			require.ErrorIs(t, lease.Release(t.Context()), primitives.ErrIndeterminate, kind)
		})
	}
	require.Greater(t, met, 12)
}
