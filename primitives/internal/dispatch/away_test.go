package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/dispatch"
)

var errRefused = errors.New("connection refused")

// servers are the nodes of a backend that offers refused calls again, as adapters do. A key begins with its node.
type servers struct {
	down   atomic.Pointer[error] // why calls to node a are refused; nil: they are not
	silent atomic.Bool           // node a does not answer
	calls  atomic.Int32          // that came
}

func (s *servers) NodeOf(key string) string { node, _, _ := strings.Cut(key, ":"); return node }

func (s *servers) stop(why error) { s.down.Store(&why) }

func (s *servers) RunBatch(
	ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome),
) {
	var all sync.WaitGroup
	for place, c := range calls {
		s.calls.Add(1)
		all.Go(func() { report(place, s.run(ctx, c)) })
	}
	all.Wait()
}

func (s *servers) run(ctx context.Context, c backend.Call) backend.Outcome {
	for began := time.Now(); s.NodeOf(c.Keys[0]) == "a"; {
		why := s.down.Load()
		switch {
		case why == nil && s.silent.Load():
			<-ctx.Done()
			return backend.Outcome{Err: backend.Indeterminate(ctx.Err())}
		case why == nil:
			return backend.Outcome{Reply: backend.StringReply(c.Keys[0])}
		case c.Script.FailFast || time.Since(began) >= 3*time.Second:
			c.Claim.NotSent(*why)
			return backend.Outcome{Err: fmt.Errorf("%w: %w", backend.ErrUnavailable, *why)}
		}
		c.Claim.NotSent(*why)
		time.Sleep(50 * time.Millisecond)
		if !c.Claim.Begin() {
			return backend.Outcome{Err: fmt.Errorf("%w: %w", backend.ErrUnavailable, context.Canceled)}
		}
	}
	return backend.Outcome{Reply: backend.StringReply(c.Keys[0])}
}

func (s *servers) Run(context.Context, *backend.Script, []string, []string) (backend.Reply, error) {
	panic("not used")
}

// takes returns how long a call takes, whether it was sent, and its error.
func (s *servers) takes(ctx context.Context, d *dispatch.Dispatcher, r *dispatch.Request) (time.Duration, bool, error) {
	began, before := time.Now(), s.calls.Load()
	_, err := do(ctx, d, r)
	return time.Since(began), s.calls.Load() > before, err
}

// requireTakes compares them.
func (s *servers) requireTakes(
	t *testing.T, d *dispatch.Dispatcher, r *dispatch.Request, took time.Duration, sent bool, target error,
) {
	t.Helper()
	gotTook, gotSent, err := s.takes(t.Context(), d, r)
	require.ErrorIs(t, err, target)
	require.Equal(t, took, gotTook)
	require.Equal(t, sent, gotSent)
}

// away returns servers of which node a is away.
func away(t *testing.T) (*servers, *dispatch.Dispatcher) {
	t.Helper()
	s := &servers{}
	d := open(t, s)
	s.stop(errRefused)
	s.requireTakes(t, d, request(write, "a:1"), 3*time.Second, true, errRefused)
	return s, d
}

func TestCallsToAnAwayNodeFailAtOnce(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s, d := away(t)
		for range 3 {
			for _, script := range []*backend.Script{write, read} {
				_, sent, err := s.takes(t.Context(), d, request(script, "a:2"))
				require.False(t, sent)
				require.ErrorIs(t, err, backend.ErrUnavailable)
				require.ErrorIs(t, err, errRefused)
			}
			s.requireTakes(t, d, request(write, "b:1"), 0, true, nil)
			time.Sleep(100 * time.Millisecond)
			s.requireTakes(t, d, request(write, "a:3"), 0, true, errRefused) // the probe
		}
		s.down.Store(nil)
		s.requireTakes(t, d, request(write, "a:3"), 0, false, backend.ErrUnavailable)
		time.Sleep(100 * time.Millisecond)
		for range 2 {
			s.requireTakes(t, d, request(write, "a:4"), 0, true, nil)
		}
		s.stop(errRefused)
		s.requireTakes(t, d, request(write, "a:5"), 3*time.Second, true, errRefused)
	})
}

