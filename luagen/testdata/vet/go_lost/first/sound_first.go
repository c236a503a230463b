// Package first loads a script before each use of its sum.
package first

import (
	"context"

	"github.com/redis/go-redis/v9"
)

var touch = redis.NewScript(`return redis.call('incr', KEYS[1])`)

func hit(ctx context.Context, c *redis.Client) error {
	sha, err := touch.Load(ctx, c).Result()
	if err != nil {
		return err
	}
	return c.EvalSha(ctx, sha, []string{"a"}).Err()
}

func many(ctx context.Context, c *redis.Client) error {
	if err := touch.Load(ctx, c).Err(); err != nil {
		return err
	}
	pipe := c.Pipeline()
	touch.Run(ctx, pipe, []string{"a"})
	touch.Eval(ctx, pipe, []string{"a"})
	_, err := pipe.Exec(ctx)
	return err
}

// EvalSha only forwards.
func EvalSha(ctx context.Context, c redis.Cmdable, sha string) *redis.Cmd {
	return c.EvalSha(ctx, sha, []string{"a"})
}
