package args

import (
	"context"
	"strconv"
	"time"
)

type state string

type job struct{ ID string }

const push = `return redis.call('rpush', KEYS[1], ARGV[1])`

// ARGV: now, window, member
const slide = `
local now, window = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('zremrangebyscore', KEYS[1], 0, now - window)
redis.call('zadd', KEYS[1], now, ARGV[3])
redis.call('pexpire', KEYS[1], window)
return redis.call('zcard', KEYS[1])`

func now() int64 { return time.Now().Unix() }

// Each is of a kind that the client refuses, or in a unit that the script does not take.
func (l lease) kinds(ctx context.Context, j job, s state, window time.Duration, m map[string]int) {
	l.c.Eval(ctx, push, []string{"a"}, j)
	l.c.Eval(ctx, push, []string{"a"}, s)
	l.c.Eval(ctx, slide, []string{"a"}, time.Now(), window.Milliseconds(), "m")
	l.c.Eval(ctx, keep, []string{"a"}, 1, m)
	l.c.Eval(ctx, slide, []string{"a"}, time.Now().Unix(), window.Milliseconds(), "m")
	l.c.Eval(ctx, slide, []string{"a"}, strconv.FormatInt(now(), 10), 1000, "m")
	l.c.Eval(ctx, slide, []string{"a"}, time.Now().UnixMilli(), int(window.Seconds()), "m")
	touch.Run(ctx, l.c, []string{"a"}, int64(window.Seconds()))
}
