package keys

import (
	"context"

	"example.com/pages"
	"github.com/valkey-io/valkey-go"
)

func valkeyKeys(ctx context.Context, c valkey.Client, rest []string, of owner) {
	keys, words, made, grown := []string{"{a}1", "{a}2"}, []string{"x"}, make([]string, 2), []string{"{a}1"}
	grown = append(grown, "{a}2")
	valkey.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 46`).Exec(ctx, c, []string{"{a}1", "{a}2"}, []string{"x"})
	valkey.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 47`).Exec(ctx, c, keys, []string{"x"})
	valkey.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 48`).Exec(ctx, c, append([]string{"{a}1"}, "{a}2"), []string{"x"})
	valkey.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 49`).Exec(ctx, c, append([]string{"{a}1"}, rest...), []string{"x"})
	valkey.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 50`).Exec(ctx, c, pair("a"), []string{"x"})
	valkey.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 51`).Exec(ctx, c, both(), []string{"x"})
	valkey.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 52`).Exec(ctx, c, made, []string{"x"})
	valkey.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 53`).Exec(ctx, c, grown, []string{"x"})
	valkey.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 54`).Exec(ctx, c, rest, []string{"x"})
	valkey.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 55`).Exec(ctx, c, pages.Keys(), []string{"x"})
	valkey.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 56`).Exec(ctx, c, of.keys, []string{"x"})
	valkey.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 57`).Exec(ctx, c, keys[:2], []string{"x"})
	valkey.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 58`).Exec(ctx, c, keys, words)
	valkey.NewLuaScript(`redis.call('del', KEYS[1], KEYS[2]) -- 59`).ExecMulti(ctx, c, valkey.LuaExec{Keys: keys, Args: []string{"x"}})
	c.Do(ctx, c.B().Eval().Script(`redis.call('del', KEYS[1], KEYS[2]) -- 60`).Numkeys(2).Key(keys...).Arg("x").Build())
}
