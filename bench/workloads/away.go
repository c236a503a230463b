package workloads

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hasp-go/hasp/bench/benchmark"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// away returns the workload of a service that asks a Throttle for each request while its server is killed or stopped for
// a while, and comes back.
func away() benchmark.Workload {
	return benchmark.Workload{
		Name: "away", Sizes: []int{64}, Unit: "callers", Short: 1, Rounds: 1, Weight: 140, Remote: true,
		Subjects: on((*setup).fallbacks),
	}
}

const (
	work     = 10 * time.Millisecond // of a request, besides its permit
	awayFor  = 50                    // turns
	besideIt = 10                    // turns before the fault, and turns after it
)

// fallbacks has a client for each choice of what a call does while its server is away.
func (s *setup) fallbacks() (all []benchmark.Subject) {
	server := s.Server
	s.Server = nil
	faults := map[string]outage{
		"killed":  {func() error { server.Kill(); return nil }, func() error { return server.Restart(servers.DropData) }},
		"stopped": {server.Pause, server.Resume},
	}
	for _, choice := range []struct {
		name string
		is   primitives.Fallback
	}{{"Refuse", primitives.Refuse()}, {"Admit", primitives.Admit()}, {"LocalShare", primitives.LocalShare(1)}} {
		throttle := s.client(false).NewThrottle(choice.name,
			primitives.Limit{Permits: perHour, Interval: time.Second}, &primitives.ThrottleOptions{Unavailable: choice.is})
		all = append(all, benchmark.Subject{Name: choice.name, Turn: func(ctx context.Context) (o benchmark.Outcome, err error) {
			o.Other = map[string]float64{}
			for fault, out := range faults {
				err = errors.Join(err, s.endure(ctx, throttle, out, fault, &o))
			}
			return o, err
		}})
	}
	return all
}

// outage begins and ends.
type outage struct{ begin, end func() error }

// endure serves requests before, while and after the server is away, and notes the ratios of their speeds.
func (s *setup) endure(ctx context.Context, t *primitives.Throttle, out outage, fault string, o *benchmark.Outcome) error {
	before := s.serve(ctx, t, besideIt)
	err := out.begin()
	while := s.serve(ctx, t, awayFor)
	err = errors.Join(err, out.end())
	after := s.serve(ctx, t, besideIt)
	o.Ops += before.ops + while.ops + after.ops
	o.Other["before-"+fault+"/s"], o.Other["before-"+fault+"-p50-us"] = before.speed, before.median
	for name, now := range map[string]service{fault: while, "after-" + fault: after} {
		o.Other[name+"/before"], o.Other[name+"-p50-us"] = now.speed/before.speed, now.median
	}
	o.Other[fault+"-allowed%"] = 100 * float64(while.allowed) / float64(while.ops)
	return err
}

// service is what callers have done for a while.
type service struct {
	ops, allowed  int
	speed, median float64 // requests a second, and microseconds until one knows whether it may be served
}

// serve has the callers make one request after the other for some turns.
func (s *setup) serve(ctx context.Context, t *primitives.Throttle, turns int) (all service) {
	begin, lasts := time.Now(), time.Duration(turns)*s.Turn
	waits, allowed := make([][]time.Duration, s.Size), make([]int, s.Size)
	var callers sync.WaitGroup
	for i := range s.Size {
		callers.Go(func() {
			for start := begin; start.Sub(begin) < lasts; start = time.Now() {
				d, err := t.Allow(ctx, 1)
				if waits[i] = append(waits[i], time.Since(start)); err == nil && d.Allowed {
					allowed[i]++
				}
				time.Sleep(work)
			}
		})
	}
	callers.Wait()
	each := slices.Sorted(slices.Values(slices.Concat(waits...)))
	for _, n := range allowed {
		all.allowed += n
	}
	all.ops, all.median = len(each), float64(each[len(each)/2].Microseconds())
	all.speed = float64(all.ops) / time.Since(begin).Seconds()
	return all
}
