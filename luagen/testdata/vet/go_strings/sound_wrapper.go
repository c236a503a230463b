package scripts

import (
	"context"

	"example.com/pages/template"
	"github.com/redis/go-redis/v9"
)

// wrapper has a client. Its callers pass the scripts.
type wrapper struct{ c *redis.Client }

func (w wrapper) Eval(ctx context.Context, script string, keys []string) *redis.Cmd {
	return w.c.Eval(ctx, script, keys)
}

func (w wrapper) ScriptLoad(ctx context.Context, script string) string {
	return w.c.ScriptLoad(ctx, script).Val()
}

func page(script string) { template.NewScript(script) }
