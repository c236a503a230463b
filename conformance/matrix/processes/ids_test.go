package processes

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
)

// TestKilledProcessesDrawNoIDTwice kills processes that draw ids from one generator, and starts others.
func TestKilledProcessesDrawNoIDTwice(t *testing.T) {
	play(t, map[string]scenario{"Drawing": killDrawers})
}

// killDrawers kills three children at a time, once each has drawn some blocks, and asks for all that they
// have said.
func killDrawers(t *testing.T, a cells.Adapter, s *servers.Server) {
	t.Helper()
	drawn := map[string]bool{}
	draws := func(id string) {
		require.False(t, drawn[id], "id %s was drawn twice", id)
		drawn[id] = true
	}
	for range 3 {
		var children []*cells.Child
		for range 3 {
			children = append(children, cells.StartChild(t, os.Args[0], "TestDrawingChild", s.Addr(), a.Name, t.Name()))
		}
		for _, c := range children {
			for range 100 {
				draws(c.Next(t))
			}
			c.Kill(t)
			for id := range c.Lines {
				draws(id)
			}
		}
	}
}

// TestDrawingChild is the child of other tests: it draws ids, in small blocks, and says them.
func TestDrawingChild(t *testing.T) {
	args, _ := cells.AsChild(t)
	ids := cells.Named(args[1]).Primitives(t, cells.At(args[0]), nil).NewIDGenerator(args[2])
	_, err := ids.Init(t.Context(), 1, 7)
	require.NoError(t, err)
	for {
		id, err := ids.Next(t.Context())
		require.NoError(t, err)
		cells.Say(id)
	}
}
