package virtual_test

import (
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/matrix/virtual"
)

var doubted doubts

// TestMain doubts all declarations. Unless a number is given, it draws 100 random walks of a kind for the whole matrix,
// otherwise 50, of which rapid makes 10 with -short.
func TestMain(m *testing.M) {
	flag.Parse()
	if walks := flag.Lookup("rapid.checks"); !cells.Whole() && walks.Value.String() == walks.DefValue {
		_ = walks.Value.Set("50")
	}
	for _, p := range conformance.Primitives() {
		doubted.doubt(p)
	}
	os.Exit(cells.Main(m))
}

// TestEmbedded runs the whole suite in real time. It comes before the others, which keep all processors busy: its
// cases have a minute each.
func TestEmbedded(t *testing.T) { //nolint:paralleltest // See above.
	h := virtual.Harness()
	h.Bubble = nil
	report := conformance.Run(t, h)
	if len(report.Passed)+len(report.Failed)+len(report.Skipped) < len(conformance.Cases()) {
		return // By -run.
	}
	want := []string{
		harness.SkipUnsharded, harness.SkipNoClient, harness.SkipNoMessages, harness.SkipPubSub, harness.SkipNoFaults,
		harness.SkipNoFailOver, harness.SkipNoIsolate, harness.SkipNoMigrate, harness.SkipNoRestart, harness.SkipNoPause,
		harness.SkipNoClientList, harness.SkipNoCluster,
	}
	if testing.Short() {
		want = append(want, harness.SkipShared)
	}
	require.ElementsMatch(t, want, report.Reasons())
}

// TestHistories checks recorded histories of every primitive, in virtual time.
func TestHistories(t *testing.T) {
	t.Parallel()
	conformance.Run(t, virtual.Harness(), conformance.PartHistories)
}

// TestProperties drives every primitive beside its exact model, in virtual time. A model that explains an answer must
// not explain another one in its place.
func TestProperties(t *testing.T) {
	t.Parallel()
	conformance.Run(t, virtual.Harness(), conformance.PartProperties)
	doubted.check(t)
}
