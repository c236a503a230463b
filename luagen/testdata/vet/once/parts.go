package once

import "github.com/redis/go-redis/v9"

const body = "redis.call('set', KEYS[1], 1)\nif redis.call('exists', KEYS[1]) then return 1 end\nreturn 0"

var (
	one = redis.NewScript("redis.call('del', KEYS[2])\n" + body)
	two = redis.NewScript("redis.call('get', KEYS[2])\nredis.call('del', KEYS[2])\n" + body)
)
