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
	evalsha.New(p, &evalsha.Options{Cluster: cluster}).RunBatch(ctx, p, calls, func(place int, outcome backend.Outcome) {
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
	r := evalsha.New(p, nil)
	r.Close()
	var outcomes [2]backend.Outcome
	r.RunBatch(t.Context(), p, []backend.Call{call(write, "a"), call(read, "b")}, func(place int, o backend.Outcome) { outcomes[place] = o })
	for _, o := range outcomes {
		require.ErrorIs(t, o.Err, backend.ErrClosed)
	}
	require.Empty(t, p.sent)
	require.Empty(t, p.asked())
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

// TestCallWithdrawnWhileLoading has all callers leave while the script is loaded, of a call by itself and of two: nothing is
// sent again.
func TestCallWithdrawnWhileLoading(t *testing.T) {
	t.Parallel()
	missing := serverError("NOSCRIPT x")
	for n, asked := range map[int][]string{1: {"EVALSHA", "load write a"}, 2: {"load write a"}} {
		p := &pipeline{fake: &fake{}, rounds: [][]error{{missing, missing}}}
		if n == 1 {
			p.steps = fails(missing)
		}
		calls := []backend.Call{call(write, "a"), call(write, "b")}[:n]
		for i := range calls {
			calls[i].Claim = new(backend.Claim)
			require.True(t, calls[i].Claim.Begin())
		}
		p.loading = func() {
			for _, c := range calls {
				require.True(t, c.Claim.Cancel())
			}
		}
		for _, outcome := range runBatch(t.Context(), p, false, calls...) {
			require.Error(t, outcome.Err)
			require.False(t, backend.MayHaveRun(outcome.Err))
		}
		require.Equal(t, asked, p.asked())
		require.Len(t, p.sent, n-1)
	}
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

// waiting is a pipeline to nodes with replicas. What is sent by itself is a round, too.
type waiting struct {
	*pipeline
	acked   []int         // of each round
	waits   []error       // of each round; nil: WAIT succeeds
	silence chan struct{} // not nil: the answers of the node "silent" come when it is closed
}

func (w *waiting) SendThenWait(
	ctx context.Context, cmds []evalsha.Command, replicas int, timeout time.Duration,
) []backend.Outcome {
	if w.silence != nil && w.Node(cmds[0].Keys[0]) == "silent" {
		select {
		case <-w.silence:
		case <-ctx.Done():
		}
	}
	outcomes := w.SendAll(ctx, cmds)
	w.mu.Lock()
	defer w.mu.Unlock()
	round := len(w.sent) - 1
	for i := range outcomes {
		if outcomes[i].Err == nil {
			if round < len(w.acked) {
				outcomes[i].Acked = w.acked[round]
			}
			if round < len(w.waits) && w.waits[round] != nil {
				outcomes[i].Err = fmt.Errorf("%w: %w", backend.ErrReplicas, w.waits[round])
			}
		}
	}
	return outcomes
}

// runThenWait runs calls on a runner over w, and returns their outcomes.
func runThenWait(
	t *testing.T, w *waiting, cluster bool, calls ...backend.Call,
) []backend.Outcome {
	t.Helper()
	w.fake = &fake{}
	outcomes := make([]backend.Outcome, len(calls))
	evalsha.New(w, &evalsha.Options{Cluster: cluster}).RunThenWait(t.Context(), w, calls, 1, time.Second,
		func(place int, o backend.Outcome) { outcomes[place] = o })
	for _, asked := range w.asked() {
		require.Contains(t, asked, "load", "nothing is sent without a WAIT")
	}
	return outcomes
}

func TestRunThenWait(t *testing.T) {
	t.Parallel()
	missing := serverError("NOSCRIPT x")
	reply := backend.StringReply
	for name, c := range map[string]struct {
		waiting
		calls []string
		want  []backend.Outcome
		sent  [][]string
	}{
		"One": {
			waiting: waiting{pipeline: &pipeline{}, acked: []int{2}},
			calls:   []string{"a"}, sent: [][]string{{"a"}},
			want: []backend.Outcome{{Reply: reply("a"), Acked: 2}},
		},
		"OneIsLoaded": {
			waiting: waiting{pipeline: &pipeline{rounds: [][]error{{missing}}}, acked: []int{9, 1}},
			calls:   []string{"a"}, sent: [][]string{{"a"}, {"a"}},
			want: []backend.Outcome{{Reply: reply("a"), Acked: 1}},
		},
		"SomeAreLoaded": {
			waiting: waiting{pipeline: &pipeline{rounds: [][]error{{missing, nil, missing}}}, acked: []int{2, 1}},
			calls:   []string{"a", "b", "c"}, sent: [][]string{{"a", "b", "c"}, {"a", "c"}},
			want: []backend.Outcome{
				{Reply: reply("a"), Acked: 1}, {Reply: reply("b"), Acked: 2}, {Reply: reply("c"), Acked: 1},
			},
		},
		"OneMoved": {
			waiting: waiting{
				pipeline: &pipeline{rounds: [][]error{{nil, serverError("MOVED 1 a:1")}}}, acked: []int{2, 1},
			},
			calls: []string{"a", "b"}, sent: [][]string{{"a", "b"}, {"b"}},
			want: []backend.Outcome{{Reply: reply("a"), Acked: 2}, {Reply: reply("b"), Acked: 1}},
		},
	} {
		calls := make([]backend.Call, len(c.calls))
		for i, key := range c.calls {
			calls[i] = call(write, key)
		}
		require.Equal(t, c.want, runThenWait(t, &c.waiting, false, calls...), name)
		require.Equal(t, c.sent, c.waiting.sent, name)
	}
}

// TestRunThenWaitFails loses the answer to WAIT, or has it refused: the scripts ran.
func TestRunThenWaitFails(t *testing.T) {
	t.Parallel()
	unknown := serverError("ERR unknown command 'WAIT', with args")
	missing := serverError("NOSCRIPT x")
	for _, cause := range []error{errEOF, unknown} {
		for _, rounds := range [][][]error{nil, {{missing, missing}}, {{serverError("MOVED 1 a:1"), nil}}} {
			w := &waiting{pipeline: &pipeline{rounds: rounds}, waits: []error{cause, cause}}
			for i, o := range runThenWait(t, w, false, call(write, "a"), call(write, "b")) {
				require.ErrorIs(t, o.Err, backend.ErrReplicas)
				require.NotErrorIs(t, o.Err, backend.ErrIndeterminate)
				require.Equal(t, errors.Is(cause, unknown), errors.Is(o.Err, backend.ErrNotSupported))
				require.Equal(t, backend.StringReply([]string{"a", "b"}[i]), o.Reply)
			}
			require.Len(t, w.sent, len(rounds)+1)
		}
	}
	w := &waiting{pipeline: &pipeline{rounds: [][]error{{errEOF}}}}
	o := runThenWait(t, w, false, call(write, "a"))[0]
	require.ErrorIs(t, o.Err, backend.ErrIndeterminate)
	require.NotErrorIs(t, o.Err, backend.ErrNotSupported)
	require.Len(t, w.sent, 1)
	w = &waiting{pipeline: &pipeline{rounds: [][]error{{missing}, {missing}, {missing}}}}
	o = runThenWait(t, w, false, call(write, "a"))[0] // However often the script is loaded.
	require.ErrorIs(t, o.Err, backend.ErrUnavailable)
	require.False(t, backend.MayHaveRun(o.Err))
	require.Len(t, w.sent, 3)
	require.ErrorContains(t, runThenWait(t, w, false, call(write))[0].Err, "wrong number of keys")
}

// TestRunThenWaitByNode has a node that is silent: the outcomes of the other node's calls do not wait.
func TestRunThenWaitByNode(t *testing.T) {
	t.Parallel()
	w := &waiting{
		pipeline: &pipeline{fake: &fake{}, nodes: map[string]string{"a": "silent", "b": "two", "c": "two"}},
		acked:    []int{1, 1}, silence: make(chan struct{}),
	}
	calls := []backend.Call{call(write, "a"), call(write, "b"), call(write, "c")}
	var reported atomic.Int32
	var outcomes [3]backend.Outcome
	evalsha.New(w, &evalsha.Options{Cluster: true}).RunThenWait(t.Context(), w, calls, 1, time.Second,
		func(place int, o backend.Outcome) {
			if outcomes[place] = o; reported.Add(1) == 2 {
				close(w.silence)
			}
		})
	require.EqualValues(t, 3, reported.Load())
	for _, o := range outcomes {
		require.NoError(t, o.Err)
	}
	require.Equal(t, [][]string{{"b", "c"}, {"a"}}, w.sent)
}

// TestRunThenWaitOnASilentConnection has a driver that returns when its context ends, and no caller that leaves.
func TestRunThenWaitOnASilentConnection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		waiting
		is error
	}{
		"Sent":     {waiting{pipeline: &pipeline{rounds: [][]error{{context.DeadlineExceeded}}}}, backend.ErrIndeterminate},
		"Answered": {waiting{pipeline: &pipeline{}, waits: []error{context.DeadlineExceeded}}, backend.ErrReplicas},
		"NotSent": {waiting{pipeline: &pipeline{
			rounds: [][]error{{evalsha.NotSent(context.DeadlineExceeded)}, {evalsha.NotSent(errEOF)}},
		}}, backend.ErrUnavailable},
	} {
		synctest.Test(t, func(t *testing.T) {
			c.silence, c.nodes = make(chan struct{}), map[string]string{"a": "silent"}
			c.acked = nil
			start := time.Now()
			o := runThenWait(t, &c.waiting, false, call(write, "a"))[0]
			require.ErrorIs(t, o.Err, c.is, name)
			require.NotErrorIs(t, o.Err, context.DeadlineExceeded, "the caller's context has not ended")
			if name != "NotSent" { // That is offered again.
				require.Equal(t, 4*time.Second, time.Since(start))
			}
		})
	}
}

// TestRunThenWaitIsWithdrawn has calls that are refused, and can be withdrawn then.
func TestRunThenWaitIsWithdrawn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		loading := serverError("LOADING x")
		w := &waiting{pipeline: &pipeline{rounds: [][]error{{loading, loading}}}}
		for range 100 {
			w.rounds = append(w.rounds, []error{loading})
		}
		calls := []backend.Call{call(write, "a"), call(write, "b")}
		for i := range calls {
			calls[i].Claim = new(backend.Claim)
			require.True(t, calls[i].Claim.Begin())
			time.AfterFunc(time.Second, func() { require.True(t, calls[i].Claim.Cancel()) })
		}
		for i, o := range runThenWait(t, w, false, calls...) {
			require.ErrorIs(t, o.Err, backend.ErrUnavailable)
			require.ErrorContains(t, calls[i].Claim.Err(), "LOADING")
		}
		require.Less(t, len(w.sent), 30, "a call was sent again after it had been withdrawn")
	})
}
