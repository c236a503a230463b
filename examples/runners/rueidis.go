package runners

import (
	"context"

	"github.com/redis/rueidis"

	"github.com/hasp-go/hasp/backend"
)

// Rueidis runs scripts on a client of rueidis.
type Rueidis struct{ Client rueidis.Client }

// Run implements [backend.ScriptRunner].
func (r Rueidis) Run(ctx context.Context, script *backend.Script, keys, args []string) (backend.Reply, error) {
	send := func() rueidis.RedisResult {
		eval := r.Client.B().Evalsha().Sha1(script.SHA1).Numkeys(int64(len(keys)))
		return r.Client.Do(ctx, eval.Key(keys...).Arg(args...).Build())
	}
	result := send()
	if refused, ok := rueidis.IsRedisErr(result.Error()); ok && refused.IsNoScript() {
		for _, node := range r.Client.Nodes() {
			if err := node.Do(ctx, node.B().ScriptLoad().Script(script.Source).Build()).Error(); err != nil {
				return backend.Reply{}, err
			}
		}
		result = send()
	}
	message, err := result.ToMessage()
	refused, ok := rueidis.IsRedisErr(err)
	switch {
	case ok && !refused.IsNil():
		return backend.Reply{}, backend.ParseServerError(refused.Error())
	case err != nil && !ok:
		return backend.Reply{}, backend.Indeterminate(err)
	}
	return rueidisReply(message)
}

func rueidisReply(message rueidis.RedisMessage) (backend.Reply, error) {
	switch {
	case message.IsNil():
		return backend.Reply{}, nil
	case message.IsInt64():
		n, err := message.AsInt64()
		return backend.IntegerReply(n), err
	case message.IsArray():
		values, err := message.ToArray()
		items := make([]backend.Reply, len(values))
		for i := 0; i < len(values) && err == nil; i++ {
			items[i], err = rueidisReply(values[i])
		}
		return backend.ArrayReply(items), err
	}
	text, err := message.ToString()
	return backend.StringReply(text), err
}
