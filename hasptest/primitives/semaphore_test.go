package primitives_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// TestSemaphoreGrantRacesWithContext: a caller whose context ends in the instant of the grant gets an error that says that
// permits may have been taken, and they are released. If it ends only after the grant was seen, the caller has them.
func TestSemaphoreGrantRacesWithContext(t *testing.T) {
	t.Parallel()
	for left, looks := range map[string]int64{"3": 0, "1": 1} {
		subtest(t, left, func(t *testing.T, s *server) {
			s.do("SET", "x", "3")
			ctx := &endingContext{Context: t.Context()}
			ctx.looks.Store(looks)
			s.seen = func(string, []string, []string) { ctx.ending.Store(true) }
			err := s.client(t, nil).NewSemaphore("x", nil).Acquire(ctx, 2)
			if looks > 0 {
				require.NoError(t, err)
			} else {
				wraps(t, err, context.Canceled, backend.ErrIndeterminate)
			}
			time.Sleep(time.Minute)
			s.set(func() { require.Equal(t, left, s.permits("x")) })
			require.Equal(t, 1-int(looks), s.called("semaphore_add"))
		})
	}
}

// TestSemaphoreWarnsOfLostPermits: no caller is left to return an error to, so the logger gets
// it, after five seconds at most. A request that was certainly not sent has taken nothing.
func TestSemaphoreWarnsOfLostPermits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault    fault
		warnings int
	}{
		"NotSent":   {fault{before: time.Second, err: errors.New("no connection")}, 0},
		"Broken":    {fault{before: time.Second, broken: true}, 1},
		"Delivered": {fault{before: time.Second}, 0},
		"Silent":    {fault{lost: true}, 1},
	} {
		subtest(t, name, func(t *testing.T, s *server) {
			s.do("SET", "x", "3")
			core, logs := observer.New(zap.WarnLevel)
			semaphore := s.client(t, &primitives.Options{Logger: zap.New(core)}).NewSemaphore("x", nil)
			s.fault = func(string) fault { return c.fault }
			ctx := within(t, time.Millisecond)
			require.ErrorIs(t, semaphore.Acquire(ctx, 2), backend.ErrIndeterminate)
			time.Sleep(6 * time.Second)
			require.Equal(t, c.warnings, logs.Len())
		})
	}
}

// endingContext ends after so many more calls of Err, but its Done is never closed.
type endingContext struct {
	context.Context //nolint:containedctx // It is one.

	ending atomic.Bool
	looks  atomic.Int64
}

func (c *endingContext) Err() error {
	if c.ending.Load() && c.looks.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}
