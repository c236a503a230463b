package workloads

import (
	"context"
	"errors"
	"github.com/hasp-go/hasp/bench/benchmark"
	"sync"
	"sync/atomic"
	"time"
)

// overload returns the workload that asks for a share of what the machine can do, in percent, by calls that come
// whether or not those before them have ended.
func overload() benchmark.Workload {
	return benchmark.Workload{
		Name: "overload", Sizes: []int{50, 90, 120}, Unit: "percent", Short: 3, Rounds: 5, Weight: 20,
		Remote: true, Subjects: on(overloaded),
	}
}

const (
	deadline  = 100 * time.Millisecond // of a call
	closed    = 64                     // callers, by whom it is known what the machine can do
	ownObject = 1024                   // objects, so the calls do not wait for each other
)

// overloaded has lock pairs by this library and by the bare driver.
func overloaded(s *setup) []benchmark.Subject {
	driver := s.Open(false)
	client := s.NewClient(driver.Backend)
	sends := s.record(driver, lockPair, recorded)
	var ours, bare []use
	for i := range ownObject {
		call, err := lockPair(context.Background(), client, named("hasp", i))
		s.Must(err)
		ours, bare = append(ours, call), append(bare, replay(driver, sends, named("bare", i)))
	}
	return []benchmark.Subject{s.atRate("hasp", ours), s.atRate("bare", bare)}
}

// atRate finds what can be done by callers who wait for their answers. Its turn has calls come at a share of that
// rate, and looks how soon a call is answered in time after that.
func (s *setup) atRate(name string, uses []use) benchmark.Subject {
	lasts, rate := 10*s.Turn, 0.0
	return benchmark.Subject{
		Name: name,
		Before: func(ctx context.Context) error {
			can, err := ForAWhile(lasts, uses[:closed])(ctx)
			rate = float64(can.Ops) / can.Took.Seconds()
			return err
		},
		Turn: func(ctx context.Context) (benchmark.Outcome, error) {
			offered, granted := arrive(ctx, uses, rate*float64(s.Size)/100, lasts)
			recovers, err := recovered(ctx, uses[0])
			most := max(1, min(float64(offered), rate*lasts.Seconds()))
			return benchmark.Outcome{Ops: granted, Took: lasts, Other: map[string]float64{
				"granted-share": float64(granted) / most, "offered/s": float64(offered) / lasts.Seconds(),
				"recovers-ms": float64(recovers.Microseconds()) / 1e3,
			}}, err
		},
	}
}

// arrive begins calls at a rate for a while, and returns how many were begun, and ended well within their deadline.
func arrive(ctx context.Context, uses []use, rate float64, lasts time.Duration) (offered, granted int) {
	var good atomic.Int64
	var calls sync.WaitGroup
	start := time.Now()
	for passed := time.Duration(0); passed < lasts; passed = time.Since(start) {
		for due := int(rate * passed.Seconds()); offered < due; offered++ {
			call := uses[offered%len(uses)]
			calls.Go(func() {
				ctx, cancel := context.WithTimeout(ctx, deadline)
				defer cancel()
				if call(ctx) == nil && ctx.Err() == nil {
					good.Add(1)
				}
			})
		}
		time.Sleep(time.Millisecond) // The calls of a millisecond come at once.
	}
	calls.Wait()
	return offered, int(good.Load())
}

// recovered returns how long it takes until a call ends well within a tenth of the deadline.
func recovered(ctx context.Context, call use) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, stuckAfter)
	defer cancel()
	start := time.Now()
	for {
		begin := time.Now()
		if err := call(ctx); err == nil && time.Since(begin) < deadline/10 {
			return begin.Sub(start), nil
		} else if ctx.Err() != nil {
			return 0, errors.Join(errors.New("it does not recover"), err)
		}
	}
}
