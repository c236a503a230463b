package args

import (
	"context"
	"time"
)

func (l lease) inOrder(ctx context.Context, limit int, window time.Duration, worker string, ids []string) {
	allow.Run(ctx, l.c, []string{"a"}, limit, window.Milliseconds())
	take.Run(ctx, l.c, []string{"{a}q", "{a}w"}, worker, window.Milliseconds())
	args := []any{limit}
	for _, id := range ids {
		args = append(args, id)
	}
	allow.Run(ctx, l.c, []string{"a"}, args...)
}
