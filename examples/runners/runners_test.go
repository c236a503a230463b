package runners_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	redigo "github.com/gomodule/redigo/redis"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/examples/runners"
)

// byHand is what the generated function sends, in short.
const byHand = `local before = redis.call('get', KEYS[1])
return {1, redis.call('incrby', KEYS[1], ARGV[1]), before}`

func three[T any](values []T, err error) error {
	if err == nil && len(values) != 3 {
		err = fmt.Errorf("%d values", len(values))
	}
	return err
}

// check calls the generated function in all the ways that a reply may have.
func check(t *testing.T, client *redis.Client, runner backend.ScriptRunner, key string) {
	t.Helper()
	require.NoError(t, client.ScriptFlush(t.Context()).Err())
	first, err := runners.Count(t.Context(), runner, key, 2, 3)
	require.NoError(t, err)
	require.Equal(t, runners.CountResult{Counted: true, Total: 2}, first)
	second, err := runners.Count(t.Context(), runner, key, 2, 3)
	require.NoError(t, err)
	require.Equal(t, runners.CountResult{Total: 2, Note: "2", NoteOK: true}, second)
	_, err = runners.Count(t.Context(), runner, key, 4, 3)
	require.ErrorIs(t, err, backend.ScriptError("FULL"))
	require.NoError(t, client.LPush(t.Context(), key+":list", 1).Err())
	_, err = runners.Count(t.Context(), runner, key+":list", 1, 3)
	require.ErrorIs(t, err, backend.ScriptError("WRONGTYPE"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = runners.Count(ctx, runner, key, 1, 3)
	require.ErrorIs(t, err, context.Canceled)
}

// TestRunners calls a generated function by each runner, against the same call by hand. Not parallel: it counts the
// allocations of the process.
func TestRunners(t *testing.T) {
	ctx := t.Context()
	addr := servers.Start(t, servers.Redis, nil).Addr()
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	pool := &redigo.Pool{MaxIdle: 1, DialContext: func(ctx context.Context) (redigo.Conn, error) {
		return redigo.DialContext(ctx, "tcp", addr)
	}}
	t.Cleanup(func() { require.NoError(t, pool.Close()) })
	fast, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true})
	require.NoError(t, err)
	t.Cleanup(fast.Close)
	sha := client.ScriptLoad(ctx, byHand).Val()
	for name, c := range map[string]struct {
		runner backend.ScriptRunner
		byHand func(key string, by, most int64) error
		more   float64 // allocations
	}{
		"goredis": {runners.GoRedis{Client: client}, func(key string, by, most int64) error {
			values, err := client.EvalSha(ctx, sha, []string{key}, by, most).Slice()
			return three(values, err)
		}, 3},
		"redigo": {runners.Redigo{Pool: pool}, func(key string, by, most int64) error {
			conn := pool.Get()
			defer conn.Close()
			values, err := redigo.Values(redigo.DoContext(conn, ctx, "EVALSHA", sha, 1, key, by, most))
			if err = three(values, err); err == nil {
				_, err = redigo.String(values[2], nil)
			}
			return err
		}, 3},
		"rueidis": {runners.Rueidis{Client: fast}, func(key string, by, most int64) error {
			eval := fast.B().Evalsha().Sha1(sha).Numkeys(1).Key(key).Arg(strconv.FormatInt(by, 10), strconv.FormatInt(most, 10)).Build()
			values, err := fast.Do(ctx, eval).ToArray()
			return three(values, err)
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, client, c.runner, name)
			require.NoError(t, client.ScriptLoad(ctx, byHand).Err())
			require.NoError(t, client.Set(ctx, name, 1000, 0).Err())
			byHand := testing.AllocsPerRun(200, func() { err = c.byHand(name, 1, 1_000_000) })
			require.NoError(t, err)
			generated := testing.AllocsPerRun(200, func() { _, err = runners.Count(ctx, c.runner, name, 1, 1_000_000) })
			require.NoError(t, err)
			t.Logf("allocations: %v generated, %v by hand", generated, byHand)
			require.LessOrEqual(t, generated, byHand+c.more)
		})
	}
}
