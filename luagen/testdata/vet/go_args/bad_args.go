package args

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

type lease struct {
	life time.Duration
	c    redis.Cmdable
}

var touch = redis.NewScript(`return redis.call('pexpire', KEYS[1], ARGV[1])`)

// A Duration is a parameter, a field, a local name, a number of nanoseconds.
func (l lease) touches(ctx context.Context, d time.Duration, n int) {
	half := d / 2
	touch.Run(ctx, l.c, []string{"a"}, d)
	touch.Run(ctx, l.c, []string{"a"}, l.life)
	touch.Run(ctx, l.c, []string{"a"}, half)
	touch.Run(ctx, l.c, []string{"a"}, time.Duration(n)*time.Second)
	touch.Run(ctx, l.c, []string{"a"}, int64(d))
	touch.Run(ctx, l.c, []string{"a"}, d.Nanoseconds())
	touch.Run(ctx, l.c, []string{"a"}, []any{time.Until(time.Now())}...)
}

const keep = `redis.call('expire', KEYS[1], ARGV[1])
if ARGV[2] == 'true' then redis.call('del', KEYS[2]) end
return 1`

func (l lease) keeps(ctx context.Context, d time.Duration, ids []string) {
	seconds, keys := d.Seconds(), []string{"{a}1", "{a}2"}
	l.c.Eval(ctx, keep, keys, d.Seconds(), "true")
	l.c.Eval(ctx, keep, keys, seconds, "true")
	l.c.Eval(ctx, keep, keys, 1.5, "true")
	l.c.Eval(ctx, keep, keys, (1500 * time.Millisecond).Seconds(), "true")
	l.c.Eval(ctx, keep, keys, d.Minutes(), "true")
	l.c.Eval(ctx, keep, keys, 10, "true", ids)
	touch.Run(ctx, l.c, keys, 10, []int64{7})
}
