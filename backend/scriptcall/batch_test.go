package scriptcall_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/scriptcall"
)

// batches keeps the keys of each batch, and replies with the last argument.
type batches [][]string

func (b *batches) RunBatch(_ context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome)) {
	var keys []string
	for _, call := range calls {
		keys = append(keys, call.Keys...)
	}
	*b = append(*b, keys)
	for i := range calls {
		place := len(calls) - 1 - i
		call := calls[place]
		if call.Args[0] == "gone" {
			report(place, backend.Outcome{Err: gone})
			continue
		}
		report(place, backend.Outcome{Reply: backend.StringReply(call.Args[0])})
	}
}

// TestBatch: the first scripts of all calls are one batch, in the order of the calls, and each gets its own outcome.
func TestBatch(t *testing.T) {
	t.Parallel()
	var b batches
	got := make([]int64, 6)
	errs := scriptcall.Batch(t.Context(), &b, len(got), func(i int, r backend.ScriptRunner) (err error) {
		run := func(arg string) scriptcall.Result {
			c := scriptcall.Call{Script: take}
			c.In(0, 8).Int("n", int64(2*i))
			return c.Run(t.Context(), r, 1, []string{strconv.Itoa(i), arg})
		}
		switch i {
		case 1:
			return run("gone").Err()
		case 2:
			return nil
		case 3:
			if err := run("3").Err(); err != nil {
				return err
			}
			got[i], err = scriptcall.Value(run("33"), "n", backend.Reply.Int)
			return err
		}
		got[i], err = scriptcall.Value(run(strconv.Itoa(i)), "n", backend.Reply.Int)
		return err
	})
	require.Equal(t, batches{{"0", "1", "3", "4"}, {"3"}}, b)
	require.Equal(t, []int64{0, 0, 0, 33, 4, 0}, got)
	require.Equal(t, []error{nil, gone, nil, nil, nil}, errs[:5])
	require.ErrorIs(t, errs[5], backend.ErrArgument)
}

func TestBatchOfNone(t *testing.T) {
	t.Parallel()
	var b batches
	require.Empty(t, scriptcall.Batch(t.Context(), &b, 0, nil))
	require.Equal(t, []error{nil}, scriptcall.Batch(t.Context(), &b, 1, func(int, backend.ScriptRunner) error { return nil }))
	require.Empty(t, b)
}
