package args

import (
	"context"
	"errors"
	"math"
	"time"

	"example.com/pages"
	"github.com/redis/go-redis/v9"
)

// Each argument is what the script takes it for.
func (l lease) sound(ctx context.Context, d time.Duration, both bool, ids []string, body []byte) {
	keys, unit, whole := []string{"{a}1", "{a}2"}, time.Millisecond, math.Ceil(d.Seconds())
	milliseconds := d / time.Millisecond
	touch.Run(ctx, l.c, []string{"a"}, d.Milliseconds())
	touch.Run(ctx, l.c, []string{"a"}, milliseconds)
	touch.Run(ctx, l.c, []string{"a"}, int64(d/time.Millisecond))
	touch.Run(ctx, l.c, []string{"a"}, d/unit)
	touch.Run(ctx, l.c, []string{"a"}, pages.Milliseconds(d))
	l.c.Eval(ctx, keep, keys, whole, "true")
	l.c.Eval(ctx, keep, keys, int(d.Seconds()), "true")
	l.c.Eval(ctx, keep, keys, math.Round(d.Seconds()), "true")
	l.c.Eval(ctx, keep, keys, time.Minute.Seconds(), "true")
	l.c.Eval(ctx, keep, keys, 60.0, "true")
	l.c.Eval(ctx, `if ARGV[1] == '1' then redis.call('del', KEYS[1], KEYS[2]) end return 1`, keys, both)
	l.c.Eval(ctx, `if ARGV[1] == 'true' or ARGV[1] == '1' then redis.call('del', KEYS[1], KEYS[2]) end return 1`, keys, both)
	l.c.Eval(ctx, `return redis.call('sadd', KEYS[1], unpack(ARGV, 1, 9))`, keys, ids)
	l.c.Eval(ctx, `return redis.call('set', KEYS[1], ARGV[1], 'EX', ARGV[2])`, keys, body, 9)
	l.c.Eval(ctx, `return redis.call('hset', KEYS[1], 'life', ARGV[1], 'part', ARGV[2])`, keys, d, d.Seconds())
	l.c.Eval(ctx, `return redis.call('pexpire', KEYS[1], math.ceil(tonumber(ARGV[1]) / 1000000))`, keys, d)
}

var next = redis.NewScript(`return redis.call('rpop', KEYS[1])`)

func (l lease) next(ctx context.Context) (string, error) {
	id, err := next.Run(ctx, l.c, []string{"a"}).Text()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	if err := next.EvalSha(ctx, l.c, []string{"a"}).Err(); redis.HasErrorPrefix(err, "NOSCRIPT") {
		return "", err
	}
	return id, err
}

// flat makes one list of all arguments, in whole seconds.
func flat(ctx context.Context, c redis.Scripter, script *redis.Script, keys []string, args ...any) *redis.Cmd {
	var all []any
	for _, arg := range args {
		all = append(all, pages.Words(arg)...)
	}
	return script.Run(ctx, c, keys, all...)
}

func (l lease) flattened(ctx context.Context, d time.Duration, ids []string) {
	flat(ctx, l.c, touch, []string{"a"}, d.Seconds(), ids)
}

// again calls itself: where its number comes from is not known.
func again(ctx context.Context, c redis.Scripter, n int) error {
	if c.Eval(ctx, `return redis.call('incrby', KEYS[1], tonumber(ARGV[1]))`, []string{"a"}, n).Err() != nil {
		return again(ctx, c, n)
	}
	return nil
}
