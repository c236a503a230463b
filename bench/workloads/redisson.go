package workloads

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/hasp-go/hasp/bench/benchmark"
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
	client := redisson.Start(s.Scope, false, s.Addr)
	contest := func(ctx context.Context, lasts time.Duration) (m contested, err error) {
		method := map[bool]string{true: "measure.own", false: "measure.shared"}[own]
		text, err := client.Do(ctx, method, "redisson", s.Size, lasts.Milliseconds(), stuckAfter.Milliseconds())
		if err == nil && json.Unmarshal([]byte(text), &m) != nil { // The answer is an exception.
			err = fmt.Errorf("%s: %s", method, text)
		}
		return m, err
	}
	_, err := contest(context.Background(), warmUp*s.Turn)
	s.Must(err)
	return []benchmark.Subject{{Name: benchmark.Redisson, Turn: func(ctx context.Context) (benchmark.Outcome, error) {
		m, err := contest(ctx, lasts)
		o := benchmark.Outcome{Ops: m.Ops, Took: m.Took, Elsewhere: true, Processor: m.Processor}
		if !own { // The others of a pair note no more than that.
			o.Waits, o.Served = m.Waits, []int{m.Least, m.Most}
			o.Other = map[string]float64{"stuck": float64(m.Stuck)}
		}
		return o, err
	}}}
}

// contested is what threads in the JVM came to that lock and unlock for a while.
type contested struct {
	Ops         int             // times that a thread had a lock
	Took        time.Duration   // until the last thread had ended
	Processor   time.Duration   // how long the JVM used processors, in steps of 10 ms on Linux
	Least, Most int             // times that one thread had the lock while the contest lasted
	Stuck       int             // threads that gave up
	Waits       []time.Duration // the percentiles from 0 to 100 of the waits for a lock; none, if nobody had it
}
