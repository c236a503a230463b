package args

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

var allow = redis.NewScript(`
local limit = tonumber(ARGV[1])
local window_ms = tonumber(ARGV[2])
if redis.call('incr', KEYS[1]) == 1 then redis.call('pexpire', KEYS[1], window_ms) end
return limit`)

// KEYS: the queue of jobs, set of workers. ARGV: name of the worker, lease in milliseconds
var take = redis.NewScript(`redis.call('psetex', KEYS[2], ARGV[2], ARGV[1]) return redis.call('rpop', KEYS[1])`)

func (l lease) ordered(ctx context.Context, limit int, window time.Duration, worker string, front bool, ids []string) {
	ms := strconv.FormatInt(window.Milliseconds(), 10)
	allow.Run(ctx, l.c, []string{"a"}, ms, limit)
	take.Run(ctx, l.c, []string{"{a}q", "{a}w"}, window.Milliseconds(), worker)
	allow.Run(ctx, l.c, []string{"a"}, limit, strconv.FormatInt(int64(window), 10))
	l.c.Eval(ctx, keep, []string{"{a}1", "{a}2"}, int(window.Seconds()), front)
	args := make([]any, 0, 9)
	args = append(args, 10)
	args = append(args, ids)
	l.c.Eval(ctx, keep, []string{"{a}1", "{a}2"}, args...)
}
