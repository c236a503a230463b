package matrix

import (
	"os"

	"github.com/hasp-go/hasp/conformance/servers"
)

// cell is one place of the matrix.
type cell struct {
	adapter  adapter
	kind     servers.Kind
	topology topology
}

func (c cell) name() string {
	return c.adapter.name + "On" + c.kind.String() + c.topology.name
}

// cells are the places that are run: all of them if HASP_MATRIX is "all", else a part in which each
// adapter meets a server and a cluster, and each topology and each kind of server is met.
func cells() []cell {
	all := os.Getenv("HASP_MATRIX") == "all"
	var chosen []cell
	for i, a := range adapters() {
		for j, topology := range topologies() {
			for _, kind := range servers.Kinds() {
				if all || (i+j)%3 == 0 && int(kind) == j%3 {
					chosen = append(chosen, cell{a, kind, topology})
				}
			}
		}
	}
	return chosen
}
