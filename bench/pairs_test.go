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
	calls      = 100 // of each goroutine in each turn
	rounds     = 80  // of two turns, after one that warms up
)

// Each benchmark compares calls of a primitive with the bare commands that they come to, on the same
// client, uncontended, 64 goroutines side by side, each with an object of its own. It reports
//
//   - ratio: the calls per second of the primitive over those of the bare commands, the median of
//     the rounds; higher is better, 1 is the limit
//   - allocs-over: allocations of a call above those of the bare commands

// BenchmarkLockPair is Lock and Unlock.
func BenchmarkLockPair(b *testing.B) { against(b, lockPair) }

// BenchmarkSemaphorePair is Acquire and Release of one permit.
func BenchmarkSemaphorePair(b *testing.B) { against(b, semaphorePair) }

// BenchmarkAtomicLongAdd is Add.
func BenchmarkAtomicLongAdd(b *testing.B) { against(b, atomicLongAdd) }

// use is one call, or a few, on one object.
type use func(ctx context.Context) error

// maker makes an object called name and readies it.
type maker func(ctx context.Context, c *primitives.Client, name string) (use, error)

func lockPair(_ context.Context, c *primitives.Client, name string) (use, error) {
	lock := c.NewLock(name, nil)
	return func(ctx context.Context) error {
		lease, err := lock.Lock(ctx)
		if err != nil {
			return err
		}
		return lease.Unlock(ctx)
	}, nil
}

func semaphorePair(ctx context.Context, c *primitives.Client, name string) (use, error) {
	s := c.NewSemaphore(name, nil)
	_, err := s.TrySetPermits(ctx, 1)
	return func(ctx context.Context) error {
		if err := s.Acquire(ctx, 1); err != nil {
			return err
		}
		return s.Release(ctx, 1)
	}, err
}

func atomicLongAdd(_ context.Context, c *primitives.Client, name string) (use, error) {
	long := c.NewAtomicLong(name)
	return func(ctx context.Context) error {
		_, err := long.Add(ctx, 1)
		return err
	}, nil
}

// against compares what is made with its bare commands.
func against(b *testing.B, object maker) {
	b.Helper()
	server := servers.Start(b, servers.Redis, nil)
	conn, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{server.Addr()}})
	require.NoError(b, err)
	defer conn.Close()
	adapter, err := rueidisbackend.New(conn, nil)
	require.NoError(b, err)
	defer func() { require.NoError(b, adapter.Close()) }()
	sends := record(b, &recorder{Backend: adapter}, object)
	client, err := primitives.New(adapter, nil)
	require.NoError(b, err)
	defer func() { require.NoError(b, client.Close(b.Context())) }()
	var bare, ours [goroutines]use
	for i := range goroutines {
		name := fmt.Sprint("object", i)
		bare[i] = replay(conn, sends, name)
		ours[i], err = object(b.Context(), client, name)
		require.NoError(b, err)
	}
	for b.Loop() {
		compare(b, bare[:], ours[:])
	}
}

func compare(b *testing.B, bare, ours []use) {
	b.Helper()
	var ratios, over []float64
	var bareSpeed, ourSpeed float64
	for round := range rounds + 1 {
		bareTurn, ourTurn := inTurns(b, bare, ours, round)
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

// inTurns runs both, each first in every other round.
func inTurns(b *testing.B, bare, ours []use, round int) (bareTurn, ourTurn turn) {
	b.Helper()
	if round%2 == 0 {
		bareTurn = run(b, bare)
		return bareTurn, run(b, ours)
	}
	ourTurn = run(b, ours)
	return run(b, bare), ourTurn
}

// turn is what one side did in one round.
type turn struct {
	speed  float64 // calls per second
	allocs float64 // per call
}

// run lets a goroutine for each use make its calls.
func run(b *testing.B, uses []use) turn {
	b.Helper()
	errs := make(chan error, len(uses))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	var all sync.WaitGroup
	for _, call := range uses {
		all.Go(func() {
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			for range calls {
				if err := call(ctx); err != nil {
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
	done := float64(len(uses) * calls)
	return turn{
		speed:  done / took.Seconds(),
		allocs: float64(after.Mallocs-before.Mallocs) / done,
	}
}

// recordedName is the object that the bare commands were recorded on.
const recordedName = "recorded"

// replay sends what a call sends, by the driver alone, for the object called name.
func replay(conn rueidis.Client, sends []backend.Call, name string) use {
	words := make([]backend.Call, len(sends))
	heads := make([][]string, len(sends))
	for i, call := range sends {
		heads[i] = []string{call.Script.Command}
		if call.Script.Command == "" {
			heads[i] = []string{"EVALSHA", call.Script.SHA1, strconv.Itoa(len(call.Keys))}
		}
		words[i] = backend.Call{Keys: renamed(call.Keys, name), Args: renamed(call.Args, name)}
	}
	return func(ctx context.Context) error {
		for i, head := range heads {
			cmd := conn.B().Arbitrary(head...).Keys(words[i].Keys...).Args(words[i].Args...).Build()
			if err := read(conn.Do(ctx, cmd)); err != nil {
				return err
			}
		}
		return nil
	}
}

// read reads a reply of integers, or of nil.
func read(result rueidis.RedisResult) error {
	message, err := result.ToMessage()
	switch {
	case rueidis.IsRedisNil(err):
		return nil
	case err == nil && message.IsArray():
		_, err = message.AsIntSlice()
	case err == nil:
		_, err = message.AsInt64()
	}
	return err
}

// renamed returns words that were recorded, for the object called name.
func renamed(words []string, name string) []string {
	words = slices.Clone(words)
	for i := range words {
		words[i] = strings.Replace(words[i], recordedName, name, 1)
	}
	return words
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

// record returns the commands that a use comes to.
func record(b *testing.B, r *recorder, object maker) []backend.Call {
	b.Helper()
	client, err := primitives.New(r, nil)
	require.NoError(b, err)
	call, err := object(b.Context(), client, recordedName)
	require.NoError(b, err)
	r.calls = nil
	require.NoError(b, call(b.Context()))
	require.NoError(b, client.Close(b.Context()))
	require.NotEmpty(b, r.calls)
	return r.calls
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
