package keys

import (
	"github.com/gomodule/redigo/redis"
	"github.com/mediocregopher/radix/v4"
)

func redigo(c redis.Conn, args []any) {
	redis.NewScript(2, `redis.call('del', KEYS[1], KEYS[2]) -- 61`).Do(c, "{a}1", "{a}2", []string{"x"})
	redis.NewScript(2, `redis.call('del', KEYS[1], KEYS[2]) -- 62`).Do(c, args...)
	redis.NewScript(-1, `redis.call('del', KEYS[1], KEYS[2]) -- 63`).Send(c, 2, "{a}1", "{a}2", []string{"x"})
	redis.NewScript(-1, `redis.call('del', KEYS[1], KEYS[2]) -- 64`).Do(c, args...)
	redis.NewScript(-1, `redis.call('del', KEYS[1], KEYS[2]) -- 65`).Do(c, redis.Args{}.Add(2).AddFlat([]string{"x"})...)
	c.Do("EVAL", `redis.call('del', KEYS[1], KEYS[2]) -- 66`, 2, "{a}1", "{a}2", []string{"x"})
	c.Do("EVAL", `redis.call('del', KEYS[1], KEYS[2]) -- 67`, len(args), []string{"x"})
	c.Do("EVAL", redis.Args{}.Add(`redis.call('del', KEYS[1], KEYS[2]) -- 68`, 1).Add("{a}1")...)
}

func radixKeys() radix.Action {
	keys := []string{"{a}1", "{a}2"}
	return radix.NewEvalScript(`redis.call('del', KEYS[1], KEYS[2]) -- 69`).FlatCmd(nil, keys, []string{"x"})
}
