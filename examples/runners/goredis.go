package runners

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/hasp-go/hasp/backend"
)

// GoRedis runs scripts on a client of go-redis. Its option MaxRetries must be -1, or a script may run twice.
type GoRedis struct{ Client redis.UniversalClient }

// Run implements [backend.ScriptRunner].
func (r GoRedis) Run(ctx context.Context, script *backend.Script, keys, args []string) (backend.Reply, error) {
	words := make([]any, 0, 3+len(keys)+len(args))
	words = append(words, "EVALSHA", script.SHA1, len(keys))
	for _, key := range keys {
		words = append(words, key)
	}
	for i := range args {
		words = append(words, &args[i]) // A pointer needs no allocation.
	}
	value, err := r.Client.Do(ctx, words...).Result()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		if err = r.Client.ScriptLoad(ctx, script.Source).Err(); err == nil {
			value, err = r.Client.Do(ctx, words...).Result()
		}
	}
	switch {
	case err == nil:
		return goRedisReply(value)
	case errors.Is(err, redis.Nil):
		return backend.Reply{}, nil
	case errors.As(err, new(redis.Error)):
		return backend.Reply{}, backend.ParseServerError(err.Error())
	}
	return backend.Reply{}, backend.Indeterminate(err)
}

func goRedisReply(value any) (backend.Reply, error) {
	switch v := value.(type) {
	case nil:
		return backend.Reply{}, nil
	case int64:
		return backend.IntegerReply(v), nil
	case string:
		return backend.StringReply(v), nil
	case []any:
		items := make([]backend.Reply, len(v))
		var err error
		for i := 0; i < len(v) && err == nil; i++ {
			items[i], err = goRedisReply(v[i])
		}
		return backend.ArrayReply(items), err
	}
	return backend.Reply{}, fmt.Errorf("%w: %T", backend.ErrReply, value)
}
