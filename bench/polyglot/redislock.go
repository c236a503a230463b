package main

import (
	"cmp"
	"context"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

func holdRedislock(ctx context.Context, rl *redislock.Client, name string, work func(), delay time.Duration) error {
	retry := &redislock.Options{RetryStrategy: redislock.LinearBackoff(delay)}
	lock, err := rl.Obtain(ctx, name, 2*time.Second, retry)
	if err != nil {
		return err
	}
	work()
	return lock.Release(ctx)
}

// openRedislock has the delay of redislock's own example, instead of its default, which does not try again.
func openRedislock(server string, delay time.Duration) (hold, error) {
	rl := redislock.New(redis.NewClient(&redis.Options{Addr: server}))
	delay = cmp.Or(delay, 100*time.Millisecond)
	return func(ctx context.Context, name string, work func()) error {
		return holdRedislock(ctx, rl, name, work, delay)
	}, nil
}
