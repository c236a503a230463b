package workloads

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/hasp-go/hasp/bench/benchmark"
	"github.com/hasp-go/hasp/primitives"
)

// leases returns the workload that holds locks of one client, and does nothing: their watchdog works.
func leases() benchmark.Workload {
	return benchmark.Workload{
		Name: "leases", Sizes: []int{10_000, 100_000, 1_000_000}, Unit: "leases", Short: 3, Rounds: 1,
		Weight: 100, Remote: true, Subjects: on(func(s *setup) []benchmark.Subject { return s.hold(renewalRound) }),
	}
}

// renewalRound is how long it takes until each lease was renewed once, by the default of the watchdog.
const renewalRound = 10 * time.Second

// side is how many goroutines acquire the leases.
const side = 256

// hold acquires the leases. Its turn measures for that time what they cost.
func (s *setup) hold(lasts time.Duration) []benchmark.Subject {
	client := s.client(false)
	held := make([]*primitives.Lease, s.Size)
	before := heap()
	_, err := sideBySide(context.Background(), make([]use, side), func(ctx context.Context, i int, _ use) (n int, err error) {
		for n = i; n < s.Size && err == nil; n += side {
			held[n], err = client.NewLock(named("held", n), nil).Lock(ctx)
		}
		return n, err
	})
	s.Must(err)
	size := float64(heap()-before) / float64(s.Size)
	return []benchmark.Subject{{Name: "hasp", Turn: func(ctx context.Context) (benchmark.Outcome, error) {
		scripts, err := s.scriptsRun()
		if err != nil {
			return benchmark.Outcome{}, err
		}
		start := time.Now()
		select {
		case <-time.After(lasts):
		case <-ctx.Done():
			return benchmark.Outcome{}, ctx.Err()
		}
		took := time.Since(start)
		now, err := s.scriptsRun()
		return benchmark.Outcome{Ops: s.Size, Took: took, Other: map[string]float64{
			"B/lease": size, "scripts/s": (now - scripts) / took.Seconds(), "lost%": lost(held),
		}}, err
	}}}
}

// scriptsRun returns how many scripts the server has run.
func (s *setup) scriptsRun() (float64, error) {
	info, err := s.Server.Info("commandstats")
	if err != nil {
		return 0, err
	}
	var calls float64
	_, err = fmt.Sscanf(info["cmdstat_evalsha"], "calls=%f,", &calls)
	return calls, err
}

// lost returns how many percent of the leases were lost, by a thousand of them: to look at all would cost as much as
// to renew them.
func lost(held []*primitives.Lease) float64 {
	step := max(1, len(held)/1000)
	looked, gone := 0.0, 0.0
	for i := 0; i < len(held); i += step {
		looked++
		if held[i].Err() != nil {
			gone++
		}
	}
	return 100 * gone / looked
}

// heap returns how many bytes are in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // It is no exabyte.
}
