package matrix

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
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

// run runs the suite, and notes what came out in results.
func (c cell) run(t *testing.T) {
	if reason := servers.Missing(c.kind); reason != "" {
		results.missing(c, reason)
		servers.Need(t, c.kind)
	}
	h := harness(c.adapter, c.topology.start(t, c.kind), variant{})
	report := conformance.Run(t, h)
	fmt.Printf("%s %s: %d passed, %d failed, %d skipped\n", time.Now().Format(time.TimeOnly), c.name(),
		len(report.Passed), len(report.Failed), len(report.Skipped))
	results.add(c, report)
	requireSkips(t, report, expectedSkips(h)...)
}

// proof leaves a test to "make prove": it takes long, and judges more than this machine and the change
// at hand.
func proof(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("make prove runs it: -short leaves it out")
	}
}

// few is what is run with -short: every adapter on a server of each kind, one of them a cluster.
var few = []string{
	"RueidisOnRedisStandalone", "RueidisOnValkeyCluster",
	"ValkeyOnValkeyStandalone", "ValkeyOnRedisCluster",
	"GoRedisOnRedisStandalone", "GoRedisOnValkeyCluster",
}

// part is what is run unless HASP_MATRIX is "all".
var part = []string{
	"RueidisOnRedisStandalone", "RueidisOnValkeyReplicated", "RueidisOnRedisCluster",
	"ValkeyOnRedisACL", "ValkeyOnValkeyCluster", "ValkeyOnRedictStandalone",
	"GoRedisOnValkeyTLS", "GoRedisOnRedisSentinel", "GoRedisOnValkeyClusterWithReplicas",
}

// cells are the places that are run.
func cells() []cell {
	chosen := part
	switch {
	case wholeMatrix():
		return allCells()
	case testing.Short():
		chosen = few
	}
	return slices.DeleteFunc(allCells(), func(c cell) bool { return !slices.Contains(chosen, c.name()) })
}

func allCells() (all []cell) {
	for _, kind := range servers.Kinds() {
		for _, topology := range topologies() {
			for _, a := range adapters() {
				all = append(all, cell{a, kind, topology})
			}
		}
	}
	return all
}

// TestPartMeetsEverything: each adapter meets each required server and a cluster, and each topology
// is met, also where no other server is found.
func TestPartMeetsEverything(t *testing.T) {
	t.Parallel()
	met := map[string]bool{}
	for _, c := range allCells() {
		if slices.Contains(part, c.name()) {
			met[c.name()] = true
			if c.kind <= servers.Valkey {
				met[c.topology.name] = true
				met[c.adapter.name+c.kind.String()] = true
				if strings.HasPrefix(c.topology.name, "Cluster") {
					met[c.adapter.name+"Cluster"] = true
				}
			}
		}
	}
	want := slices.Clone(part)
	for _, topology := range topologies() {
		want = append(want, topology.name)
	}
	for _, a := range adapters() {
		want = append(want, a.name+"Redis", a.name+"Valkey", a.name+"Cluster")
	}
	for _, name := range want {
		require.True(t, met[name], name)
	}
}

// wholeMatrix reports whether all is asked for, not a part.
func wholeMatrix() bool { return os.Getenv("HASP_MATRIX") == "all" }
