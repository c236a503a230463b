package backend_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
)

var (
	nilReply = backend.Reply{}
	one      = backend.IntegerReply(1)
	text     = backend.StringReply("a\x00\xff")
	array    = backend.ArrayReply([]backend.Reply{one, text})
)

func TestReplyKinds(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]backend.Reply{
		"nil": nilReply, "integer": one, "string": text, "array": array,
	} {
		require.Equal(t, name, reply.Kind().String())
		require.Equal(t, name == "nil", reply.IsNil())
	}
	require.Equal(t, "unknown", backend.Kind(99).String())
}

// decoded is what a decoding method returns; want of nil stands for ErrReply.
func requireDecodes[T any](t *testing.T, decode func(backend.Reply) (T, error),
	want map[string]any, replies map[string]backend.Reply,
) {
	t.Helper()
	for name, reply := range replies {
		got, err := decode(reply)
		if expected, ok := want[name]; ok {
			require.NoError(t, err, name)
			require.Equal(t, expected, any(got), name)
			continue
		}
		require.ErrorIs(t, err, backend.ErrReply, name)
		require.Zero(t, got, name)
	}
}

func TestReplyDecoding(t *testing.T) {
	t.Parallel()
	replies := map[string]backend.Reply{
		"nil": nilReply, "1": one, "0": backend.IntegerReply(0), "2": backend.IntegerReply(2),
		"min": backend.IntegerReply(math.MinInt64), "text": text, "array": array,
		"'max'": backend.StringReply("9223372036854775807"),
		"'big'": backend.StringReply("9223372036854775808"),
		"'1.5'": backend.StringReply("1.5"), "''": backend.StringReply(""),
		"' 1'": backend.StringReply(" 1"), "'inf'": backend.StringReply("inf"),
		"'1e400'": backend.StringReply("1e400"),
	}
	requireDecodes(t, backend.Reply.Text, map[string]any{
		"1": "1", "0": "0", "2": "2", "min": "-9223372036854775808", "text": "a\x00\xff",
		"'max'": "9223372036854775807", "'big'": "9223372036854775808", "'1.5'": "1.5", "''": "",
		"' 1'": " 1", "'inf'": "inf", "'1e400'": "1e400",
	}, replies)
	requireDecodes(t, backend.Reply.Int, map[string]any{
		"1": int64(1), "0": int64(0), "2": int64(2), "min": int64(math.MinInt64),
		"'max'": int64(math.MaxInt64),
	}, replies)
	requireDecodes(t, backend.Reply.Float, map[string]any{
		"1": 1.0, "0": 0.0, "2": 2.0, "min": float64(math.MinInt64), "'1.5'": 1.5,
		"'max'": float64(1 << 63), "'big'": float64(1 << 63), "'inf'": math.Inf(1),
	}, replies)
	requireDecodes(t, backend.Reply.Bool, map[string]any{
		"1": true, "0": false, "nil": false,
	}, replies)
	requireDecodes(t, backend.Reply.UnixMilli, map[string]any{
		"1": time.UnixMilli(1), "0": time.UnixMilli(0), "2": time.UnixMilli(2),
		"min": time.UnixMilli(math.MinInt64), "'max'": time.UnixMilli(math.MaxInt64),
	}, replies)
	requireDecodes(t, backend.Reply.Items, map[string]any{
		"array": []backend.Reply{one, text},
	}, replies)
}

func TestReplyDuration(t *testing.T) {
	t.Parallel()
	d, err := backend.IntegerReply(-1500).Duration(time.Millisecond)
	require.NoError(t, err)
	require.Equal(t, -1500*time.Millisecond, d)
	const most, least = math.MaxInt64 / 1_000_000, math.MinInt64 / 1_000_000
	for n, want := range map[int64]time.Duration{
		most: most * time.Millisecond, most + 1: math.MaxInt64, math.MaxInt64: math.MaxInt64,
		least: least * time.Millisecond, least - 1: math.MinInt64, math.MinInt64: math.MinInt64,
	} {
		d, err = backend.IntegerReply(n).Duration(time.Millisecond)
		require.NoError(t, err)
		require.Equal(t, want, d, n)
	}
	_, err = text.Duration(time.Second)
	require.ErrorIs(t, err, backend.ErrReply)
}

func TestReplyTuple(t *testing.T) {
	t.Parallel()
	items, err := array.Tuple(2)
	require.NoError(t, err)
	require.Equal(t, []backend.Reply{one, text}, items)
	_, err = array.Tuple(3)
	require.ErrorIs(t, err, backend.ErrReply)
	_, err = one.Tuple(1)
	require.ErrorIs(t, err, backend.ErrReply)
	items, err = backend.ArrayReply(nil).Tuple(0)
	require.NoError(t, err)
	require.Empty(t, items)
}

func TestNewScript(t *testing.T) {
	t.Parallel()
	s := backend.NewScript("one", "return 1", 2, backend.RetryRepeatable)
	require.Equal(t, &backend.Script{
		Name: "one", Source: "return 1", Keys: 2, Retry: backend.RetryRepeatable,
		SHA1: "e0e1f9fabfc9d4800c877a703b823ac0578ff8db", // as SCRIPT LOAD answers
	}, s)
}

func TestRetry(t *testing.T) {
	t.Parallel()
	require.Equal(t, backend.RetryNever, (&backend.Script{}).Retry, "the careful class is the zero value")
	for class, name := range map[backend.Retry]string{
		backend.RetryNever: "never", backend.RetryRepeatable: "safe", backend.RetryReadOnly: "readonly", 9: "unknown",
	} {
		require.Equal(t, name, class.String())
		require.Equal(t, class != backend.RetryReadOnly, class.Writes())
	}
}

// The slots are CLUSTER KEYSLOT's answers.
func TestSlot(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]int{
		"":                     0,
		"123456789":            12739,
		"foo":                  12182,
		"somekey":              11058,
		"{foo}bar":             12182,
		"foo{hash_tag}":        2515,
		"bar{hash_tag}":        2515,
		"foo{}{bar}":           8363,
		"foo{{bar}}zap":        4015,
		"foo{bar}{zap}":        5061,
		"{user1000}.following": 3443,
		"{user1000}.followers": 3443,
		"no}open{tag":          13077,
		"\x00\xff{a\x00}":      14363,
		"\x00\xff":             7920,
	} {
		require.Equal(t, want, backend.Slot(key), "%q", key)
	}
}

func TestSameSlot(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]string{nil, {"a"}, {"a", "a"}, {"{a}1", "a", "x{a}y"}} {
		require.NoError(t, backend.SameSlot(keys), "%q", keys)
	}
	for _, keys := range [][]string{{"a", "b"}, {"a", "a", "b"}, {"{a}", "{a}{b}", "{}{a}"}} {
		require.ErrorIs(t, backend.SameSlot(keys), backend.ErrCrossSlot, "%q", keys)
	}
}
