package check

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
)

// TestProbesOfEachPart: behind each prefix there is a name in each part of a cluster.
func TestProbesOfEachPart(t *testing.T) {
	t.Parallel()
	parts := []part{{{0, 4000}}, {{4001, 8000}, {12001, 16383}}, {{8001, 12000}}}
	for _, prefix := range []string{"", "app:", "b:"} {
		names := probes(prefix, slices.Clone(parts))
		require.Len(t, names, len(parts))
		for _, p := range parts {
			require.True(t, slices.ContainsFunc(names, func(name string) bool {
				slot := backend.Slot(prefix + name)
				return slices.ContainsFunc(p, func(r [2]int) bool { return r[0] <= slot && slot <= r[1] })
			}), "%q: %v has none", prefix, p)
		}
	}
}
