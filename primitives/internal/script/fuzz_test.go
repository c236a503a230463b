package script_test

import (
	"context"
	"math"
	"math/big"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// answers is a backend that gives one reply to whatever is run.
type answers struct{ reply backend.Reply }

func (a answers) Run(
	context.Context, *backend.Script, []string, []string,
) (backend.Reply, error) {
	return a.reply, nil
}

// number returns n as an integer, or as the text that scripts return beyond 2^53.
func number(n int64, asText bool) backend.Reply {
	if asText {
		return backend.StringReply(strconv.FormatInt(n, 10))
	}
	return backend.IntegerReply(n)
}

// milliseconds returns the duration of ms, or what is nearest to it.
func milliseconds(ms int64) time.Duration {
	product := new(big.Int).Mul(big.NewInt(ms), big.NewInt(1e6))
	switch {
	case product.IsInt64():
		return time.Duration(product.Int64())
	case ms < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

// requireDecoded requires want, or a refused reply and nothing else.
func requireDecoded[T any](t *testing.T, ok bool, want, got T, err error) {
	t.Helper()
	if !ok {
		require.ErrorIs(t, err, backend.ErrReply)
		require.Zero(t, got)
		return
	}
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// fairAcquire are arguments of a script whose reply is an array.
var fairAcquire = script.FairAcquireParams{
	Publish: "PUBLISH", Lock: "{k}", Queue: "{k}:q", Timeouts: "{k}:s", Deadlines: "{k}:d", Token: "{k}:t", Owner: "o", Lease: time.Second,
}

// FuzzNumbers gives the scripts replies with numbers in them, in both forms, and wants these
// numbers back.
func FuzzNumbers(f *testing.F) {
	for _, n := range []int64{0, 1, -1, -2, 1<<53 + 1, math.MaxInt64, math.MinInt64} {
		f.Add(n, n, true, true)
		f.Add(n, n/1_000_000, false, false)
	}
	f.Fuzz(func(t *testing.T, n, ms int64, some, asText bool) {
		ctx := t.Context()
		wait := milliseconds(ms)
		token, want := backend.Reply{}, script.FairAcquireResult{Wait: wait}
		if some {
			token, want.Token, want.TokenOK = number(n, asText), n, true
		}
		pair := backend.ArrayReply([]backend.Reply{token, number(ms, !asText)})
		got, err := script.FairAcquire(ctx, answers{pair}, fairAcquire)
		requireDecoded(t, true, want, got, err)
		released, err := script.LockRelease(ctx, answers{number(ms, asText)}, "k", "o", "PUBLISH", "c")
		requireDecoded(t, true, ms, released, err)
		left, err := script.LockRemaining(ctx, answers{number(ms, asText)}, "k")
		requireDecoded(t, true, wait, left, err)
		count, ok, err := script.LockHoldCount(ctx, answers{token}, "k", "o")
		requireDecoded(t, true, want.Token, count, err)
		require.Equal(t, some, ok)
		list := answers{backend.ArrayReply([]backend.Reply{number(n, asText), number(ms, !asText)})}
		statuses, err := script.CountingRenew(ctx, list, []string{"k"}, time.Second, []string{"o"})
		requireDecoded(t, true, []int64{n, ms}, statuses, err)
	})
}

// FuzzShapes gives the scripts replies of other shapes: what is not the declared one is refused.
func FuzzShapes(f *testing.F) {
	f.Add(uint8(0), int64(0), "")
	f.Add(uint8(1), int64(1), "")
	f.Add(uint8(2), int64(0), "1")
	f.Add(uint8(3), int64(2), "x")
	f.Fuzz(func(t *testing.T, kind uint8, n int64, text string) {
		items := make([]backend.Reply, uint64(n)%4) //nolint:gosec // Any number.
		for i := range items {
			items[i] = backend.StringReply(text)
		}
		reply := []backend.Reply{
			{}, backend.IntegerReply(n), backend.StringReply(text), backend.ArrayReply(items),
		}[kind%4]
		requireBools(t, reply, n)
		value, failed := strconv.ParseInt(text, 10, 64)
		isNumber, shape, a := failed == nil, reply.Kind(), answers{reply}
		if shape == backend.KindInteger {
			value, isNumber = n, true
		}
		count, ok, err := script.LockHoldCount(t.Context(), a, "k", "o")
		scalar := shape == backend.KindInteger || shape == backend.KindString && isNumber
		require.Equal(t, scalar, ok)
		if shape != backend.KindNil {
			requireDecoded(t, scalar, value, count, err)
		}
		statuses, err := script.CountingRenew(t.Context(), a, []string{"k"}, time.Second, []string{"o"})
		require.Equal(t, shape == backend.KindArray && (isNumber || len(items) == 0), err == nil)
		if err == nil {
			require.Len(t, statuses, len(items))
		}
		_, err = script.FairAcquire(t.Context(), a, fairAcquire)
		require.Equal(t, shape == backend.KindArray && len(items) == 2 && isNumber, err == nil)
		token, err := script.LockAcquire(t.Context(), a, script.LockAcquireParams{
			Lock: "k", Token: "t", Owner: "o", Lease: time.Second, Publish: "PUBLISH", Released: "c",
		})
		requireDecoded(t, scalar, value, token, err)
	})
}

// requireBools requires that true is 1, false is 0 or nil, and that nothing else is either.
func requireBools(t *testing.T, reply backend.Reply, n int64) {
	t.Helper()
	isBool := reply.IsNil() || reply.Kind() == backend.KindInteger && (n == 0 || n == 1)
	want := reply.Kind() == backend.KindInteger && n == 1
	a, ctx := answers{reply}, t.Context()
	got, err := script.LockExists(ctx, a, "k")
	requireDecoded(t, isBool, want, got, err)
	got, err = script.LockHeldBy(ctx, a, "k", "o")
	requireDecoded(t, isBool, want, got, err)
	got, err = script.LockForceRelease(ctx, a, "k", "PUBLISH", "c")
	requireDecoded(t, isBool, want, got, err)
}
