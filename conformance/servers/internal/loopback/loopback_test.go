package loopback

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestProcessesKeepOffEachOther: no port is given out by two pools, and none twice.
func TestProcessesKeepOffEachOther(t *testing.T) {
	t.Parallel()
	one, other := pool{taken: map[int]bool{}}, pool{taken: map[int]bool{}}
	seen := map[int]bool{}
	for range 150 { // Each needs more than a block.
		for _, p := range []*pool{&one, &other} {
			port, err := p.take()
			require.NoError(t, err)
			require.False(t, seen[port], "port %d was given out twice", port)
			seen[port] = true
		}
	}
	for _, claim := range append(one.claims, other.claims...) {
		require.NoError(t, claim.Close())
	}
}
