package again

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	take = redis.NewScript(`return redis.call('decrby', KEYS[1], ARGV[1])`)
	once = redis.NewScript(`if redis.call('sadd', KEYS[2], ARGV[2]) == 0 then return 0 end
return redis.call('decrby', KEYS[1], ARGV[1])`)
	put = redis.NewScript(`redis.call('set', KEYS[1], ARGV[1]) return 1`)
)

func bad(ctx context.Context, c *redis.Client, k string, n int) (left int64, err error) {
	for i := 0; i < 3; i++ {
		left, err = take.Run(ctx, c, []string{k}, n).Int64()
		if err == nil {
			return left, nil
		}
		time.Sleep(time.Duration(i) * time.Second)
	}
	for range 3 {
		if err = take.Run(ctx, c, []string{k}, n).Err(); err == nil {
			break
		}
	}
	for {
		left, err = take.Run(ctx, c, []string{k}, n).Int64()
		if err != nil {
			time.Sleep(time.Second)
			continue
		}
		return left, nil
	}
}

// An id of the request, one value, one key after the other, some errors, or a reply.
func sound(ctx context.Context, c *redis.Client, k, id string, n int, keys []string) (left int64, err error) {
	for range 3 {
		if err = once.Run(ctx, c, []string{k, k + ":done"}, n, id).Err(); err == nil {
			break
		}
		if err = put.Run(ctx, c, []string{k}, n).Err(); err == nil {
			break
		}
	}
	for _, k := range keys {
		if err = take.Run(ctx, c, []string{k}, n).Err(); err == nil {
			return 1, nil
		}
	}
	for range 3 {
		if err = take.Run(ctx, c, []string{k}, n).Err(); err == nil {
			return 1, nil
		}
		if !errors.Is(err, redis.Nil) {
			return 0, err
		}
	}
	for {
		left, err = take.Run(ctx, c, []string{k}, n).Int64()
		if err != nil || left > 0 {
			return left, err
		}
	}
}
