package workloads

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/bench/benchmark"
	"github.com/hasp-go/hasp/primitives"
)

// perHour is a rate that no turn uses up.
const perHour = 1_000_000

// errRefused is the error of a limiter that has refused all the same.
var errRefused = errors.New("refused")

// rates returns the workloads of limiters: a permit of one name, and one of each of three names, which a MultiThrottle
// takes in one call, and others one after the other. Each goroutine has names of its own.
func rates() []benchmark.Workload {
	of := func(name string, names int) benchmark.Workload {
		return benchmark.Workload{
			Name: name, Sizes: []int{64, 1}, Unit: "goroutines", Short: 2,
			Subjects: on(func(s *setup) []benchmark.Subject { return s.limiters(names) }),
		}
	}
	return []benchmark.Workload{of("rate", 1), of("three_rates", 3)}
}

// limiters returns a Throttle, or several as one, the bare driver, a RateLimiter and peers.
func (s *setup) limiters(names int) []benchmark.Subject {
	all := s.uncontended(throttles(names), bareAlone)
	client := s.NewClient(s.Open(false).Backend)
	all = append(all, benchmark.Subject{Name: "RateLimiter", Turn: ForAWhile(s.Turn, s.make(client, oneByOne(names, func(name string) use {
		l := client.NewRateLimiter(name, &primitives.RateLimiterOptions{
			Rate: primitives.Rate{Permits: perHour, Interval: time.Hour},
		})
		return func(ctx context.Context) error { return l.TryAcquire(ctx, 1) }
	}), "limiter"))})
	for _, p := range s.peers(true) {
		allow := p.Limiter(s.Setup, perHour)
		all = append(all, benchmark.Subject{Name: p.Name, Turn: ForAWhile(s.Turn, s.make(client, oneByOne(names, func(name string) use {
			return func(ctx context.Context) error {
				allowed, err := allow(ctx, name)
				return mustAllow(allowed, err)
			}
		}), p.Name))})
	}
	return all
}

// mustAllow returns err, or an error if a permit was refused.
func mustAllow(allowed bool, err error) error {
	if err == nil && !allowed {
		return errRefused
	}
	return err
}

// throttles makes a throttle, or several as one.
func throttles(n int) Maker {
	return func(_ context.Context, c *primitives.Client, name string) (use, error) {
		var takes []primitives.Take
		var one *primitives.Throttle
		for i := range n {
			one = c.NewThrottle(fmt.Sprint(name, ":", i), primitives.Limit{Permits: perHour, Interval: time.Hour},
				&primitives.ThrottleOptions{Unavailable: primitives.Refuse})
			takes = append(takes, one.Take(1))
		}
		if n == 1 {
			return func(ctx context.Context) error {
				d, err := one.Allow(ctx, 1)
				return mustAllow(d.Allowed, err)
			}, nil
		}
		all := primitives.NewMultiThrottle(nil, takes...)
		return func(ctx context.Context) error {
			d, err := all.Allow(ctx)
			return mustAllow(d.Allowed, err)
		}, nil
	}
}

// oneByOne makes limiters that a use asks one after the other.
func oneByOne(n int, limiter func(name string) use) Maker {
	return func(_ context.Context, _ *primitives.Client, name string) (use, error) {
		var each []use
		for i := range n {
			each = append(each, limiter(fmt.Sprint(name, ":", i)))
		}
		return func(ctx context.Context) error {
			for _, allow := range each {
				if err := allow(ctx); err != nil {
					return err
				}
			}
			return nil
		}, nil
	}
}
