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

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

const rounds = 80 // of two turns, after one that warms up

// widths are how many goroutines call side by side, and how many calls each makes in a turn.
var widths = []struct{ goroutines, calls int }{{64, 100}, {1, 1000}}

// Each benchmark compares calls of a primitive with the bare commands that they come to, on the same
// client of each driver, uncontended, each goroutine with an object of its own and a context that can
// be cancelled. It reports
//
//   - ratio: the calls per second of the primitive over those of the bare commands, the median of
//     the rounds; higher is better, 1 is the driver's own speed for a command at a time
//   - allocs-over: allocations of a call above those of the bare commands
//
// Above 1 the primitives send together what the bare commands send one by one.

// BenchmarkLockPair is Lock and Unlock, and so are those of the other locks.
func BenchmarkLockPair(b *testing.B) { againstAll(b, lockPair) }

func BenchmarkFencedLockPair(b *testing.B) { againstAll(b, fencedPair) }

func BenchmarkFairLockPair(b *testing.B) { againstAll(b, fairPair) }

func BenchmarkReadLockPair(b *testing.B) { againstAll(b, readPair) }

func BenchmarkWriteLockPair(b *testing.B) { againstAll(b, writePair) }

// BenchmarkSemaphorePair is Acquire and Release of one permit.
func BenchmarkSemaphorePair(b *testing.B) { againstAll(b, semaphorePair) }

// BenchmarkCountingSemaphorePair is Acquire and Release.
func BenchmarkCountingSemaphorePair(b *testing.B) { againstAll(b, countingPair(primitives.ByTime)) }

// BenchmarkCountingByArrivalPair is the same, with a queue in which nobody waits.
func BenchmarkCountingByArrivalPair(b *testing.B) { againstAll(b, countingPair(primitives.ByArrival)) }

// BenchmarkAtomicLongAdd is Add.
func BenchmarkAtomicLongAdd(b *testing.B) { againstAll(b, atomicLongAdd) }

func againstAll(b *testing.B, object maker) {
	b.Helper()
	for _, driver := range drivers {
		for _, width := range widths {
			b.Run(fmt.Sprint(driver.name, "/", width.goroutines), func(b *testing.B) {
				against(b, driver, object, width.goroutines, width.calls)
			})
		}
	}
}

// use is one call, or a few, on one object.
type use func(ctx context.Context) error

// maker makes an object called name and readies it.
type maker func(ctx context.Context, c *primitives.Client, name string) (use, error)

var (
	lockPair   = pairOf(func(c *primitives.Client, name string) primitives.Locker { return c.NewLock(name, nil) })
	fencedPair = pairOf(func(c *primitives.Client, name string) primitives.Locker { return c.NewFencedLock(name, nil) })
	fairPair   = pairOf(func(c *primitives.Client, name string) primitives.Locker { return c.NewFairLock(name, nil) })
	readPair   = pairOf(func(c *primitives.Client, name string) primitives.Locker {
		return c.NewReadWriteLock(name, nil).ReadLock()
	})
	writePair = pairOf(func(c *primitives.Client, name string) primitives.Locker {
		return c.NewReadWriteLock(name, nil).WriteLock()
	})
)

// pairOf makes the pair of Lock and Unlock of a lock.
func pairOf(lockOf func(c *primitives.Client, name string) primitives.Locker) maker {
	return func(_ context.Context, c *primitives.Client, name string) (use, error) {
		lock := lockOf(c, name)
		return func(ctx context.Context) error {
			lease, err := lock.Lock(ctx)
			if err != nil {
				return err
			}
			return lease.Unlock(ctx)
		}, nil
	}
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

func countingPair(order primitives.CountingOrder) maker {
	return func(_ context.Context, c *primitives.Client, name string) (use, error) {
		s := c.NewCountingSemaphore(name, 1, &primitives.CountingSemaphoreOptions{Order: order})
		return func(ctx context.Context) error {
			lease, err := s.Acquire(ctx)
			if err != nil {
				return err
			}
			return lease.Release(ctx)
		}, nil
	}
}

func atomicLongAdd(_ context.Context, c *primitives.Client, name string) (use, error) {
	long := c.NewAtomicLong(name)
	return func(ctx context.Context) error {
		_, err := long.Add(ctx, 1)
		return err
	}, nil
}

// against compares what is made with its bare commands.
func against(b *testing.B, driver driver, object maker, goroutines, calls int) {
	b.Helper()
	server := servers.Start(b, servers.Redis, nil)
	adapter, send := driver.open(b, server.Addr())
	sends := record(b, &recorder{Backend: adapter}, object)
	client, err := primitives.New(adapter, nil)
	require.NoError(b, err)
	defer func() { require.NoError(b, client.Close(b.Context())) }()
	bare, ours := make([]use, goroutines), make([]use, goroutines)
	for i := range goroutines {
		name := fmt.Sprint("object", i)
		bare[i] = replay(send, sends, name)
		ours[i], err = object(b.Context(), client, name)
		require.NoError(b, err)
	}
	for b.Loop() {
		compare(b, bare, ours, calls)
	}
}

func compare(b *testing.B, bare, ours []use, calls int) {
	b.Helper()
	var ratios, over []float64
	var bareSpeed, ourSpeed float64
	for round := range rounds + 1 {
		bareTurn, ourTurn := inTurns(b, bare, ours, calls, round)
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
func inTurns(b *testing.B, bare, ours []use, calls, round int) (bareTurn, ourTurn turn) {
	b.Helper()
	if round%2 == 0 {
		bareTurn = run(b, bare, calls)
		return bareTurn, run(b, ours, calls)
	}
	ourTurn = run(b, ours, calls)
	return run(b, bare, calls), ourTurn
}

// turn is what one side did in one round.
type turn struct {
	speed  float64 // calls per second
	allocs float64 // per call
}

// run lets a goroutine for each use make so many calls.
func run(b *testing.B, uses []use, calls int) turn {
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
func replay(send sender, sends []backend.Call, name string) use {
	commands := make([][]string, len(sends))
	for i, call := range sends {
		commands[i] = []string{call.Script.Command}
		if call.Script.Command == "" {
			commands[i] = []string{"EVALSHA", call.Script.SHA1, strconv.Itoa(len(call.Keys))}
		}
		commands[i] = slices.Concat(
			commands[i], renamed(call.Keys, name), renamed(call.Args, name))
	}
	return func(ctx context.Context) error {
		for _, words := range commands {
			if err := send(ctx, words); err != nil {
				return err
			}
		}
		return nil
	}
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
