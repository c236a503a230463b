package matrix

import (
	"testing"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/servers"
)

// TestFaults runs the workloads under faults, on every adapter.
func TestFaults(t *testing.T) {
	t.Parallel()
	for i, a := range adapters() {
		kinds := []servers.Kind{servers.Redis, servers.Valkey}
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			conformance.RunFaults(t, harness(a, standalone(t, kinds[i%2]), variant{}))
		})
		t.Run(a.name+"Cluster", func(t *testing.T) {
			t.Parallel()
			conformance.RunFaults(t, harness(a, clusterOf3(t, kinds[(i+1)%2]), variant{}))
		})
	}
}
