package keys

import (
	"context"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// In each form one key is passed, and two arguments.
func one(ctx context.Context, c redis.Cmdable, r rueidis.Client, words []string) {
	keys := []string{"a"}
	c.Eval(ctx, `redis.call('del', KEYS[1], KEYS[2]) -- 1`, keys, "x", "y")
	redis.NewScript(`redis.call('del', KEYS[1], KEYS[2]) -- 2`).Run(ctx, c, single("a"), "x", "y")
	rueidis.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 5`).Exec(ctx, r, keys, []string{"x", "y"})
	rueidis.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 6`).Exec(ctx, r, []string{"a"}, words)
	run(ctx, c, redis.NewScript(`redis.call('del', KEYS[1], KEYS[2]) -- 11`), keys, "x", "y")
	c.Eval(ctx, `redis.call('setrange', KEYS[1], tonumber(ARGV[3]), ARGV[2])`, keys, "1", "y")
}

func single(id string) []string { return []string{id} }

func run(ctx context.Context, c redis.Scripter, script *redis.Script, keys []string, args ...any) {
	script.Run(ctx, c, keys, args...)
}
