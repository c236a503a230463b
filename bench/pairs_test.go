package bench_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
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
	calls      = 300 // of each goroutine in each turn
	rounds     = 7   // of both turns, after one that warms up
)

// Each benchmark compares calls of a primitive with the bare commands that they come to, on the same
// client, uncontended, 64 goroutines side by side. It reports
//
//   - ratio: the calls per second of the primitive over those of the bare commands, the median of
//     the rounds; higher is better, 1 is the limit
//   - allocs-over: allocations of a call above those of the bare commands

// BenchmarkLockPair is Lock and Unlock.
func BenchmarkLockPair(b *testing.B) {
	against(b, func(ctx context.Context, c *primitives.Client, name string) error {
		lease, err := c.NewLock(name, nil).Lock(ctx)
		if err != nil {
			return err
		}
		return lease.Unlock(ctx)
	}, nil)
}

// BenchmarkSemaphorePair is Acquire and Release of one permit.
func BenchmarkSemaphorePair(b *testing.B) {
	against(b, func(ctx context.Context, c *primitives.Client, name string) error {
		s := c.NewSemaphore(name, nil)
		if err := s.Acquire(ctx, 1); err != nil {
			return err
		}
		return s.Release(ctx, 1)
	}, func(ctx context.Context, c *primitives.Client, name string) error {
		_, err := c.NewSemaphore(name, nil).TrySetPermits(ctx, 1)
		return err
	})
}

// BenchmarkAtomicLongAdd is Add.
func BenchmarkAtomicLongAdd(b *testing.B) {
	against(b, func(ctx context.Context, c *primitives.Client, name string) error {
		_, err := c.NewAtomicLong(name).Add(ctx, 1)
		return err
	}, nil)
}

// use is one call, or a few, on the object called name.
type use func(ctx context.Context, c *primitives.Client, name string) error

// against compares call with its bare commands, on objects that prepare has readied; nil: nothing is
// to be done.
func against(b *testing.B, call, prepare use) {
	b.Helper()
	server := servers.Start(b, servers.Redis, nil)
	conn, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}})
	require.NoError(b, err)
	defer conn.Close()
	adapter, err := rueidisbackend.New(conn, nil)
	require.NoError(b, err)
	defer func() { require.NoError(b, adapter.Close()) }()
	recorded := &recorder{Backend: adapter}
	sends := record(b, recorded, call, prepare)
	client, err := primitives.New(adapter, nil)
	require.NoError(b, err)
	defer func() { require.NoError(b, client.Close(b.Context())) }()
	for i := range goroutines {
		if prepare != nil {
			require.NoError(b, prepare(b.Context(), client, object(i)))
		}
	}
	ours := func(ctx context.Context, name string) error { return call(ctx, client, name) }
	bare := func(ctx context.Context, name string) error { return replay(ctx, conn, sends, name) }
	for b.Loop() {
		compare(b, bare, ours)
	}
}

// object returns the name of a goroutine's object.
func object(i int) string { return fmt.Sprint("object", i) }

func compare(b *testing.B, bare, ours func(context.Context, string) error) {
	b.Helper()
	var ratios, over []float64
	var bareSpeed, ourSpeed float64
	for round := range rounds + 1 {
		bareTurn, ourTurn := run(b, bare), run(b, ours)
		if round == 0 {
			continue
		}
		ratios = append(ratios, ourTurn.speed/bareTurn.speed)
		over = append(over, ourTurn.allocs-bareTurn.allocs)
		bareSpeed, ourSpeed = max(bareSpeed, bareTurn.speed), max(ourSpeed, ourTurn.speed)
	}
	b.ReportMetric(median(ratios), "ratio")
	b.ReportMetric(median(over), "allocs-over")
	b.ReportMetric(bareSpeed, "bare/s")
	b.ReportMetric(ourSpeed, "calls/s")
}

// turn is what one side did in one round.
type turn struct {
	speed  float64 // calls per second
	allocs float64 // per call
}

// run lets all goroutines make their calls, each on a name of its own.
func run(b *testing.B, call func(context.Context, string) error) turn {
	b.Helper()
	names := make([]string, goroutines)
	for i := range names {
		names[i] = object(i)
	}
	errs := make(chan error, goroutines)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	var all sync.WaitGroup
	for _, name := range names {
		all.Go(func() {
			for range calls {
				if err := call(b.Context(), name); err != nil {
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
		speed:  goroutines * calls / took.Seconds(),
		allocs: float64(after.Mallocs-before.Mallocs) / (goroutines * calls),
	}
}

// recordedName is the object that the bare commands were recorded on.
const recordedName = "recorded"

// replay sends what a call sends, by the driver alone, for another object.
func replay(ctx context.Context, conn rueidis.Client, sends []backend.Call, name string) error {
	for _, call := range sends {
		words := []string{call.Script.Command}
		if call.Script.Command == "" {
			words = []string{"EVALSHA", call.Script.SHA1, strconv.Itoa(len(call.Keys))}
		}
		cmd := conn.B().Arbitrary(words...)
		for _, key := range call.Keys {
			cmd = cmd.Keys(strings.Replace(key, recordedName, name, 1))
		}
		if err := conn.Do(ctx, cmd.Args(call.Args...).Build()).Error(); err != nil &&
			!rueidis.IsRedisNil(err) {
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

// record returns the commands that a call comes to.
func record(b *testing.B, r *recorder, call, prepare use) []backend.Call {
	b.Helper()
	client, err := primitives.New(r, nil)
	require.NoError(b, err)
	if prepare != nil {
		require.NoError(b, prepare(b.Context(), client, recordedName))
	}
	r.calls = nil
	require.NoError(b, call(b.Context(), client, recordedName))
	require.NoError(b, client.Close(b.Context()))
	require.NotEmpty(b, r.calls)
	return r.calls
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
