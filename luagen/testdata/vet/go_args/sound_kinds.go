package args

import (
	"context"
	"time"
)

type tag string

func (t tag) MarshalBinary() ([]byte, error) { return []byte(t), nil }

type fields struct {
	ID string `redis:"id"`
}

func (l lease) fits(ctx context.Context, j job, s state, t tag, f fields, m map[string]any, window time.Duration) {
	l.c.Eval(ctx, push, []string{"a"}, j.ID)
	l.c.Eval(ctx, push, []string{"a"}, string(s))
	l.c.Eval(ctx, push, []string{"a"}, t)
	l.c.Eval(ctx, push, []string{"a"}, f)
	l.c.Eval(ctx, push, []string{"a"}, m)
	l.c.Eval(ctx, push, []string{"a"}, time.Now())
	l.c.Eval(ctx, slide, []string{"a"}, time.Now().UnixMilli(), window.Milliseconds(), "m")
	l.c.Eval(ctx, slide, []string{"a"}, now()*1000, window.Milliseconds(), "m")
	l.c.Eval(ctx, `return redis.call('expire', KEYS[1], math.ceil(ARGV[1] / 1000))`, []string{"a"}, window.Milliseconds())
}
