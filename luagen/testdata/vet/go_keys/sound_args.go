package keys

import (
	"context"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/valkey-io/valkey-go"
)

// Each call may pass three arguments.
func passes(ctx context.Context, c goredis.Cmdable, r rueidis.Client, v valkey.Client, conn redis.Conn, keys, words []string, grow bool) {
	three := []string{"1", "2", "3"}
	any3 := []any{"1", "2"}
	any3 = append(any3, "3")
	var more []any
	for _, w := range words {
		more = append(more, w)
	}
	cond := []any{"1", "2"}
	if grow {
		cond = append(cond, 3)
	}
	c.Eval(ctx, `return redis.call('incrby', KEYS[1], ARGV[3]) -- 1`, keys, []string{"1", "2", "3"})
	c.Eval(ctx, `return redis.call('incrby', KEYS[1], ARGV[3]) -- 2`, keys, three)
	c.Eval(ctx, `return redis.call('incrby', KEYS[1], ARGV[3]) -- 3`, keys, words)
	c.Eval(ctx, `return redis.call('incrby', KEYS[1], ARGV[3]) -- 4`, keys, any3...)
	c.Eval(ctx, `return redis.call('incrby', KEYS[1], ARGV[3]) -- 5`, keys, more...)
	c.Eval(ctx, `return redis.call('incrby', KEYS[1], ARGV[3]) -- 6`, keys, cond...)
	c.Eval(ctx, `return redis.call('incrby', KEYS[1], ARGV[3]) -- 7`, keys, more)
	c.Eval(ctx, `return redis.call('incrby', KEYS[1], ARGV[3]) -- 8`, keys, threeOf())
	c.Eval(ctx, `return redis.call('incrby', KEYS[1], ARGV[3]) -- 9`, keys, threeOf()...)
	c.Eval(ctx, `return redis.call('incrby', KEYS[1], ARGV[3]) -- 10`, keys, append([]any{1, 2}, more...)...)
	c.Eval(ctx, `return redis.call('incrby', KEYS[1], ARGV[3]) -- 11`, keys, map[string]any{"a": 1, "b": 2})
	c.Eval(ctx, `return redis.call('incrby', KEYS[1], ARGV[3]) -- 12`, keys, [3]int{1, 2, 3})
	rueidis.NewLuaScript(`return redis.call('incrby', KEYS[1], ARGV[3]) -- 20`).Exec(ctx, r, keys, three)
	rueidis.NewLuaScript(`return redis.call('incrby', KEYS[1], ARGV[3]) -- 21`).Exec(ctx, r, keys, words)
	rueidis.NewLuaScript(`return redis.call('incrby', KEYS[1], ARGV[3]) -- 22`).Exec(ctx, r, keys, append([]string{"a"}, words...))
	valkey.NewLuaScript(`return redis.call('incrby', KEYS[1], ARGV[3]) -- 23`).Exec(ctx, v, keys, three)
	redis.NewScript(1, `return redis.call('incrby', KEYS[1], ARGV[3]) -- 30`).Do(conn, "k", 1, 2, 3)
	redis.NewScript(1, `return redis.call('incrby', KEYS[1], ARGV[3]) -- 31`).Do(conn, redis.Args{}.Add("k").AddFlat(words)...)
	redis.NewScript(-1, `return redis.call('incrby', KEYS[1], ARGV[3]) -- 32`).Do(conn, 1, "k", 1, 2, 3)
	conn.Do("EVAL", `return redis.call('incrby', KEYS[1], ARGV[3]) -- 33`, 1, "k", 1, 2, 3)
	c.(*goredis.Client).Do(ctx, "EVAL", `return redis.call('incrby', KEYS[1], ARGV[3]) -- 34`, 1, "k", 1, 2, 3)
	r.B().Eval().Script(`return redis.call('incrby', KEYS[1], ARGV[3]) -- 35`).Numkeys(1).Key("k").Arg("1", "2", "3").Build()
	r.B().Eval().Script(`return redis.call('incrby', KEYS[1], ARGV[3]) -- 36`).Numkeys(1).Key("k").Arg("1").Arg("2").Arg("3").Build()
}

func threeOf() []any { return []any{1, 2, 3} }
