package evalsha_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/evalsha"
)

// pipeline answers the rounds of a batch from lists of errors, and then with success. What is sent
// by itself goes to the fake.
type pipeline struct {
	*fake
	rounds [][]error
	nodes  map[string]string // by key; nil: one for all

	loading func() // runs when a script is loaded

	mu   sync.Mutex
	sent [][]string // the keys of each round
}

func (p *pipeline) SendAll(_ context.Context, cmds []evalsha.Command) []backend.Outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	round := len(p.sent)
	outcomes, keys := make([]backend.Outcome, len(cmds)), make([]string, len(cmds))
	for i, cmd := range cmds {
		keys[i] = cmd.Keys[0]
		outcomes[i].Reply = backend.StringReply(cmd.Keys[0])
		if round < len(p.rounds) && p.rounds[round][i] != nil {
			outcomes[i] = backend.Outcome{Err: p.rounds[round][i]}
		}
	}
	p.sent = append(p.sent, keys)
	return outcomes
}

func (p *pipeline) Load(ctx context.Context, s *backend.Script, key string) error {
	if p.loading != nil {
		p.loading()
	}
	return p.fake.Load(ctx, s, key)
}

func (p *pipeline) Node(key string) string {
	if p.nodes == nil {
		return "node"
	}
	return p.nodes[key]
}

// runBatch runs calls on a runner over p, and returns their outcomes.
func runBatch(
	ctx context.Context, p *pipeline, cluster bool, calls ...backend.Call,
) []backend.Outcome {
	outcomes := make([]backend.Outcome, len(calls))
	evalsha.New(p, cluster).RunBatch(ctx, p, calls, func(place int, outcome backend.Outcome) {
		outcomes[place] = outcome
	})
	return outcomes
}

func call(script *backend.Script, keys ...string) backend.Call {
	return backend.Call{Script: script, Keys: keys}
}

func TestBatchKeepsOrderAndRefusesSingly(t *testing.T) {
	t.Parallel()
	p := &pipeline{fake: &fake{}}
	outcomes := runBatch(t.Context(), p, true,
		call(write, "a"), call(write), call(read, "b"), call(write, "x", "y"), call(write, "c"))
	for i, want := range map[int]string{0: "a", 2: "b", 4: "c"} {
		require.NoError(t, outcomes[i].Err)
		require.Equal(t, backend.StringReply(want), outcomes[i].Reply)
	}
	require.Error(t, outcomes[1].Err)
	require.Error(t, outcomes[3].Err)
	require.Equal(t, [][]string{{"a", "b", "c"}}, p.sent)
	require.Empty(t, p.asked())
}

func TestBatchSendsNothing(t *testing.T) {
	t.Parallel()
	p := &pipeline{fake: &fake{}}
	require.Empty(t, runBatch(t.Context(), p, false))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, runBatch(ctx, p, false, call(write, "a"))[0].Err, context.Canceled)
	r := evalsha.New(p, false)
	r.Close()
	r.RunBatch(t.Context(), p, []backend.Call{call(write, "a"), call(read, "b")},
		func(_ int, outcome backend.Outcome) { require.ErrorIs(t, outcome.Err, backend.ErrClosed) })
	require.Empty(t, p.sent)
	require.Empty(t, p.asked())
}

// A batch of one is sent as a call is.
func TestBatchOfOne(t *testing.T) {
	t.Parallel()
	p := &pipeline{fake: &fake{steps: fails(serverError("NOSCRIPT x"))}}
	outcome := runBatch(t.Context(), p, false, call(write, "a"))[0]
	require.Equal(t, backend.Outcome{Reply: backend.StringReply("write")}, outcome)
	require.Equal(t, []string{"EVALSHA", "load write a", "EVALSHA"}, p.asked())
	require.Empty(t, p.sent)
}

// Each node gets its own round trip, and a slot whose node nobody knows likewise.
func TestBatchByNode(t *testing.T) {
	t.Parallel()
	p := &pipeline{fake: &fake{}, nodes: map[string]string{"a": "one", "b": "two", "c": "one", "d": "two"}}
	runBatch(t.Context(), p, true,
		call(write, "a"), call(write, "b"), call(write, "c"), call(write, "d"),
		call(write, "{e}1"), call(write, "{e}2"))
	require.ElementsMatch(t, [][]string{{"a", "c"}, {"b", "d"}, {"{e}1", "{e}2"}}, p.sent)
	require.Empty(t, p.asked())
}

