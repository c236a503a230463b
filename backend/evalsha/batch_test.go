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

// sender answers the rounds of a batch from lists of errors, and then with success.
func sender(rounds ...[]error) (send func([]evalsha.Command) []backend.Outcome, sent *[]int) {
	sent = new([]int)
	return func(cmds []evalsha.Command) []backend.Outcome {
		round := len(*sent)
		*sent = append(*sent, len(cmds))
		outcomes := make([]backend.Outcome, len(cmds))
		for i, cmd := range cmds {
			outcomes[i].Reply = backend.StringReply(cmd.Keys[0])
			if round < len(rounds) && rounds[round][i] != nil {
				outcomes[i] = backend.Outcome{Err: rounds[round][i]}
			}
		}
		return outcomes
	}, sent
}

func call(script *backend.Script, keys ...string) backend.Call {
	return backend.Call{Script: script, Keys: keys}
}

func TestBatchKeepsOrderAndRefusesSingly(t *testing.T) {
	t.Parallel()
	f := &fake{}
	send, sent := sender()
	outcomes := evalsha.New(f, true).RunBatch(t.Context(), []backend.Call{
		call(write, "a"), call(write), call(read, "b"), call(write, "x", "y"), call(write, "c"),
	}, send)
	require.Len(t, outcomes, 5)
	for i, want := range map[int]string{0: "a", 2: "b", 4: "c"} {
		require.NoError(t, outcomes[i].Err)
		require.Equal(t, backend.StringReply(want), outcomes[i].Reply)
	}
	require.Error(t, outcomes[1].Err)
	require.Error(t, outcomes[3].Err)
	require.Equal(t, []int{3}, *sent)
	require.Empty(t, f.asked())
}

func TestBatchSendsNothing(t *testing.T) {
	t.Parallel()
	send, sent := sender()
	r := evalsha.New(&fake{}, false)
	require.Empty(t, r.RunBatch(t.Context(), nil, send))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	outcomes := r.RunBatch(ctx, []backend.Call{call(write, "a")}, send)
	require.ErrorIs(t, outcomes[0].Err, context.Canceled)
	r.Close()
	outcomes = r.RunBatch(t.Context(), []backend.Call{call(write, "a")}, send)
	require.ErrorIs(t, outcomes[0].Err, backend.ErrClosed)
	require.Empty(t, *sent)
}

func TestBatchLoadsOnce(t *testing.T) {
	t.Parallel()
	missing := serverError("NOSCRIPT x")
	f := &fake{}
	send, sent := sender([]error{missing, missing, nil, missing})
	calls := []backend.Call{call(write, "a"), call(write, "b"), call(read, "c"), call(repeat, "d")}
	outcomes := evalsha.New(f, false).RunBatch(t.Context(), calls, send)
	for i, want := range []string{"a", "b", "c", "d"} {
		require.Equal(t, backend.Outcome{Reply: backend.StringReply(want)}, outcomes[i])
	}
	require.Equal(t, []int{4, 3}, *sent)
	require.Equal(t, []string{"load all write", "load all repeat"}, f.asked())
}

func TestBatchOutcomesAreTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wrong := serverError("WRONGTYPE x")
		f := &fake{}
		send, _ := sender([]error{
			nil, wrong, errEOF, errEOF, errEOF, evalsha.NotSent(errEOF), serverError("MOVED 1 a:1"),
		})
		outcomes := evalsha.New(f, false).RunBatch(t.Context(), []backend.Call{
			call(write, "a"), call(write, "b"), call(write, "c"), call(repeat, "d"), call(read, "e"),
			call(write, "f"), call(write, "g"),
		}, send)
		require.NoError(t, outcomes[0].Err)
		require.ErrorIs(t, outcomes[1].Err, wrong)
		require.ErrorIs(t, outcomes[2].Err, backend.ErrIndeterminate)
		for _, again := range outcomes[3:] {
			require.NoError(t, again.Err)
		}
		require.ElementsMatch(t, []string{"EVALSHA", "EVALSHA_RO", "EVALSHA", "EVALSHA"}, f.asked())
	})
}

// A server that is down costs a batch the patience of one call, not of each.
func TestBatchSettlesSideBySide(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := make([]error, 50)
		calls := make([]backend.Call, len(down))
		f := &fake{}
		for i := range down {
			down[i] = evalsha.NotSent(errors.New("refused"))
			calls[i] = call(write, fmt.Sprint(i))
		}
		for range 10_000 {
			f.steps = append(f.steps, step{err: down[0]})
		}
		send, _ := sender(down)
		began := time.Now()
		for _, outcome := range evalsha.New(f, false).RunBatch(t.Context(), calls, send) {
			require.ErrorContains(t, outcome.Err, "refused")
		}
		require.Less(t, time.Since(began), 5*time.Second)
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

	_, _, sent, err = run(t, answer{err: errEOF})
	require.ErrorIs(t, err, backend.ErrIndeterminate)
	require.Equal(t, 1, sent)

	_, _, err = evalsha.New(&fake{}, false).RunThenWait(t.Context(), call(write), nil)
	require.ErrorContains(t, err, "wrong number of keys")
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
