package calls

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

var claim = redis.NewScript(`
if redis.call('sismember', KEYS[2], ARGV[1]) == 1 then
  return -1
end
return redis.call('decr', KEYS[1])
`)

const hit = `
local n = redis.call('incr', KEYS[1])
if n == 1 then
  redis.call('pexpire', KEYS[1], ARGV[1])
end
return n
`

func claims(ctx context.Context, c redis.Scripter, left, owners, user string) (int, error) {
	return claim.Run(ctx, c, []string{left}, owners, user).Int()
}

func hits(ctx context.Context, c *redis.Client, key string) (int, error) {
	return c.Eval(ctx, hit, []string{key}, 5*time.Second).Int()
}
