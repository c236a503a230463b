// Package again loads a script that the server has lost.
package again

import (
	"context"

	"github.com/redis/go-redis/v9"
)

const hit = `return redis.call('incr', KEYS[1])`

var touch = redis.NewScript(hit)

func again(ctx context.Context, c *redis.Client, sha string) error {
	err := c.EvalSha(ctx, sha, []string{"a"}).Err()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		return c.Eval(ctx, hit, []string{"a"}).Err()
	}
	return err
}

func many(ctx context.Context, c *redis.Client) error {
	pipe := c.Pipeline()
	touch.Run(ctx, pipe, []string{"a"})
	_, err := pipe.Exec(ctx)
	return err
}
