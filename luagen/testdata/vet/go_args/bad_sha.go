package args

import "context"

func (l lease) sha(ctx context.Context) error {
	return touch.EvalSha(ctx, l.c, []string{"a"}, 10).Err()
}
