//go:build unix

package guard

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSIGKILLIsNotPutOff: a renewal after SIGTERM comes too late, since the command has begun to end.
func TestSIGKILLIsNotPutOff(t *testing.T) {
	t.Parallel()
	k := &keeper{times: Times{never, never}, grace: 30} // Signals reach nobody.
	until := func(term, kill time.Duration) { k.obey(Order{Until: &Times{term, kill}}, 0) }
	until(50, 60)
	until(100, 200)
	k.act(99)
	require.False(t, k.termed)
	require.Equal(t, time.Duration(100), k.next(99))
	k.act(100)
	require.True(t, k.termed)
	until(400, 500)
	require.Equal(t, time.Duration(200), k.next(100))
	until(400, 150)
	require.Equal(t, time.Duration(150), k.next(100), "it may come sooner")
	k.obey(Order{Rest: true}, 110)
	require.Equal(t, time.Duration(140), k.next(110), "the others have their grace")
	k.act(140)
	require.Equal(t, 140+again, k.next(140), "until none is left")
}
