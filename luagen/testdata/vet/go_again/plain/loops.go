package plain

import (
	"context"

	"github.com/redis/go-redis/v9"
)

var push = redis.NewScript(`return redis.call('rpush', KEYS[1], ARGV[1])`)
var hit = redis.NewScript(`return redis.call('incr', KEYS[1])`)
var once = redis.NewScript(`
if not redis.call('set', KEYS[2], '1', 'nx', 'ex', 60) then return 0 end
return redis.call('incr', KEYS[1])`)

func loops(ctx context.Context, c *redis.Client, jobs []string) (err error) {
	for attempt := 0; attempt < 3; attempt++ {
		err = push.Run(ctx, c, []string{"jobs"}, "a").Err()
		err = once.Run(ctx, c, []string{"{a}", "{a}:b"}).Err()
	}
	for i := range 3 {
		if err = push.Run(ctx, c, []string{"jobs"}, jobs[i]).Err(); err != nil {
			return err
		}
	}
	return withRetry(func() error { return hit.Run(ctx, c, []string{"hits"}).Err() })
}

func withRetry(f func() error) error { return f() }
