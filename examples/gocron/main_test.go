package main

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/hasptest"
	gocronhasp "github.com/hasp-go/hasp/integration/gocron"
	"github.com/hasp-go/hasp/primitives"
)

const replicas = 3

// start has a replica report until the test ends.
func start(t *testing.T, client *primitives.Client, every time.Duration, report gocronhasp.Work) {
	t.Helper()
	scheduler, err := gocron.NewScheduler()
	require.NoError(t, err)
	require.NoError(t, schedule(scheduler, client, every, report))
	t.Cleanup(func() { require.NoError(t, scheduler.Shutdown()) })
	scheduler.Start()
}

// TestOnTheEmbeddedServer has three replicas with clocks that differ.
func TestOnTheEmbeddedServer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		var reports atomic.Int64
		for range replicas {
			start(t, s.Client(nil), time.Minute, func(context.Context, gocronhasp.Run) error { reports.Add(1); return nil })
			time.Sleep(9 * time.Second)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		require.EqualValues(t, 60, reports.Load())
	})
}

// TestOnRedis counts the periods that have begun: there are no more reports.
func TestOnRedis(t *testing.T) {
	t.Parallel()
	const every, want = 100 * time.Millisecond, 5
	addr := servers.Start(t, servers.Redis, nil).Addr()
	began := time.Now()
	reported := make(chan struct{}, 1000)
	for range replicas {
		start(t, connect(t, addr), every, func(context.Context, gocronhasp.Run) error { reported <- struct{}{}; return nil })
	}
	require.Eventually(t, func() bool { return len(reported) >= want }, time.Minute, time.Millisecond)
	reports := len(reported)
	require.LessOrEqual(t, reports, int(time.Since(began)/every)+2)
}

// TestLosesItsLock loses the lock of a report: the report ends, and a replica reports again in the same minute.
func TestLosesItsLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		var begun atomic.Int64
		lost := make(chan error, replicas)
		for range replicas {
			start(t, s.Client(nil), time.Minute, func(ctx context.Context, _ gocronhasp.Run) error {
				if begun.Add(1) > 1 {
					return nil
				}
				<-ctx.Done()
				lost <- context.Cause(ctx)
				return context.Cause(ctx)
			})
		}
		time.Sleep(61 * time.Second)
		require.EqualValues(t, 1, begun.Load())
		s.Lose("report")
		time.Sleep(30 * time.Second)
		require.Len(t, lost, 1)
		require.ErrorIs(t, <-lost, primitives.ErrLost)
		require.EqualValues(t, 2, begun.Load())
	})
}

// TestFailedReport is tried again by another replica in the same minute.
func TestFailedReport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		var begun atomic.Int64
		for range replicas {
			start(t, s.Client(nil), time.Minute, func(context.Context, gocronhasp.Run) error {
				if begun.Add(1) == 1 {
					return errors.New("no space")
				}
				return nil
			})
		}
		time.Sleep(90 * time.Second)
		require.EqualValues(t, 2, begun.Load())
	})
}

func connect(t *testing.T, addr string) *primitives.Client {
	t.Helper()
	conn := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	client, err := goredisbackend.NewClient(conn, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close(context.Background())) })
	return client
}
