//go:build unix

package main

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// TestSeveralServers has a RedLock of plain locks and redsync with three pools share one lock, while one of the three
// servers is stopped for a time.
func TestSeveralServers(t *testing.T) {
	lasts := lasting(t) / 4
	var pools []redsyncredis.Pool
	var clients []*primitives.Client
	var all []*servers.Server
	for range 3 {
		server := servers.Start(t, servers.Redis, nil)
		conn := redis.NewClient(&redis.Options{Addr: server.Addr(), ReadTimeout: 50 * time.Millisecond})
		t.Cleanup(func() { require.NoError(t, conn.Close()) })
		client, err := goredisbackend.NewClient(conn, renewed)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, client.Close(context.Background())) })
		pools, clients, all = append(pools, goredis.NewPool(conn)), append(clients, client), append(all, server)
	}
	rs, red := redsync.New(pools...), primitives.NewRedLock(clients, name, &primitives.RedLockOptions{Plain: true})
	delay := redsync.WithRetryDelay(5 * time.Millisecond)
	var inside, twice atomic.Int64
	turns := map[string]*atomic.Int64{"hasp": {}, "redsync": {}}
	turn := func(kind string) func() {
		return func() {
			if inside.Add(1) > 1 {
				twice.Add(1)
			}
			time.Sleep(work)
			inside.Add(-1)
			turns[kind].Add(1)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	defer time.AfterFunc(lasts/3, func() { _ = all[0].Pause() }).Stop()
	defer time.AfterFunc(lasts/2, func() { _ = all[0].Resume() }).Stop()
	var loops sync.WaitGroup
	for range 2 {
		loops.Go(func() {
			for ctx.Err() == nil {
				_ = holdRedsync(ctx, rs, name, turn("redsync"), delay)
				time.Sleep(pause)
			}
		})
		loops.Go(func() {
			for ctx.Err() == nil {
				_ = red.Do(ctx, func(context.Context, *primitives.Lease) error { turn("hasp")(); return nil })
				time.Sleep(pause)
			}
		})
	}
	loops.Wait()
	t.Logf("turns: hasp %d, redsync %d", turns["hasp"].Load(), turns["redsync"].Load())
	require.Zero(t, twice.Load())
	require.Positive(t, min(turns["hasp"].Load(), turns["redsync"].Load()))
}