func TestBatchLoadsOnce(t *testing.T) {
	t.Parallel()
	missing := serverError("NOSCRIPT x")
	p := &pipeline{fake: &fake{}, rounds: [][]error{{missing, missing, nil, missing}}}
	outcomes := runBatch(t.Context(), p, false,
		call(write, "a"), call(write, "b"), call(read, "c"), call(repeat, "d"))
	for i, want := range []string{"a", "b", "c", "d"} {
		require.Equal(t, backend.Outcome{Reply: backend.StringReply(want)}, outcomes[i])
	}
	require.Equal(t, [][]string{{"a", "b", "c", "d"}, {"a", "b", "d"}}, p.sent)
	require.Equal(t, []string{"load write a", "load repeat d"}, p.asked())
}

// Where a script is missing again after it was loaded, each call goes on as if it were alone.
func TestBatchLoadsInVain(t *testing.T) {
	t.Parallel()
	missing := serverError("NOSCRIPT x")
	p := &pipeline{fake: &fake{}, rounds: [][]error{{missing, missing}, {missing, nil}}}
	for _, outcome := range runBatch(t.Context(), p, false, call(write, "a"), call(write, "b")) {
		require.NoError(t, outcome.Err)
	}
	require.Equal(t, []string{"load write a", "load write a", "EVALSHA"}, p.asked())
}

// TestBatchWithdrawnWhileLoading has all callers leave while the script is loaded: nothing is sent.
func TestBatchWithdrawnWhileLoading(t *testing.T) {
	t.Parallel()
	missing := serverError("NOSCRIPT x")
	p := &pipeline{fake: &fake{}, rounds: [][]error{{missing, missing}}}
	calls := []backend.Call{call(write, "a"), call(write, "b")}
	for i := range calls {
		calls[i].Claim = new(backend.Claim)
		require.True(t, calls[i].Claim.Begin())
	}
	p.loading = func() {
		for _, c := range calls {
			require.True(t, c.Claim.Cancel())
		}
	}
	reported := 0
	evalsha.New(p, false).RunBatch(t.Context(), p, calls, func(_ int, o backend.Outcome) {
		reported++
		require.Error(t, o.Err)
		require.False(t, backend.MayHaveRun(o.Err))
	})
	require.Equal(t, 2, reported)
	require.Equal(t, [][]string{{"a", "b"}}, p.sent)
}

// TestCallWithdrawnWhileLoading is that for a call by itself.
func TestCallWithdrawnWhileLoading(t *testing.T) {
	t.Parallel()
	p := &pipeline{fake: &fake{steps: fails(serverError("NOSCRIPT x"))}}
	c := call(write, "a")
	c.Claim = new(backend.Claim)
	require.True(t, c.Claim.Begin())
	p.loading = func() { require.True(t, c.Claim.Cancel()) }
	outcome := runBatch(t.Context(), p, false, c)[0]
	require.ErrorIs(t, outcome.Err, context.Canceled)
	require.False(t, backend.MayHaveRun(outcome.Err))
	require.Equal(t, []string{"EVALSHA", "load write a"}, p.asked())
}

func TestBatchOutcomesAreTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wrong := serverError("WRONGTYPE x")
		p := &pipeline{fake: &fake{}, rounds: [][]error{{
			nil, wrong, errEOF, errEOF, errEOF, evalsha.NotSent(errEOF), serverError("MOVED 1 a:1"),
		}}}
		outcomes := runBatch(t.Context(), p, false,
			call(write, "a"), call(write, "b"), call(write, "c"), call(repeat, "d"), call(read, "e"),
			call(write, "f"), call(write, "g"))
		require.NoError(t, outcomes[0].Err)
		require.ErrorIs(t, outcomes[1].Err, wrong)
		require.ErrorIs(t, outcomes[2].Err, backend.ErrIndeterminate)
		for _, again := range outcomes[3:] {
			require.NoError(t, again.Err)
		}
		require.ElementsMatch(t, []string{"EVALSHA", "EVALSHA_RO", "EVALSHA", "EVALSHA"}, p.asked())
	})
}

// A server that is down costs a batch the patience of one call, not of each, and a call that is
// refused holds up no other.
func TestBatchSettlesSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := make([]error, 50)
		calls := make([]backend.Call, len(down)+1)
		p := &pipeline{fake: &fake{}}
		for i := range down {
			down[i] = evalsha.NotSent(errors.New("refused"))
			calls[i] = call(write, fmt.Sprint(i))
		}
		calls[len(down)] = call(write, "good")
		for range 10_000 {
			p.steps = append(p.steps, step{err: down[0]})
		}
		p.rounds = [][]error{append(down, nil)}
		began := time.Now()
		evalsha.New(p, false).RunBatch(t.Context(), p, calls, func(place int, o backend.Outcome) {
			if place == len(down) {
				require.NoError(t, o.Err)
				require.Equal(t, began, time.Now())
				return
			}
			require.ErrorContains(t, o.Err, "refused")
		})
		require.Less(t, time.Since(began), 5*time.Second)
	})
}

