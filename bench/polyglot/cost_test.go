//go:build unix

package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/conformance/servers"
)

const (
	rounds = 15
	pairs  = 1000 // in a round, over as many names as fit the processor's caches
	names  = 100
)

// TestPairCosts compares what an acquire and its release cost the server's main thread, with the commands that each
// library sends, pipelined. It writes a row for each server of the table that docs/other-languages.md has.
func TestPairCosts(t *testing.T) {
	if os.Getenv("HASP_POLYGLOT_COST") == "" {
		t.Skip("HASP_POLYGLOT_COST is not set: another process would disturb it")
	}
	for _, kind := range []servers.Kind{servers.Redis, servers.Valkey} {
		t.Run(kind.String(), func(t *testing.T) {
			servers.Need(t, kind)
			_, version, _ := servers.Find(kind)
			cost := pairCosts(t, servers.Start(t, kind, nil))
			plain := cost["PlainLock"]
			t.Logf("%v %s: µs of a pair: %v", kind, version, cost)
			row := fmt.Sprintf("|%v %s|%.1f|%.2f|%.2f|%.2f|\n", kind, version, plain,
				plain/cost["redsync"], plain/cost["redislock"], plain/cost["Lock"])
			rewrite(t, "costs", withRow(t, row))
			require.LessOrEqual(t, plain/cost["redsync"], 1.3) // redsync publishes nothing
			require.LessOrEqual(t, plain/cost["redislock"], 0.9)
		})
	}
}

// withRow returns the table of costs with a new row of a server and its minor version.
func withRow(t *testing.T, row string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/costs.md")
	require.NoError(t, err)
	lines := slices.Collect(strings.Lines(string(text)))
	server := regexp.MustCompile(`^\|\w+ \d+\.\d+\.`).FindString(row)
	lines = slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, server) })
	rows := append(lines[2:], row)
	slices.SortFunc(rows, cmp.Compare)
	return strings.Join(slices.Concat(lines[:2], rows), "")
}

// pairCosts returns the microseconds of a pair of each lock: the least of all rounds.
func pairCosts(t *testing.T, server *servers.Server) map[string]float64 {
	t.Helper()
	conn := redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2})
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	sent := sentByPairs(t, server)
	least := map[string]float64{}
	for range rounds {
		for lock, commands := range sent {
			pipe := conn.Pipeline()
			for i := range pairs {
				for _, words := range commands {
					pipe.Do(t.Context(), renamed(words, strconv.Itoa(i%names))...)
				}
			}
			before := mainThread(t, server)
			replies, err := pipe.Exec(t.Context())
			if err != nil {
				require.ErrorIs(t, err, redis.Nil)
			}
			cost := (mainThread(t, server) - before) * 1e6 / pairs
			least[lock] = min(cost, cmp.Or(least[lock], math.Inf(1)))
			for i, reply := range replies { // All were granted, and released.
				require.False(t, reply.Err() != nil && i%len(commands) != 0, "%s: %v", lock, reply)
			}
		}
	}
	return least
}

// renamed returns words that were recorded, with another name.
func renamed(words []any, name string) []any {
	words = slices.Clone(words)
	for i := range words {
		words[i] = strings.ReplaceAll(fmt.Sprint(words[i]), recorded, name)
	}
	return words
}

// recorded is the name of which the commands are.
const recorded = "recorded-name"

// mainThread returns the processor time of the server's main thread, in seconds.
func mainThread(t *testing.T, server *servers.Server) (seconds float64) {
	t.Helper()
	info, err := server.Info("cpu")
	require.NoError(t, err)
	for _, field := range []string{"used_cpu_user_main_thread", "used_cpu_sys_main_thread"} {
		part, err := strconv.ParseFloat(info[field], 64)
		require.NoError(t, err)
		seconds += part
	}
	return seconds
}

// sentByPairs returns the commands that a pair of each lock sends, once its scripts are loaded and its rights are known.
func sentByPairs(t *testing.T, server *servers.Server) map[string][][]any {
	t.Helper()
	note := &recorder{}
	conn := redis.NewClient(&redis.Options{Addr: server.Addr()})
	conn.AddHook(note)
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	client, err := goredisbackend.NewClient(conn, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close(context.Background())) })
	rs, rl, nothing := redsync.New(goredis.NewPool(conn)), redislock.New(conn), func() {}
	all := map[string][][]any{}
	for lock, once := range map[string]func() error{
		"redsync":   func() error { return holdRedsync(t.Context(), rs, recorded, nothing, byDefault) },
		"redislock": func() error { return holdRedislock(t.Context(), rl, recorded, nothing, expiry) },
		"PlainLock": func() error { return holdPlainLock(t.Context(), client, recorded, nothing) },
		"Lock": func() error {
			lease, err := client.NewLock(recorded, nil).Lock(t.Context())
			if err != nil {
				return err
			}
			return lease.Release(t.Context())
		},
	} {
		require.NoError(t, once())
		note.take()
		require.NoError(t, once())
		all[lock] = note.take()
		require.Len(t, all[lock], 2, "%s: %v", lock, all[lock])
	}
	return all
}

// recorder is a hook of go-redis that notes the commands.
type recorder struct {
	mu  sync.Mutex
	all [][]any
}

func (r *recorder) take() (all [][]any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all, r.all = r.all, nil
	return all
}

func (r *recorder) note(commands ...redis.Cmder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range commands {
		r.all = append(r.all, c.Args())
	}
}

// DialHook, ProcessHook and ProcessPipelineHook implement [redis.Hook].
func (r *recorder) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (r *recorder) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, c redis.Cmder) error { r.note(c); return next(ctx, c) }
}

func (r *recorder) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, all []redis.Cmder) error { r.note(all...); return next(ctx, all) }
}
