package varied

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// Each value makes another script.
func bad(ctx context.Context, c *redis.Client, user string, limit int, ids []string, ttl time.Duration) error {
	script := fmt.Sprintf(`local n = redis.call('incr', KEYS[1])
if n > %d then return 0 end
return 1`, limit)
	if err := c.Eval(ctx, script, []string{user}).Err(); err != nil {
		return err
	}
	for _, id := range ids {
		if err := c.Eval(ctx, "return redis.call('del', KEYS[1], '"+id+"')", []string{user}).Err(); err != nil {
			return err
		}
	}
	life := "return redis.call('pexpire', KEYS[1], " + strconv.FormatInt(ttl.Milliseconds(), 10) + ")"
	if err := c.Eval(ctx, life, []string{user}).Err(); err != nil {
		return err
	}
	field := user + ":count"
	return c.Eval(ctx, `return redis.call('hincrby', KEYS[1], '`+field+`', 1)`, []string{user}).Err()
}
