package limiter

import (
	"context"
	"fmt"
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

// crowdClients are those whose waiters are counted.
const crowdClients = 20

// crowds are how many waiters they have: in a part of the matrix fewer.
var crowds = map[bool][]int{true: {10, 100, 1000}, false: {10, 200}}[cells.Whole()]

// TestWaitersCostTheSame counts the scripts for each grant, of few waiters and of many: each client asks
// for all of its own, so that it is no matter how many these are.
func TestWaitersCostTheSame(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	for _, waiters := range crowds {
		t.Run(fmt.Sprint(waiters), func(t *testing.T) {
			t.Parallel()
			perGrant := scriptsPerGrant(t, waiters)
			t.Logf("%d waiters of %d clients: %.1f scripts for each grant", waiters, crowdClients, perGrant)
			// Each client tries once for each permit that comes back, and once when none is left.
			require.Less(t, perGrant, 2.0*crowdClients)
		})
	}
}

// scriptsPerGrant has so many wait for what is used up, and returns how many scripts each grant takes.
func scriptsPerGrant(t *testing.T, waiters int) float64 {
	t.Helper()
	const permits, interval = 100, 500 * time.Millisecond
	s := cells.StartServer(t)
	var limiters []*primitives.RateLimiter
	for i := range crowdClients {
		a := cells.Adapters()[i%len(cells.Adapters())]
		c := a.Primitives(t, cells.At(s.Addr()), &primitives.Options{PollInterval: time.Hour})
		limiters = append(limiters, c.NewRateLimiter("crowd", nil))
	}
	hour := primitives.Rate{Permits: permits, Interval: time.Hour}
	require.NoError(t, limiters[0].SetRate(t.Context(), hour))
	require.NoError(t, limiters[0].Acquire(t.Context(), permits))
	ctx, cancel := context.WithTimeout(t.Context(), conformance.Patience)
	defer cancel()
	granted := make(chan error, waiters)
	for i := range waiters {
		go func() { granted <- limiters[i%crowdClients].Acquire(ctx, 1) }()
	}
	channel, listeners := "hasp_rate_limiter:{crowd}", int64(min(waiters, crowdClients))
	require.Eventually(t, func() bool {
		reply, err := s.Do("PUBSUB", "NUMSUB", channel)
		items, _ := reply.Items()
		n, _ := items[1].Int()
		return err == nil && n == listeners
	}, conformance.Patience, 20*time.Millisecond)
	settled(t, s, int(listeners)+waiters)
	before := s.Calls(t, "evalsha")
	require.NoError(t, limiters[0].SetRate(ctx, primitives.Rate{Permits: permits, Interval: interval}))
	for range waiters {
		require.NoError(t, <-granted)
	}
	return float64(s.Calls(t, "evalsha")-before) / float64(waiters)
}

// settled returns when so many scripts have run at least, and no more come: all wait.
func settled(t *testing.T, s cells.Server, least int) {
	t.Helper()
	last := 0
	require.Eventually(t, func() bool {
		now := s.Calls(t, "evalsha")
		same := now == last && now >= least
		last = now
		return same
	}, conformance.Patience, 200*time.Millisecond)
}