// A hook of the driver may panic. The panic is raised in the caller, no matter in which goroutine it
// happened.
func TestBatchPanicsInItsCaller(t *testing.T) {
	t.Parallel()
	p := &pipeline{
		fake:   &fake{steps: []step{{during: func() { panic("hook") }}}},
		rounds: [][]error{{evalsha.NotSent(errEOF), evalsha.NotSent(errEOF)}},
	}
	require.PanicsWithValue(t, "hook", func() {
		runBatch(t.Context(), p, false, call(write, "a"), call(write, "b"))
	})
}

func TestRunThenWait(t *testing.T) {
	t.Parallel()
	type answer struct {
		acked int
		err   error
	}
	run := func(t *testing.T, answers ...answer) (reply backend.Reply, acked, sent int, err error) {
		t.Helper()
		reply, acked, err = evalsha.New(&fake{}, false).RunThenWait(t.Context(), call(write, "k"),
			func(evalsha.Command) (backend.Reply, int, error) {
				a := answers[sent]
				sent++
				if a.err != nil && !errors.Is(a.err, backend.ErrReplicas) {
					return backend.Reply{}, 0, a.err
				}
				return backend.IntegerReply(7), a.acked, a.err
			})
		return reply, acked, sent, err
	}
	seven := backend.IntegerReply(7)
	waiting := fmt.Errorf("%w: %w", backend.ErrReplicas, errEOF)

	reply, acked, _, err := run(t, answer{acked: 2})
	require.NoError(t, err)
	require.Equal(t, seven, reply)
	require.Equal(t, 2, acked)

	reply, acked, sent, err := run(t, answer{err: serverError("NOSCRIPT x")}, answer{acked: 1})
	require.NoError(t, err)
	require.Equal(t, seven, reply)
	require.Equal(t, 1, acked)
	require.Equal(t, 2, sent)

	for _, before := range [][]answer{nil, {{err: serverError("NOSCRIPT x")}}} {
		reply, _, sent, err = run(t, append(before, answer{err: waiting})...)
		require.ErrorIs(t, err, backend.ErrReplicas)
		require.NotErrorIs(t, err, backend.ErrIndeterminate)
		require.Equal(t, seven, reply, "the script ran")
		require.Equal(t, len(before)+1, sent)
	}

	noScript := answer{err: serverError("NOSCRIPT x")} // However often it is loaded.
	_, _, sent, err = run(t, noScript, noScript, noScript)
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.False(t, backend.MayHaveRun(err))
	require.Equal(t, 3, sent)

	unknown := fmt.Errorf("%w: %w", backend.ErrReplicas, serverError("ERR unknown command 'WAIT', with args"))
	reply, _, _, err = run(t, answer{err: unknown})
	require.ErrorIs(t, err, backend.ErrReplicas)
	require.ErrorIs(t, err, backend.ErrNotSupported)
	require.Equal(t, seven, reply, "the script ran")

	_, _, sent, err = run(t, answer{err: errEOF})
	require.ErrorIs(t, err, backend.ErrIndeterminate)
	require.NotErrorIs(t, err, backend.ErrNotSupported)
	require.Equal(t, 1, sent)

	_, _, err = evalsha.New(&fake{}, false).RunThenWait(t.Context(), call(write), nil)
	require.ErrorContains(t, err, "wrong number of keys")
}

// TestRunThenWaitIsWithdrawn has a call that is refused, and can be withdrawn then.
func TestRunThenWaitIsWithdrawn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := call(write, "k")
		c.Claim = new(backend.Claim)
		require.True(t, c.Claim.Begin())
		time.AfterFunc(time.Second, func() { require.True(t, c.Claim.Cancel()) })
		sent := 0
		_, _, err := evalsha.New(&fake{}, false).RunThenWait(t.Context(), c,
			func(cmd evalsha.Command) (backend.Reply, int, error) {
				require.Same(t, c.Claim, cmd.Claim)
				require.False(t, c.Claim.Cancel(), "it is under way")
				sent++
				return backend.Reply{}, 0, serverError("LOADING x")
			})
		require.ErrorIs(t, err, backend.ErrUnavailable)
		require.ErrorContains(t, c.Claim.Err(), "LOADING")
		require.Positive(t, sent)
		require.Less(t, sent, 15, "it was sent again after it had been withdrawn")
	})
}

func TestRunnerIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	f := &fake{}
	r := evalsha.New(f, true)
	var failed atomic.Int32
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			for range 20 {
				_, err := r.Run(t.Context(), read, []string{fmt.Sprint(i)}, nil)
				if err != nil && !errors.Is(err, backend.ErrClosed) {
					failed.Add(1)
				}
			}
			r.Close()
		})
	}
	group.Wait()
	require.Zero(t, failed.Load())
}
