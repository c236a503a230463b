package main

import (
	"context"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func holdRedsync(ctx context.Context, rs *redsync.Redsync, name string, work func(), delay redsync.Option) error {
	mutex := rs.NewMutex(name, redsync.WithExpiry(2*time.Second), redsync.WithTries(1<<20), delay)
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	work()
	_, err := mutex.UnlockContext(ctx)
	return err
}

// byDefault leaves redsync's delay: 50 to 250 ms.
var byDefault = redsync.OptionFunc(func(*redsync.Mutex) {})

func openRedsync(server string, delay time.Duration) (hold, error) {
	rs := redsync.New(goredis.NewPool(redis.NewClient(&redis.Options{Addr: server})))
	var option redsync.Option = byDefault
	if delay != 0 {
		option = redsync.WithRetryDelay(delay)
	}
	return func(ctx context.Context, name string, work func()) error {
		return holdRedsync(ctx, rs, name, work, option)
	}, nil
}
