package backend_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
)

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
