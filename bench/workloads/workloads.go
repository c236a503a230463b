// Package workloads has the workloads of this repository for package benchmark, and makes one of a function that uses
// a primitive.
package workloads

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/bench/benchmark"
	"github.com/hasp-go/hasp/primitives"
)

// All returns the workloads of this repository.
func All() []benchmark.Workload {
	return slices.Concat(pairs(), rates(), contended(), waiting(), []benchmark.Workload{scripts(), leases(), overload(), away()})
}

// setup has what several of the workloads do with one.
type setup struct{ *benchmark.Setup }

// on lets a function of such a setup be a workload's.
func on(subjects func(s *setup) []benchmark.Subject) func(s *benchmark.Setup) []benchmark.Subject {
	return func(s *benchmark.Setup) []benchmark.Subject { return subjects(&setup{s}) }
}

// peers returns the driver's peers that take part, with locks or with limiters.
func (s *setup) peers(limiters bool) []benchmark.Peer {
	return slices.DeleteFunc(slices.Clone(s.Driver.Peers), func(p benchmark.Peer) bool {
		return !slices.Contains(s.Setup.Peers, p.Name) || limiters != (p.Limiter != nil)
	})
}

// client opens a client of this library over a driver's.
func (s *setup) client(many bool) *primitives.Client { return s.NewClient(s.Open(many).Backend) }

// use is one operation.
type use = func(ctx context.Context) error

// ForAWhile is a turn in which each of the uses is called again and again, side by side, and once at least. It fails
// if one of them does. A use that has not ended 5 s after the time is over is cancelled, and counted as stuck.
func ForAWhile(lasts time.Duration, uses []func(context.Context) error) benchmark.Turn {
	return func(ctx context.Context) (benchmark.Outcome, error) {
		var over atomic.Bool
		defer time.AfterFunc(lasts, func() { over.Store(true) }).Stop()
		ctx, cancel := context.WithCancelCause(ctx) // With a deadline, drivers would do more.
		defer cancel(nil)
		defer time.AfterFunc(lasts+stuckAfter, func() { cancel(errStuck) }).Stop()
		var stuck atomic.Int64
		start := time.Now()
		ops, err := sideBySide(ctx, uses, func(ctx context.Context, _ int, call use) (int, error) {
			ops, err := again(ctx, call, &over)
			if err != nil && errors.Is(context.Cause(ctx), errStuck) {
				stuck.Add(1)
				return ops, nil
			}
			return ops, err
		})
		return benchmark.Outcome{
			Ops: ops, Took: time.Since(start), Other: map[string]float64{"stuck": float64(stuck.Load())},
		}, err
	}
}

// errStuck is why a use that did not end was given up.
var errStuck = errors.New("stuck")

// again calls until it is over, or one call fails, and returns how many ended well.
func again(ctx context.Context, call use, over *atomic.Bool) (ops int, err error) {
	for {
		if err = call(ctx); err != nil {
			return ops, err
		}
		if ops++; over.Load() {
			return ops, nil
		}
	}
}

// sideBySide calls f for each of the uses in a goroutine of its own, with a context that can be cancelled, and
// returns the sum and the first error.
func sideBySide(
	ctx context.Context, uses []use, f func(ctx context.Context, i int, call use) (int, error),
) (int, error) {
	var sum atomic.Int64
	errs := make(chan error, len(uses))
	var all sync.WaitGroup
	for i, call := range uses {
		all.Go(func() {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			n, err := f(ctx, i, call)
			sum.Add(int64(n))
			if err != nil {
				errs <- err
			}
		})
	}
	all.Wait()
	close(errs)
	return int(sum.Load()), <-errs
}

// named returns the name of the i-th object of a kind.
func named(kind string, i int) string { return kind + strconv.Itoa(i) }

// percent returns 0.1 as "10".
func percent(share float64) string { return fmt.Sprintf("%.0f", 100*share) }
