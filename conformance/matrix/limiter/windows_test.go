package limiter

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// span is when a script began and ended that was granted a permit.
type span struct{ began, ended time.Time }

// spans are those of all clients.
type spans struct {
	mu  sync.Mutex
	all []span
}

// over returns a backend whose grants s gets.
func (s *spans) over(b backend.Backend) backend.Backend {
	r := &cells.Runner{Backend: b}
	r.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		began := time.Now()
		reply, err := r.Good(ctx, c)
		if items, _ := reply.Items(); c.Script.Name == "rate_acquire" && err == nil {
			if taken, _ := items[0].Int(); taken == 1 {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.all = append(s.all, span{began, time.Now()})
			}
		}
		return reply, err
	}
	return r
}

// most returns how many permits were surely granted in a window of that length, at most.
func (s *spans) most(length time.Duration) (most int) {
	slices.SortFunc(s.all, func(a, b span) int { return a.began.Compare(b.began) })
	for i, first := range s.all {
		within := 0
		for _, g := range s.all[i:] {
			if g.ended.Before(first.began.Add(length)) {
				within++
			}
		}
		most = max(most, within)
	}
	return most
}

// TestWindowsOfManyClients lets callers of 16 clients, over all drivers, wait at once. In each window of the
// interval there are no more grants than the rate. It prints how long they waited beside the ideal, in which
// the rate is granted at once at the begin of each interval.
func TestWindowsOfManyClients(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	const clients, callers, permits, interval = 16, 20, 40, 300 * time.Millisecond
	s := cells.StartServer(t)
	var grants spans
	var limiters []*primitives.RateLimiter
	for i := range clients {
		a := cells.Adapters()[i%len(cells.Adapters())]
		c := cells.Over(t, grants.over(a.Backend(t, cells.At(s.Addr()))), nil)
		limiters = append(limiters, c.NewRateLimiter("windows", nil))
	}
	_, err := limiters[0].InitRate(t.Context(), primitives.Rate{Permits: permits, Interval: interval})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), conformance.Patience)
	defer cancel()
	begin, waits := time.Now(), make(chan time.Duration, clients*callers)
	var all sync.WaitGroup
	for i := range clients * callers {
		all.Go(func() {
			if err := limiters[i%clients].Acquire(ctx, 1); err != nil {
				t.Error(err)
			}
			waits <- time.Since(begin)
		})
	}
	all.Wait()
	close(waits)
	var sum, ideal time.Duration
	for i := range clients * callers {
		sum += <-waits
		ideal += time.Duration(i/permits) * interval
	}
	most := grants.most(interval)
	t.Logf("%d permits, up to %d in %v; they waited %v each, ideal are %v", clients*callers, most, interval,
		(sum / (clients * callers)).Round(time.Millisecond), (ideal / (clients * callers)).Round(time.Millisecond))
	require.LessOrEqual(t, most, permits)
	require.Len(t, grants.all, clients*callers)
}