// TestWhatIsSentToAnAwayNode: releases, the work of the module itself, the further tries of waiters. The answer to one
// ends the absence.
func TestWhatIsSentToAnAwayNode(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(ctx context.Context, d *dispatch.Dispatcher) error{
		"Release": func(ctx context.Context, d *dispatch.Dispatcher) error {
			_, err := do(ctx, d, &dispatch.Request{Script: write, Keys: []string{"a:1"}, AlwaysSend: true})
			return err
		},
		"Background": func(ctx context.Context, d *dispatch.Dispatcher) error {
			_, err := (&dispatch.Runner{Dispatcher: d, Contained: true}).Run(ctx, write, []string{"a:1"}, nil)
			return err
		},
		"Insistent": func(ctx context.Context, d *dispatch.Dispatcher) error {
			_, err := (&dispatch.Runner{Dispatcher: d, Insistent: true}).Run(ctx, write, []string{"a:1"}, nil)
			return err
		},
	} {
		subtest(t, name, func(t *testing.T) {
			s, d := away(t)
			began := time.Now()
			require.ErrorIs(t, do(t.Context(), d), errRefused)
			require.Equal(t, 3*time.Second, time.Since(began), "it is tried as always")
			s.requireTakes(t, d, request(write, "a:1"), 0, false, errRefused)
			s.down.Store(nil)
			require.NoError(t, do(t.Context(), d))
			s.requireTakes(t, d, request(write, "a:1"), 0, true, nil)
		})
	}
}

// TestWhatMakesNoNodeAway: short outages, refusals of a server, callers that leave, calls that fail fast.
func TestWhatMakesNoNodeAway(t *testing.T) {
	through(t, &servers{}, func(t *testing.T, s *servers, d *dispatch.Dispatcher) {
		fast := *write
		fast.FailFast = true
		for _, code := range []string{"LOADING x", "READONLY x", "CLUSTERDOWN x", "MOVED 1 x"} {
			s.stop(backend.ParseServerError(code))
			for range 2 {
				s.requireTakes(t, d, request(write, "a:1"), 3*time.Second, true, backend.ErrUnavailable)
			}
		}
		s.stop(errRefused)
		s.requireTakes(t, d, request(&fast, "a:1"), 0, true, errRefused)
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		took, _, err := s.takes(ctx, d, request(write, "a:1"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, time.Second, took)
		time.Sleep(100 * time.Millisecond) // The backend has noticed that the caller left.
		time.AfterFunc(480*time.Millisecond, func() { s.down.Store(nil) })
		s.requireTakes(t, d, request(write, "a:1"), 500*time.Millisecond, true, nil)
	})
}

func hasty(key string) *dispatch.Request {
	return &dispatch.Request{Script: write, Keys: []string{key}, Hasty: true, Limit: time.Second}
}

// TestHastyCalls are tried once, and have an absence of their own: other calls are tried as always.
func TestHastyCalls(t *testing.T) {
	through(t, &servers{}, func(t *testing.T, s *servers, d *dispatch.Dispatcher) {
		s.stop(errRefused)
		s.requireTakes(t, d, hasty("a:1"), 0, true, errRefused)
		s.requireTakes(t, d, hasty("a:1"), 0, false, errRefused)
		time.AfterFunc(480*time.Millisecond, func() { s.down.Store(nil) })
		s.requireTakes(t, d, request(write, "a:1"), 500*time.Millisecond, true, nil)
		s.requireTakes(t, d, hasty("a:1"), 0, true, nil)
	})
}

// TestHastyCallsWithoutAnAnswer: the server is silent, as after SIGSTOP. Only the first call waits for it, and one probe
// at a time, beside the calls. Its answer ends the absence.
func TestHastyCallsWithoutAnAnswer(t *testing.T) {
	through(t, &servers{}, func(t *testing.T, s *servers, d *dispatch.Dispatcher) {
		s.silent.Store(true)
		call := func(takes time.Duration, target error) {
			r := hasty("a:1")
			r.Limit = 2 * time.Second
			took, _, err := s.takes(t.Context(), d, r)
			require.ErrorIs(t, err, target)
			require.Equal(t, takes, took)
			synctest.Wait()
		}
		call(2*time.Second, backend.ErrIndeterminate)
		for i := range 40 { // A probe is due 0.1 s after the one before, which takes 2 s.
			call(0, backend.ErrUnavailable)
			require.EqualValues(t, 1+(i+20)/21, s.calls.Load())
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Hour) // Nothing is sent while nobody calls.
		require.EqualValues(t, 3, s.calls.Load())
		s.silent.Store(false)
		call(0, backend.ErrUnavailable)
		s.requireTakes(t, d, hasty("a:1"), 0, true, nil)
	})
}

// TestSilentNodeHoldsUpNobody: once the batches to a silent node are late, calls to other nodes are sent at once.
func TestSilentNodeHoldsUpNobody(t *testing.T) {
	through(t, &servers{}, func(t *testing.T, s *servers, d *dispatch.Dispatcher) {
		s.silent.Store(true)
		for range 3 {
			go func() { _, _ = do(t.Context(), d, request(write, "a:1")) }()
			time.Sleep(100 * time.Millisecond)
		}
		for range 2 {
			s.requireTakes(t, d, request(write, "b:1"), 0, true, nil)
		}
	})
}
