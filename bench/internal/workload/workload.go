// Package workload has what is measured: each workload opens subjects that do the same work.
package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/bench/internal/drivers"
	"github.com/hasp-go/hasp/bench/internal/measure"
	"github.com/hasp-go/hasp/bench/internal/peers"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// Workload is something to measure.
type Workload struct {
	Name string

	// Sizes are of what a run has: goroutines, clients, permits, waiters or leases. The first Short of them are
	// those of a short run.
	Sizes []int
	Unit  string
	Short int

	// Rounds is how many rounds are enough, at most, as for what takes long; 0: as many as are asked for.
	Rounds int

	// Remote says that it is about the server, so that it needs one.
	Remote bool

	// Unlinked says that a delayed link changes nothing of what is measured, and is left out.
	Unlinked bool

	// Redisson says that a Redisson client may take part.
	Redisson bool

	// Subjects opens those that take turns. They end with the setup.
	Subjects func(s *Setup) []measure.Subject

	// Weight is how long a turn of a subject takes, in turns of the usual length; 0: one.
	Weight float64
}

// All returns the workloads.
func All() []Workload {
	return slices.Concat(pairs(), contended(), waiting(), []Workload{scripts(), leases(), overload()})
}

// Setup is what the subjects of a group share.
type Setup struct {
	*measure.Scope
	Driver string
	Server *servers.Server // nil: there is none
	Place  drivers.Place
	Size   int
	Turn   time.Duration // how long a turn lasts, where it may last for any time
	Peers  []string      // which may take part
}

// peers returns the peers that take part: all, or those that wait for a lock that is held.
func (s *Setup) peers(waiting bool) []peers.Peer {
	return slices.DeleteFunc(peers.Of(s.Driver), func(p peers.Peer) bool {
		return waiting && !p.Waits || !slices.Contains(s.Peers, p.Name)
	})
}

// client opens a client of this library over a driver's.
func (s *Setup) client(many bool) *primitives.Client {
	return s.clientOn(drivers.Open(s.Scope, s.Driver, s.Place, many).Backend)
}

func (s *Setup) clientOn(b backend.Backend) *primitives.Client {
	client, err := primitives.New(b, nil)
	s.Must(err)
	s.Close(func() error { return client.Close(context.Background()) })
	return client
}

// use is one operation.
type use func(ctx context.Context) error

// forAWhile is a turn in which each of the uses is called again and again, side by side, and once at least. A use
// that is stuck is given up and counted.
func forAWhile(lasts time.Duration, uses []use) measure.Turn {
	return func(ctx context.Context) (measure.Outcome, error) {
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
		return measure.Outcome{
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
