package varied

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

const most = 5

type limiter struct {
	c      *redis.Client
	prefix string
	take   *redis.Script
}

// One for each limiter.
func newLimiter(c *redis.Client, limit int) *limiter {
	return &limiter{c: c, take: redis.NewScript(fmt.Sprintf(`if redis.call('incr', KEYS[1]) > %d then return 0 end return 1`, limit))}
}

// Of constants, of a field, and of what all callers write out.
func (l *limiter) sound(ctx context.Context, user string) error {
	if err := l.c.Eval(ctx, fmt.Sprintf(`return redis.call('hincrby', KEYS[1], 'n', %d)`, most), []string{user}).Err(); err != nil {
		return err
	}
	if err := l.c.Eval(ctx, fmt.Sprintf(`return redis.call('hincrby', KEYS[1], '%s', 1)`, l.prefix), []string{user}).Err(); err != nil {
		return err
	}
	if err := l.push(ctx, "lpush", user); err != nil {
		return err
	}
	return l.push(ctx, "rpush", user)
}

func (l *limiter) push(ctx context.Context, command, user string) error {
	return l.c.Eval(ctx, fmt.Sprintf(`return redis.call('%s', KEYS[1], ARGV[1])`, command), []string{user}, 1).Err()
}

// The pieces of a text are no scripts.
func (l *limiter) built(ctx context.Context, user string) error {
	var b strings.Builder
	b.WriteString("local n = redis.call('incr', KEYS[1])\n")
	b.WriteString("return n\n")
	return l.c.Eval(ctx, b.String(), []string{user}).Err()
}
