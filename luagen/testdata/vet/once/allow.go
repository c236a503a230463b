package once

import "github.com/redis/go-redis/v9"

var three = redis.NewScript(`
return redis.call('get', KEYS[1]) ---@allow unused`)
