package calls

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

var leave = redis.NewScript(`
if KEYS[2] then
  redis.call('del', KEYS[2])
end
return redis.call('decr', KEYS[1])
`)

// The second key may be left out.
const renew = `local other = KEYS[2] -- (KEYS[2])
if other then redis.call('del', other) end
return redis.call('pexpire', KEYS[1], ARGV[1])`

// The mode says whether there is a second key.
const drop = `
if ARGV[1] == 'both' then
  redis.call('del', KEYS[2])
end
return redis.call('del', KEYS[1])`

func drops(ctx context.Context, c *redis.Client) error {
	if err := c.Eval(ctx, drop, []string{"{a}1"}, "one").Err(); err != nil {
		return err
	}
	return c.Eval(ctx, drop, []string{"{a}1", "{a}2"}, "both").Err()
}

// A comment and a text name a second key, and the length of KEYS is asked by another name.
const touch = `--[[
redis.call('del', KEYS[2])
]]
redis.call('set', KEYS[1], "(KEYS[2])", 'EX', 9)`

const sweep = `local keys = KEYS
local first = KEYS[1]
if #keys > 1 then redis.call('del', KEYS[2]) end
return redis.call('del', first)`

func touches(ctx context.Context, c *redis.Client) error {
	if err := c.Eval(ctx, sweep, []string{"a"}).Err(); err != nil {
		return err
	}
	return c.Eval(ctx, touch, []string{"a"}).Err()
}

func leaves(ctx context.Context, c redis.Scripter, left string) (int, error) {
	return leave.Run(ctx, c, []string{left}).Int()
}

func renews(ctx context.Context, c *redis.Client, keys []string) error {
	if err := c.Eval(ctx, renew, keys, time.Minute.Milliseconds()).Err(); err != nil {
		return err
	}
	return c.Eval(ctx, renew, []string{"lock"}, 5*time.Second/time.Millisecond).Err()
}
