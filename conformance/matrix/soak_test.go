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
	inside [50]atomic.Int32
	last   [50]atomic.Int64 // the last token of each name

	locked, failed, doubles, fell atomic.Int64
	longest                       atomic.Int64
	odd                           atomic.Value // an error that a soak may not meet
}

// work locks names at random until ctx ends.
func (s *soak) work(ctx context.Context) {
	for ctx.Err() == nil {
		n := rand.N(len(s.inside))
		began := time.Now()
		lease, err := s.client.NewLock(fmt.Sprintf("soak:%d", n), nil).Lock(ctx)
		if err != nil {
			s.note(ctx, err)
			continue
		}
		if took := int64(time.Since(began)); took > s.longest.Load() {
			s.longest.Store(took)
		}
		s.hold(n, lease)
		if err := lease.Unlock(ctx); err != nil {
			s.note(ctx, err)
		}
	}
}

// hold is the critical section.
func (s *soak) hold(n int, lease *primitives.Lease) {
	if s.inside[n].Add(1) != 1 {
		s.doubles.Add(1)
	}
	if s.last[n].Swap(lease.Token()) >= lease.Token() {
		s.fell.Add(1)
	}
	time.Sleep(time.Duration(rand.N(500)) * time.Microsecond)
	s.inside[n].Add(-1)
	s.locked.Add(1)
}

// note counts an error; only a broken connection's is due.
func (s *soak) note(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	s.failed.Add(1)
	var server *backend.ServerError
	if !errors.Is(err, backend.ErrIndeterminate) && errors.As(err, &server) && server.Code != "NOSCRIPT" {
		s.odd.Store(err)
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
		t.Run(a.name+"On"+kind.String(), func(t *testing.T) {
			t.Parallel()
			on := standalone(t, kind)
			label := t.Name()
			pprof.Do(t.Context(), pprof.Labels("test", label), func(ctx context.Context) {
				runSoak(ctx, t, a, on)
			})
			noGoroutine(t, label)
		})
	}
}

func runSoak(ctx context.Context, t *testing.T, a adapter, on *target) {
	t.Helper()
	in, _, err := open(ctx, a, on, variant{})
	require.NoError(t, err)
	defer in.Close()
	defer func() { require.NoError(t, in.Backend.Close()) }()
	s := &soak{lease: 10 * time.Second}
	s.client, err = primitives.New(in.Backend, &primitives.Options{WatchdogLease: s.lease})
	require.NoError(t, err)
	working, stop := context.WithTimeout(ctx, soakFor(t))
	defer stop()
	var group sync.WaitGroup
	for range 500 {
		group.Go(func() { s.work(working) })
	}
	var disturbed error
	group.Go(func() { disturbed = disturb(working, on) })
	group.Wait()
	require.NoError(t, disturbed)
	closing, cancel := context.WithTimeout(ctx, conformance.Patience)
	defer cancel()
	require.NoError(t, s.client.Close(closing))
	s.verdict(t)
}

func (s *soak) verdict(t *testing.T) {
	t.Helper()
	longest := time.Duration(s.longest.Load())
	t.Logf("%d locked, %d errors, longest wait %v", s.locked.Load(), s.failed.Load(), longest)
	require.Zero(t, s.doubles.Load(), "double holders")
	require.Zero(t, s.fell.Load(), "tokens that did not rise")
	require.Nil(t, s.odd.Load(), "an error that no fault explains")
	require.Positive(t, s.locked.Load())
	require.Less(t, longest, s.lease, "a waiter was stuck beyond one lease")
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
