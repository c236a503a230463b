package keys

import (
	"context"

	"example.com/pages"
	"github.com/redis/go-redis/v9"
)

// Each form passes two keys or may do so, and one argument that looks like one key.
func goredis(ctx context.Context, c redis.Cmdable, rest []string, of owner) {
	keys, made, grown := []string{"{a}1", "{a}2"}, make([]string, 2), []string{"{a}1"}
	made[0], made[1] = "{a}1", "{a}2"
	grown = append(grown, "{a}2")
	redis.NewScript(`redis.call('del', KEYS[1], KEYS[2]) -- 1`).Run(ctx, c, []string{"{a}1", "{a}2"}, []string{"x"})
	redis.NewScript(`redis.call('del', KEYS[1], KEYS[2]) -- 2`).Run(ctx, c, keys, []string{"x"})
	redis.NewScript(`redis.call('del', KEYS[1], KEYS[2]) -- 3`).Run(ctx, c, append([]string{"{a}1"}, "{a}2"), []string{"x"})
	redis.NewScript(`redis.call('del', KEYS[1], KEYS[2]) -- 4`).Run(ctx, c, append([]string{"{a}1"}, rest...), []string{"x"})
	redis.NewScript(`redis.call('del', KEYS[1], KEYS[2]) -- 5`).Run(ctx, c, pair("a"), []string{"x"})
	redis.NewScript(`redis.call('del', KEYS[1], KEYS[2]) -- 6`).Run(ctx, c, both(), []string{"x"})
	redis.NewScript(`redis.call('del', KEYS[1], KEYS[2]) -- 7`).Run(ctx, c, made, []string{"x"})
	redis.NewScript(`redis.call('del', KEYS[1], KEYS[2]) -- 8`).Run(ctx, c, grown, []string{"x"})
	redis.NewScript(`redis.call('del', KEYS[1], KEYS[2]) -- 9`).Run(ctx, c, rest, []string{"x"})
	redis.NewScript(`redis.call('del', KEYS[1], KEYS[2]) -- 10`).Run(ctx, c, pages.Keys(), []string{"x"})
	redis.NewScript(`redis.call('del', KEYS[1], KEYS[2]) -- 11`).Run(ctx, c, of.keys, []string{"x"})
	redis.NewScript(`redis.call('del', KEYS[1], KEYS[2]) -- 12`).Run(ctx, c, keys[:2], []string{"x"})
	c.Eval(ctx, `redis.call('del', KEYS[1], KEYS[2]) -- 13`, []string{"{a}1", "{a}2"}, []string{"x"})
	c.Eval(ctx, `redis.call('del', KEYS[1], KEYS[2]) -- 14`, keys, []string{"x"})
	c.Eval(ctx, `redis.call('del', KEYS[1], KEYS[2]) -- 15`, append([]string{"{a}1"}, "{a}2"), []string{"x"})
	c.Eval(ctx, `redis.call('del', KEYS[1], KEYS[2]) -- 16`, append([]string{"{a}1"}, rest...), []string{"x"})
	c.Eval(ctx, `redis.call('del', KEYS[1], KEYS[2]) -- 17`, pair("a"), []string{"x"})
	c.Eval(ctx, `redis.call('del', KEYS[1], KEYS[2]) -- 18`, both(), []string{"x"})
	c.Eval(ctx, `redis.call('del', KEYS[1], KEYS[2]) -- 19`, made, []string{"x"})
	c.Eval(ctx, `redis.call('del', KEYS[1], KEYS[2]) -- 20`, grown, []string{"x"})
	c.Eval(ctx, `redis.call('del', KEYS[1], KEYS[2]) -- 21`, rest, []string{"x"})
	c.Eval(ctx, `redis.call('del', KEYS[1], KEYS[2]) -- 22`, pages.Keys(), []string{"x"})
	c.Eval(ctx, `redis.call('del', KEYS[1], KEYS[2]) -- 23`, of.keys, []string{"x"})
	c.Eval(ctx, `redis.call('del', KEYS[1], KEYS[2]) -- 24`, keys[:2], []string{"x"})
	pages.Client().Eval(ctx, `redis.call('del', KEYS[1], KEYS[2]) -- 25`, pages.Keys(), []string{"x"})
	c.Do(ctx, "EVAL", `redis.call('del', KEYS[1], KEYS[2]) -- 26`, 2, "{a}1", "{a}2", "x")
	c.Do(ctx, "EVAL", `redis.call('del', KEYS[1], KEYS[2]) -- 27`, len(keys), []string{"x"})
	redis.NewScript(`redis.call('del', KEYS[1], KEYS[2]) -- 28`).Run(ctx, pages.Client(), pages.Keys(), []string{"x"})
	run(ctx, c, redis.NewScript(`redis.call('del', KEYS[1], KEYS[2]) -- 29`), keys, []string{"x"})
	pages.NewScript(`redis.call('del', KEYS[1], KEYS[2]) -- 100`).Run(ctx, c, pages.Keys(), []string{"x"})
	handed(ctx, c, keys)
}

type owner struct{ keys []string }

func handed(ctx context.Context, c redis.Scripter, keys []string) {
	redis.NewScript(`redis.call('del', KEYS[1], KEYS[2]) -- 30`).Run(ctx, c, keys, []string{"x"})
}

func pair(id string) []string { return []string{"{" + id + "}1", "{" + id + "}2"} }

func both() []string { return append(pair("a"), "{a}3") }
