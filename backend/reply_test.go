package backend_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
)

var (
	nilReply = backend.Reply{}
	one      = backend.IntegerReply(1)
	text     = backend.StringReply("a\x00\xff")
	array    = backend.ArrayReply([]backend.Reply{one, text})
)

// TestNames: what has a name that is shown has one for values that it does not know, too.
func TestNames(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][]fmt.Stringer{
		"nil": {nilReply.Kind()}, "integer": {one.Kind()}, "string": {text.Kind()}, "array": {array.Kind()},
		"never": {backend.Retry(0)}, "safe": {backend.RetryRepeatable}, "readonly": {backend.RetryReadOnly},
		"auto": {backend.Sharding(0)}, "on": {backend.ShardedOn}, "off": {backend.ShardedOff},
		"unknown": {backend.Kind(99), backend.Retry(9), backend.Sharding(9)},
	} {
		for _, value := range values {
			require.Equal(t, name, value.String())
		}
	}
}

// decoder is a decoding method of any type.
func decoder[T any](decode func(backend.Reply) (T, error)) func(backend.Reply) (any, error) {
	return func(r backend.Reply) (any, error) { return decode(r) }
}

// TestReplyOfAnotherKind: but for nil, which is false, no method makes a value of what is none. Fuzz tests have numbers.
func TestReplyOfAnotherKind(t *testing.T) {
	t.Parallel()
	decoders := map[string]func(backend.Reply) (any, error){
		"text": decoder(backend.Reply.Text), "int": decoder(backend.Reply.Int), "float": decoder(backend.Reply.Float),
		"bool": decoder(backend.Reply.Bool), "stamp": decoder(backend.Reply.UnixMilli), "items": decoder(backend.Reply.Items),
	}
	want := map[string]any{"bool of nil": false, "text of string": "a\x00\xff", "items of array": []backend.Reply{one, text}}
	for name, decode := range decoders {
		for _, reply := range []backend.Reply{nilReply, text, array} {
			name := fmt.Sprint(name, " of ", reply.Kind())
			got, err := decode(reply)
			if expected, ok := want[name]; ok {
				require.NoError(t, err, name)
				require.Equal(t, expected, got)
				continue
			}
			require.ErrorIs(t, err, backend.ErrReply, name)
			require.Zero(t, got, name)
		}
	}
}

// The slots are CLUSTER KEYSLOT's answers.
func TestSlot(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]int{
		"":                     0,
		"123456789":            12739,
		"foo{hash_tag}":        2515,
		"foo{}{bar}":           8363,
		"foo{{bar}}zap":        4015,
		"foo{bar}{zap}":        5061,
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
