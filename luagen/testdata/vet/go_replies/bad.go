// Package replies never asks whether a reply is missing.
package replies

import (
	"context"

	"github.com/redis/go-redis/v9"
)

var claim = redis.NewScript(`
if redis.call('hsetnx', KEYS[1], ARGV[1], ARGV[2]) == 1 then return true end
return redis.call('hget', KEYS[1], ARGV[1]) == ARGV[2]`)

var pop = redis.NewScript(`
local id = redis.call('rpop', KEYS[1])
if not id then return false end
redis.call('sadd', KEYS[2], id)
return id`)

var try = redis.NewScript(`if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', 9) then return 1 end return false`)

var count = redis.NewScript(`return redis.call('incr', KEYS[1])`)

func replies(ctx context.Context, c redis.Scripter, owner string) error {
	if _, err := claim.Run(ctx, c, []string{"a"}, "seat", owner).Bool(); err != nil {
		return err
	}
	if _, err := pop.Run(ctx, c, []string{"{a}1", "{a}2"}).Text(); err != nil {
		return err
	}
	if _, err := try.Run(ctx, c, []string{"a"}, owner).Bool(); err != nil {
		return err
	}
	return count.Run(ctx, c, []string{"a"}).Err()
}
