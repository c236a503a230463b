package keys

import (
	"context"

	"example.com/pages"
	"github.com/redis/rueidis"
)

func rueidisKeys(ctx context.Context, c rueidis.Client, rest []string, of owner) {
	keys, words, made, grown := []string{"{a}1", "{a}2"}, []string{"x"}, make([]string, 2), []string{"{a}1"}
	grown = append(grown, "{a}2")
	rueidis.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 31`).Exec(ctx, c, []string{"{a}1", "{a}2"}, []string{"x"})
	rueidis.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 32`).Exec(ctx, c, keys, []string{"x"})
	rueidis.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 33`).Exec(ctx, c, append([]string{"{a}1"}, "{a}2"), []string{"x"})
	rueidis.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 34`).Exec(ctx, c, append([]string{"{a}1"}, rest...), []string{"x"})
	rueidis.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 35`).Exec(ctx, c, pair("a"), []string{"x"})
	rueidis.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 36`).Exec(ctx, c, both(), []string{"x"})
	rueidis.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 37`).Exec(ctx, c, made, []string{"x"})
	rueidis.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 38`).Exec(ctx, c, grown, []string{"x"})
	rueidis.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 39`).Exec(ctx, c, rest, []string{"x"})
	rueidis.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 40`).Exec(ctx, c, pages.Keys(), []string{"x"})
	rueidis.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 41`).Exec(ctx, c, of.keys, []string{"x"})
	rueidis.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 42`).Exec(ctx, c, keys[:2], []string{"x"})
	rueidis.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 43`).Exec(ctx, c, keys, words)
	rueidis.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 44`).ExecMulti(ctx, c, rueidis.LuaExec{Keys: keys, Args: []string{"x"}})
	c.Do(ctx, c.B().Eval().Script(`redis.call('del', KEYS[1], KEYS[2]) -- 45`).Numkeys(2).Key(keys...).Arg("x").Build())
}
