package workloads

import (
	"context"
	"github.com/hasp-go/hasp/bench/benchmark"
	"slices"
	"time"

	"github.com/hasp-go/hasp/conformance/servers/redisson"
)

// warmUp is how many turns of the usual length a JVM runs before it is measured: it compiles what it runs often.
const warmUp = 30

// redisson returns the subject whose turns a Redisson client runs in a JVM: as many threads as the size says, which
// lock and unlock, each a lock of its own or all the same one. There is none if it does not take part, or there is
// no server.
func (s *setup) redisson(own bool, lasts time.Duration) []benchmark.Subject {
	if s.Server == nil || !slices.Contains(s.Peers, benchmark.Redisson) {
		return nil
	}
	contest := redisson.Contest{
		Name: "redisson", Threads: s.Size, Own: own, Lasts: warmUp * s.Turn, Patience: stuckAfter,
	}
	client := redisson.Start(s.Scope, false, s.Addr)
	_, err := client.Measure(context.Background(), contest)
	s.Must(err)
	contest.Lasts = lasts
	return []benchmark.Subject{{Name: benchmark.Redisson, Turn: func(ctx context.Context) (benchmark.Outcome, error) {
		m, err := client.Measure(ctx, contest)
		o := benchmark.Outcome{Ops: m.Ops, Took: m.Took, Elsewhere: true, Processor: m.Processor}
		if !own { // The others of a pair note no more than that.
			o.Waits, o.Served = m.Waits, []int{m.Least, m.Most}
			o.Other = map[string]float64{"stuck": float64(m.Stuck)}
		}
		return o, err
	}}}
}
