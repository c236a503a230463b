// Package lost sends sums of scripts, and never the scripts behind a restart.
package lost

import (
	"context"

	redigo "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
)

const hit = `return redis.call('incr', KEYS[1])`

var (
	touch = redis.NewScript(hit)
	sum   string
)

type counter struct {
	c   redis.UniversalClient
	sha string
}

func open(ctx context.Context, c *redis.Client) (*counter, error) {
	sha, err := c.ScriptLoad(ctx, hit).Result()
	return &counter{c, sha}, err
}

func (o *counter) hit(ctx context.Context) error {
	return o.c.EvalSha(ctx, o.sha, []string{"a"}).Err()
}

func (o *counter) touch(ctx context.Context) error {
	return touch.EvalSha(ctx, o.c, []string{"a"}).Err()
}

// The sum is set once.
func (o *counter) late(ctx context.Context) error {
	if sum == "" {
		sum = o.c.ScriptLoad(ctx, hit).Val()
	}
	return o.c.EvalSha(ctx, sum, []string{"a"}).Err()
}

func redigoHit(c redigo.Conn, sha string) (any, error) { return c.Do("EVALSHA", sha, 1, "a") }

// Run in a pipeline, whether it comes as an argument or from a call.
func (o *counter) many(ctx context.Context, keys []string) error {
	_, err := o.c.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		touch.Run(ctx, pipe, []string{"a"})
		return nil
	})
	pipe := o.c.TxPipeline()
	for _, k := range keys {
		touch.Run(ctx, pipe, []string{k})
	}
	_, _ = pipe.Exec(ctx)
	return err
}

// Nothing asks for the error.
func (o *counter) quiet(ctx context.Context) {
	touch.Run(ctx, o.c, []string{"a"})
}
