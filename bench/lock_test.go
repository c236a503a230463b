package bench_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

const (
	goroutines = 64
	pairs      = 300 // of each goroutine in each turn
	rounds     = 7   // of both turns, after one that warms up
)

// BenchmarkLockPair compares an uncontended Lock and Unlock with the two bare EVALSHAs of the same
// scripts on the same client, 64 goroutines side by side. It reports
//
//   - ratio: the pairs per second of Lock and Unlock over those of the bare commands, the median
//     of the rounds; higher is better, 1 is the limit
//   - allocs-over: allocations of a pair above those of the bare commands
func BenchmarkLockPair(b *testing.B) {
	server := servers.Start(b, servers.Redis, nil)
	conn, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}})
	require.NoError(b, err)
	defer conn.Close()
	adapter, err := rueidisbackend.New(conn, nil)
	require.NoError(b, err)
	defer func() { require.NoError(b, adapter.Close()) }()
	recorded := &recorder{Backend: adapter}
	sends := recordPair(b, recorded)
	client, err := primitives.New(adapter, nil)
	require.NoError(b, err)
	defer func() { require.NoError(b, client.Close(b.Context())) }()

	locked := func(ctx context.Context, name string) error { return lockPair(ctx, client, name) }
	bare := func(ctx context.Context, name string) error { return barePair(ctx, conn, sends, name) }
	for b.Loop() {
		compare(b, bare, locked)
	}
}

func compare(b *testing.B, bare, locked func(context.Context, string) error) {
	b.Helper()
	var ratios, over []float64
	var bareSpeed, lockedSpeed float64
	for round := range rounds + 1 {
		bareTurn, lockedTurn := run(b, bare), run(b, locked)
		if round == 0 {
			continue
		}
		ratios = append(ratios, lockedTurn.speed/bareTurn.speed)
		over = append(over, lockedTurn.allocs-bareTurn.allocs)
		bareSpeed, lockedSpeed = max(bareSpeed, bareTurn.speed), max(lockedSpeed, lockedTurn.speed)
	}
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(median(over), "allocs-over")
	b.ReportMetric(bareSpeed, "bare-pairs/s")
	b.ReportMetric(lockedSpeed, "lock-pairs/s")
}

// turn is what one side did in one round.
type turn struct {
	speed  float64 // pairs per second
	allocs float64 // per pair
}

// run lets all goroutines do their pairs, each on a name of its own.
func run(b *testing.B, pair func(context.Context, string) error) turn {
	b.Helper()
	names := make([]string, goroutines)
	for i := range names {
		names[i] = fmt.Sprint("lock", i)
	}
	errs := make(chan error, goroutines)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() {
			for range pairs {
				if err := pair(b.Context(), name); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	close(errs)
	require.NoError(b, <-errs)
	return turn{
		speed:  goroutines * pairs / took.Seconds(),
		allocs: float64(after.Mallocs-before.Mallocs) / (goroutines * pairs),
	}
}

func lockPair(ctx context.Context, client *primitives.Client, name string) error {
	lease, err := client.NewLock(name, nil).Lock(ctx)
	if err != nil {
		return err
	}
	return lease.Unlock(ctx)
}

// barePair sends what a Lock and an Unlock send, by the driver alone.
func barePair(
	ctx context.Context, conn rueidis.Client, sends []backend.Call, name string,
) error {
	keys := [][]string{{name, "redisson_lock_token:{" + name + "}"}, {name}}
	for i, call := range sends {
		cmd := conn.B().Evalsha().Sha1(call.Script.SHA1).Numkeys(int64(len(keys[i]))).
			Key(keys[i]...).Arg(call.Args...).Build()
		if err := conn.Do(ctx, cmd).Error(); err != nil && !rueidis.IsRedisNil(err) {
			return err
		}
	}
	return nil
}

// recorder notes the scripts that run, with their arguments.
type recorder struct {
	backend.Backend
	mu    sync.Mutex
	calls []backend.Call
}

func (r *recorder) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	r.mu.Lock()
	r.calls = append(r.calls, backend.Call{Script: script, Keys: keys, Args: slices.Clone(args)})
	r.mu.Unlock()
	return r.Backend.Run(ctx, script, keys, args)
}

// recordPair returns the two calls that a Lock and an Unlock make.
func recordPair(b *testing.B, r *recorder) []backend.Call {
	b.Helper()
	client, err := primitives.New(r, nil)
	require.NoError(b, err)
	require.NoError(b, lockPair(b.Context(), client, "recorded"))
	require.NoError(b, client.Close(b.Context()))
	require.Len(b, r.calls, 2)
	return r.calls
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
