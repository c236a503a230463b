package runners

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/gomodule/redigo/redis"

	"github.com/hasp-go/hasp/backend"
)

// Redigo runs scripts on a pool of redigo's connections to one server.
type Redigo struct{ Pool *redis.Pool }

// hashes has the hash of each script as redigo takes words, which is an allocation.
var hashes sync.Map // of *backend.Script

// Run implements [backend.ScriptRunner].
func (r Redigo) Run(ctx context.Context, script *backend.Script, keys, args []string) (backend.Reply, error) {
	if err := ctx.Err(); err != nil { // An idle connection would still send the script.
		return backend.Reply{}, err
	}
	conn, err := r.Pool.GetContext(ctx)
	if err != nil {
		return backend.Reply{}, err
	}
	defer conn.Close()
	hash, known := hashes.Load(script)
	if !known {
		hash, _ = hashes.LoadOrStore(script, script.SHA1)
	}
	words := append(make([]any, 0, 2+len(keys)+len(args)), hash, len(keys))
	for _, list := range [][]string{keys, args} {
		for _, word := range list {
			words = append(words, word)
		}
	}
	value, err := redis.DoContext(conn, ctx, "EVALSHA", words...)
	if err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT ") {
		if _, err = redis.DoContext(conn, ctx, "SCRIPT", "LOAD", script.Source); err == nil {
			value, err = redis.DoContext(conn, ctx, "EVALSHA", words...)
		}
	}
	switch {
	case err == nil:
		return redigoReply(value)
	case errors.As(err, new(redis.Error)):
		return backend.Reply{}, backend.ParseServerError(err.Error())
	}
	return backend.Reply{}, backend.Indeterminate(err)
}

func redigoReply(value any) (backend.Reply, error) {
	switch v := value.(type) {
	case nil:
		return backend.Reply{}, nil
	case int64:
		return backend.IntegerReply(v), nil
	case string:
		return backend.StringReply(v), nil
	case []byte:
		return backend.StringReply(string(v)), nil
	case []any:
		items := make([]backend.Reply, len(v))
		var err error
		for i := 0; i < len(v) && err == nil; i++ {
			items[i], err = redigoReply(v[i])
		}
		return backend.ArrayReply(items), err
	}
	return backend.Reply{}, fmt.Errorf("%w: %T", backend.ErrReply, value)
}
