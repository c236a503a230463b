package scripts

import (
	"context"
	"strings"

	"example.org/luas"
	"github.com/redis/go-redis/v9"
)

const unlock = "if redis.call('exists', KEYS[1]) then return 1 end return 0"

var drop = redis.NewScript("return redis.call('del', KEYS[1])")

type kept struct{ lua string }

// passed gives Eval names that do not show that they are scripts.
func passed(ctx context.Context, c redis.Cmdable, t kept, m map[string]string, given string) {
	c.Eval(ctx, unlock, nil)
	release := "return redis.call('gett', KEYS[1])"
	c.EvalRO(ctx, release, nil)
	c.EvalRO(ctx, "return redis.call('set', KEYS[1], 1)", nil)
	grown := "return redis.call('get', KEYS[1])"
	grown += given
	c.Eval(ctx, grown, nil)
	c.Eval(ctx, strings.TrimSpace(unlock), nil)
	c.Eval(ctx, m["a"], nil)
	c.Eval(ctx, t.lua, nil)
	c.Eval(ctx, luas.Take, nil)
	c.Eval(ctx, given, nil)
	drop.Eval(ctx, c, []string{"k"})
	_ = drop.Eval(ctx, redis.NewClient(nil), []string{"k"})
}

func fault(ctx context.Context, c redis.Cmdable) {
	c.Eval(ctx, `
if redis.call('get', KEYS[1]) then
	return 1
`, nil)
}
