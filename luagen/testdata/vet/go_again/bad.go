package again

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

var spend = redis.NewScript(`
if tonumber(redis.call('get', KEYS[1]) or '0') < tonumber(ARGV[1]) then return -1 end
return redis.call('decrby', KEYS[1], ARGV[1])`)

func open(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: time.Second, MaxRetries: 3})
}

func pay(ctx context.Context, c *redis.Client, key string, n int64) (int64, error) {
	return spend.Run(ctx, c, []string{key}, n).Int64()
}
