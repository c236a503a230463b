package matrix

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// soakFor is how long each soak runs: HASP_SOAK, a duration, or 5 s.
func soakFor(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("HASP_SOAK")
	if text == "" {
		return 5 * time.Second
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err, "HASP_SOAK")
	return d
}

// soak is 500 goroutines that lock 50 names through one client while connections are killed and
// scripts forgotten.
type soak struct {
	client *primitives.Client
	lease  time.Duration
	names  [50]contended

	locked, failed atomic.Int64
	idle           atomic.Int64          // the longest time that a name had waiters and no holder
	odd            atomic.Pointer[error] // what a soak may not meet
}

// contended is one name's state as its holders see it.
type contended struct {
	holder atomic.Pointer[primitives.Lease]
	token  atomic.Int64
	freed  atomic.Int64 // when the last holder left, in nanoseconds since began
}

// work locks names at random until the end. What it waits for then must come: the faults are over.
func (s *soak) work(ctx context.Context, began, end time.Time) {
	for time.Now().Before(end) {
		n := rand.N(len(s.names))
		lease, err := s.client.NewLock(fmt.Sprintf("soak:%d", n), nil).Lock(ctx)
		if err != nil {
			s.note(err)
			continue
		}
		s.waited(&s.names[n], began)
		s.names[n].hold(s, lease)
		s.names[n].freed.Store(int64(time.Since(began)))
		if err := lease.Unlock(ctx); err != nil {
			s.note(err)
		}
	}
}

// waited notes how long a name had no holder. There are always some that wait for it.
func (s *soak) waited(c *contended, began time.Time) {
	idle := int64(time.Since(began)) - c.freed.Load()
	for longest := s.idle.Load(); idle > longest; longest = s.idle.Load() {
		s.idle.CompareAndSwap(longest, idle)
	}
}

// hold is the critical section.
func (c *contended) hold(s *soak, lease *primitives.Lease) {
	if other := c.holder.Swap(lease); other != nil && other.Err() == nil && lease.Err() == nil {
		s.wrong(errors.New("two holders at a time"))
	}
	if last := c.token.Swap(lease.Token()); last >= lease.Token() {
		s.wrong(fmt.Errorf("token %d after %d", lease.Token(), last))
	}
	time.Sleep(time.Duration(rand.N(500)) * time.Microsecond)
	c.holder.CompareAndSwap(lease, nil)
	s.locked.Add(1)
}

func (s *soak) wrong(err error) { s.odd.Store(&err) }

// note counts an error; only those of broken connections and lost scripts are due.
func (s *soak) note(err error) {
	s.failed.Add(1)
	var server *backend.ServerError
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		s.wrong(fmt.Errorf("a waiter was stuck: %w", err))
	case errors.As(err, &server) && server.Code != "NOSCRIPT":
		s.wrong(err)
	}
}

// disturb makes faults on the server until ctx ends.
func disturb(ctx context.Context, on *target) error {
	for {
		var err error
		switch rand.N(3) {
		case 0:
			_, err = on.doAll(ctx, "CLIENT", "KILL", "TYPE", "normal")
		case 1:
			_, err = on.doAll(ctx, "CLIENT", "KILL", "TYPE", "pubsub")
		case 2:
			_, err = on.doAll(ctx, "SCRIPT", "FLUSH")
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Duration(50+rand.N(200)) * time.Millisecond):
		}
	}
}

// TestSoak is 500 goroutines on 50 names, for HASP_SOAK (5s).
func TestSoak(t *testing.T) {
	t.Parallel()
	for i, a := range adapters() {
		kind := servers.Kinds()[i%len(servers.Kinds())]
		other := servers.Kinds()[(i+1)%len(servers.Kinds())]
		// One at a time: each takes what the machine has.
		t.Run(a.name+"On"+kind.String(), func(t *testing.T) {
			soakOn(t, a, standalone(t, kind))
		})
		t.Run(a.name+"On"+other.String()+"Cluster", func(t *testing.T) {
			soakOn(t, a, clusterOf3(t, other))
		})
	}
}

func soakOn(t *testing.T, a adapter, on *target) {
	t.Helper()
	label := t.Name()
	pprof.Do(t.Context(), pprof.Labels("test", label), func(ctx context.Context) {
		runSoak(ctx, t, a, on)
	})
	noGoroutine(t, label)
}

func runSoak(ctx context.Context, t *testing.T, a adapter, on *target) {
	t.Helper()
	in, _, err := open(ctx, a, on, variant{})
	require.NoError(t, err)
	defer in.Close()
	defer func() { require.NoError(t, in.Backend.Close()) }()
	s := &soak{lease: 10 * time.Second}
	// No poll: what is not told of stays unknown to the end of the run.
	s.client, err = primitives.New(in.Backend, &primitives.Options{
		WatchdogLease: s.lease, PollInterval: time.Hour,
	})
	require.NoError(t, err)
	began := time.Now()
	end := began.Add(soakFor(t))
	disturbing, stop := context.WithDeadline(ctx, end)
	defer stop()
	waiting, giveUp := context.WithDeadline(ctx, end.Add(3*s.lease))
	defer giveUp()
	var group sync.WaitGroup
	for range 500 {
		group.Go(func() { s.work(waiting, began, end) })
	}
	require.NoError(t, disturb(disturbing, on))
	group.Wait()
	closing, cancel := context.WithTimeout(ctx, conformance.Patience)
	defer cancel()
	require.NoError(t, s.client.Close(closing))
	s.verdict(t)
}

func (s *soak) verdict(t *testing.T) {
	t.Helper()
	idle := time.Duration(s.idle.Load())
	t.Logf("%d locked, %d errors, longest time without a holder %v",
		s.locked.Load(), s.failed.Load(), idle)
	if odd := s.odd.Load(); odd != nil {
		require.NoError(t, *odd)
	}
	require.Positive(t, s.locked.Load())
	limit := s.lease
	if os.Getenv("HASP_SOAK") == "" {
		limit *= 3 // Beside all other tests a machine may be slower than any bound that means much.
	}
	require.Less(t, idle, limit, "waiters had no holder before them for longer than one lease")
}

// noGoroutine waits until no goroutine has the label.
func noGoroutine(t *testing.T, label string) {
	t.Helper()
	var left string
	require.Eventually(t, func() bool {
		var all strings.Builder
		require.NoError(t, pprof.Lookup("goroutine").WriteTo(&all, 1))
		left = ""
		for group := range strings.SplitSeq(all.String(), "\n\n") {
			if strings.Contains(group, `"test":"`+label+`"`) {
				left += group + "\n\n"
			}
		}
		// The test's own goroutine took the label off before it came here.
		return left == ""
	}, conformance.Patience/2, 20*time.Millisecond, "goroutines are left: %s", &left)
}
