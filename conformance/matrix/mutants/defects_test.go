package mutants

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
)

// TestDefectsOfDrivers lets each driver meet what it is spared: a child does, which does not survive it.
func TestDefectsOfDrivers(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	for _, a := range cells.Adapters() {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			for line := range cells.StartChild(t, os.Args[0], "TestChildMeetsADefect", a.Name).Lines {
				require.False(t, line == "sound" && a.Spared != "", "the driver is mended: do not spare it %s", a.Spared)
			}
		})
	}
}

func TestChildMeetsADefect(t *testing.T) {
	args, _ := cells.AsChild(t)
	a := cells.Named(args[0])
	h := cells.Sentinel(t, servers.Redis).Harness(a, cells.Variant{})
	h.Spares = func(refusal string) bool { return !strings.HasPrefix(refusal, a.Spared) }
	for _, c := range slices.Repeat(backendCases(), 20) { // It depends on the moment whether the driver asks a sentinel.
		if c.Name == "RefusedNodes" && c.Check(t.Context(), h) != nil {
			return
		}
	}
	cells.Say("sound")
}
