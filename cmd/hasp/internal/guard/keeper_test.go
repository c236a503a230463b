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
	k := &keeper{term: never, kill: never}
	known := 0
	k.obey("group 0", func() { known++ }) // Signals reach nobody.
	require.Equal(t, 1, known)
	k.obey("until 100 200", nil)
	k.act(99)
	require.False(t, k.termed)
	require.Equal(t, time.Duration(100), k.next())
	k.act(100)
	require.True(t, k.termed)
	k.obey("until 400 500", nil)
	require.Equal(t, time.Duration(200), k.next())
	k.obey("until 400 150", nil)
	require.Equal(t, time.Duration(150), k.next(), "it may come sooner")
	k.act(150)
	require.Equal(t, never, k.next())
	k.obey("until nonsense", nil)
	require.Equal(t, never, k.next())
	k.obey("end", nil)
	require.True(t, k.ended)
}
