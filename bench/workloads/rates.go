package workloads

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/bench/benchmark"
	"github.com/hasp-go/hasp/primitives"
)

// perHour is a rate that no turn uses up.
const perHour = 1_000_000

// errRefused is the error of a limiter that has refused all the same.
var errRefused = errors.New("refused")

// rates returns the workloads of limiters: a permit of one name, one of each of three names, which a MultiThrottle
// takes in one call, and others one after the other, and all permits of one name. But for the last, each goroutine has
// names of its own.
func rates() []benchmark.Workload {
	of := func(name string, names int) benchmark.Workload {
		return benchmark.Workload{
			Name: name, Sizes: []int{64, 1}, Unit: "goroutines", Short: 2,
			Subjects: on(func(s *setup) []benchmark.Subject { return s.limiters(names) }),
		}
	}
	return []benchmark.Workload{of("rate", 1), of("three_rates", 3), {
		Name: "rate_memory", Sizes: []int{10, 1_000, 100_000}, Unit: "permits", Short: 3, Rounds: 1, Weight: 50, Remote: true,
		Subjects: on((*setup).memory),
	}}
}

// limiter makes what takes permits.
type limiter struct {
	name string
	make Maker
}

// limiters returns a Throttle, or several as one, the bare driver, and others.
func (s *setup) limiters(names int) []benchmark.Subject {
	all := s.uncontended(throttles(names, perHour), bareAlone)
	client := s.client(false)
	for _, l := range s.others(names, perHour) {
		all = append(all, benchmark.Subject{Name: l.name, Turn: ForAWhile(s.Turn, s.make(client, l.make, l.name))})
	}
	return all
}

// others returns a RateLimiter and peers.
func (s *setup) others(names, perHour int) []limiter {
	all := []limiter{{"RateLimiter", func(ctx context.Context, c *primitives.Client, name string) (use, error) {
		return oneByOne(names, func(name string) use {
			l := c.NewRateLimiter(name, primitives.Rate{Permits: perHour, Interval: time.Hour},
				&primitives.RateLimiterOptions{Unavailable: primitives.Refuse()})
			return func(ctx context.Context) error {
				d, err := l.Allow(ctx, 1)
				return mustAllow(d.Allowed, err)
			}
		})(ctx, c, name)
	}}}
	for _, p := range s.peers(true) {
		allow := p.Limiter(s.Setup, perHour)
		all = append(all, limiter{p.Name, oneByOne(names, func(name string) use {
			return func(ctx context.Context) error {
				allowed, err := allow(ctx, name)
				return mustAllow(allowed, err)
			}
		})})
	}
	return all
}

// memory returns limiters of which a turn takes all permits of one name, and counts what the server keeps of it.
func (s *setup) memory() (all []benchmark.Subject) {
	client := s.client(false)
	for _, l := range append([]limiter{{"hasp", throttles(1, s.Size)}}, s.others(1, s.Size)...) {
		all = append(all, benchmark.Subject{Name: l.name, Turn: func(ctx context.Context) (benchmark.Outcome, error) {
			s.ask("FLUSHALL")
			take, err := l.make(ctx, client, "taken")
			s.Must(err)
			for i := 0; i < s.Size && err == nil; i++ { // One by one: throttled fails if callers of one name compete.
				err = take(ctx)
			}
			return benchmark.Outcome{Ops: s.Size, Other: map[string]float64{"B/name": s.kept()}}, err
		}})
	}
	return all
}

// kept returns how many bytes the server keeps.
func (s *setup) kept() (bytes float64) {
	keys, err := s.ask("KEYS", "*").Items()
	s.Must(err)
	for _, key := range keys {
		name, err := key.Text()
		s.Must(err)
		n, err := s.ask("MEMORY", "USAGE", name, "SAMPLES", "0").Int()
		s.Must(err)
		bytes += float64(n)
	}
	return bytes
}

// ask sends a command to the server, and returns the reply.
func (s *setup) ask(words ...string) backend.Reply {
	reply, err := s.Server.Do(words...)
	s.Must(err)
	return reply
}

// mustAllow returns err, or an error if a permit was refused.
func mustAllow(allowed bool, err error) error {
	if err == nil && !allowed {
		return errRefused
	}
	return err
}

// throttles makes a throttle, or several as one.
func throttles(n, perHour int) Maker {
	return func(_ context.Context, c *primitives.Client, name string) (use, error) {
		var takes []primitives.Take
		var one *primitives.Throttle
		for i := range n {
			one = c.NewThrottle(fmt.Sprint(name, ":", i), primitives.Limit{Permits: perHour, Interval: time.Hour},
				&primitives.ThrottleOptions{Unavailable: primitives.Refuse()})
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
