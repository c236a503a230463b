// Package matrix runs every adapter against every server and topology through the conformance
// suite, and at random. The cells are made in package cells; the folders beside it have tests that
// judge the suite, or that take more than a cell. It has tests only.
package matrix

import (
	"context"
	"fmt"
	"os"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/matrix/virtual"
	"github.com/hasp-go/hasp/conformance/servers"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// few is what is run with -short: every adapter once, servers of both kinds, one of them a cluster. On the cell bare
// it is the contract alone: the primitives have been judged on a server of that kind.
var few = []string{bare, "RueidisOnValkeyCluster", "GoRedisOnRedisStandalone"}

const bare = "ValkeyOnRedisStandalone"

// part is what is run unless HASP_MATRIX is "all": with few, each adapter meets each server, and each topology is met.
var part = []string{
	"RueidisOnRedisSentinel", "RueidisOnValkeyReplicated",
	"ValkeyOnRedisACL", "ValkeyOnValkeyCluster", "ValkeyOnRedictStandalone",
	"GoRedisOnRedisOneEndpoint", "GoRedisOnValkeyTLS", "GoRedisOnValkeyClusterWithReplicas",
}

// chosen are the cells that are run.
func chosen() []cells.Cell {
	names := part
	switch {
	case cells.Whole():
		return cells.All()
	case testing.Short():
		names = few
	}
	return slices.DeleteFunc(cells.All(), func(c cells.Cell) bool { return !slices.Contains(names, c.Name()) })
}

// lanes is how many cells are run side by side. Were they merely parallel tests, the servers of all
// would be started before the first case is run.
const lanes = 10

// TestMatrix runs the whole suite for every adapter, server and topology, or for a part of them.
func TestMatrix(t *testing.T) {
	t.Parallel()
	todo := make(chan cells.Cell, len(cells.All()))
	for _, c := range chosen() {
		todo <- c
	}
	close(todo)
	for i := range lanes {
		t.Run(fmt.Sprint("Lane", i+1), func(t *testing.T) {
			t.Parallel()
			for c := range todo {
				t.Run(c.Name(), func(t *testing.T) { run(t, c) })
			}
		})
	}
}

// run runs the suite on a cell, and prints what came out.
func run(t *testing.T, c cells.Cell) {
	t.Helper()
	servers.Need(t, c.Kind)
	h := c.Harness(t)
	report := judge(t, c, h)
	_, version, _ := servers.Find(c.Kind)
	fmt.Printf("%s %s, server %s: %d passed, %d failed, %d skipped\n", time.Now().Format(time.TimeOnly), c.Name(), version,
		len(report.Passed), len(report.Failed), len(report.Skipped))
	requireSkips(t, report, h)
}

// judge judges a cell by all that is to be run there.
func judge(t *testing.T, c cells.Cell, h *conformance.Harness) conformance.Report {
	t.Helper()
	if !testing.Short() || c.Name() != bare {
		return conformance.Run(t, h)
	}
	return conformance.Run(t, h, conformance.PartRunner, conformance.PartSubscriber)
}

// requireSkips compares the reasons of a report's skips with those why cases cannot run on a server of
// any topology, unless -run has left cases out.
func requireSkips(t *testing.T, report conformance.Report, h *conformance.Harness) {
	t.Helper()
	if len(report.Passed)+len(report.Failed)+len(report.Skipped) < len(conformance.Cases()) {
		return
	}
	cluster, failsOver := h.Capabilities.Cluster, h.FailOver != nil
	expected := []string{harness.NoPubSub.Reason, harness.SkipNoMessages, harness.Advance.Reason}
	for reason, expect := range map[string]bool{
		harness.FailOver.Reason:   !failsOver,
		harness.FixedRoles.Reason: failsOver && !cluster,
		harness.Isolate.Reason:    h.Isolate == nil,
		harness.Sharded.Reason:    !h.Capabilities.Sharded,
		harness.OneNode.Reason:    cluster || h.OneEndpoint,
		harness.Cluster.Reason:    !cluster,
		harness.Migrate.Reason:    !cluster,
		harness.SkipShared:        testing.Short(),
	} {
		if expect {
			expected = append(expected, reason)
		}
	}
	slices.Sort(expected)
	require.Equal(t, expected, report.Reasons(), "reasons of skips")
}

// TestVariants runs the suite with RESP2, and without sharded pub/sub. Unless the whole matrix is run
// it is what both at once can change for an adapter.
func TestVariants(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	for _, a := range cells.Adapters() {
		if cells.Whole() {
			t.Run(a.Name+"RESP2", func(t *testing.T) {
				t.Parallel()
				on := cells.Standalone(t, servers.Redis)
				judgeVariant(t, on.Harness(a, cells.Variant{RESP2: true}))
			})
		}
		t.Run(a.Name+"RESP2UnshardedCluster", func(t *testing.T) {
			t.Parallel()
			on := cells.Cluster(t, servers.Valkey)
			judgeVariant(t, on.Harness(a, cells.Variant{RESP2: true, Sharded: backend.ShardedOff}))
		})
	}
}

func judgeVariant(t *testing.T, h *conformance.Harness) {
	t.Helper()
	if cells.Whole() {
		requireSkips(t, conformance.Run(t, h), h)
		return
	}
	conformance.Run(t, h, conformance.PartRunner, conformance.PartSubscriber)
}

// TestMiniredis runs the primitives on a plain miniredis, whose keys expire by a clock that goes on with the real one.
// The contract is left out: a subscriber that does not read stops such a server.
func TestMiniredis(t *testing.T) { //nolint:paralleltest // Its scripts take long: nothing runs next to them.
	cells.Proof(t)
	m, tick := miniredis.RunT(t), 10*time.Millisecond
	go func() {
		for t.Context().Err() == nil {
			time.Sleep(tick)
			m.FastForward(tick)
		}
	}()
	h := cells.One(servers.At(cells.Got(strconv.Atoi(m.Port()))(t)), cells.Client{}).Harness(cells.Named("GoRedis"), cells.Variant{})
	h.Restart, h.Pause, h.ListsClients = nil, nil, false
	require.Equal(t, []string{harness.SkipNoMessages}, conformance.Run(t, h, conformance.PartPrimitives).Reasons())
}

// TestPartMeetsEverything: each adapter meets each required server and a cluster, and each topology
// is met, also where no other server is found.
func TestPartMeetsEverything(t *testing.T) {
	t.Parallel()
	met, want := map[string]bool{}, slices.Concat(few, part)
	for _, c := range cells.All() {
		if c.Kind > servers.Valkey {
			met[c.Name()] = true
			continue
		}
		of := []string{c.Name(), c.Topology.Name, c.Adapter.Name + c.Kind.String()}
		if strings.HasPrefix(c.Topology.Name, "Cluster") {
			of = append(of, c.Adapter.Name+"Cluster")
		}
		want = append(want, of[1:]...)
		for _, name := range of {
			met[name] = met[name] || slices.Contains(few, c.Name()) || slices.Contains(part, c.Name())
		}
	}
	for _, name := range want {
		require.True(t, met[name], name)
	}
}

// TestSoak runs everything at random, for HASP_SOAK (5s), drawn from HASP_SOAK_SEED (another one
// each time). "make soak" runs it for longer. Nothing may be left of it.
func TestSoak(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	label := t.Name()
	pprof.Do(t.Context(), pprof.Labels("test", label), func(context.Context) {
		engine.RunSoak(t, conformance.Primitives(), soakCells(), soakOptions(t))
	})
	noGoroutine(t, label)
}

// soakOptions reads the environment: HASP_SOAK_ONLY has names of primitives.
func soakOptions(t *testing.T) *engine.SoakOptions {
	t.Helper()
	seed := func(text string) (uint64, error) { return strconv.ParseUint(text, 10, 64) }
	return &engine.SoakOptions{
		Duration: setting(t, "HASP_SOAK", time.ParseDuration), Seed: setting(t, "HASP_SOAK_SEED", seed),
		Crowds: setting(t, "HASP_SOAK_CROWDS", strconv.Atoi), Only: strings.Fields(os.Getenv("HASP_SOAK_ONLY")),
	}
}

// setting reads a variable; zero if it is not set.
func setting[T any](t *testing.T, name string, read func(text string) (T, error)) (v T) {
	t.Helper()
	if text := os.Getenv(name); text != "" {
		v = cells.Got(read(text))(t)
	}
	return v
}

// soakCells are all cells of the matrix, and the embedded backend for every fourth turn: virtual time
// shows what takes long, and real servers what their drivers make of it.
func soakCells() (all []engine.SoakCell) {
	for i, c := range cells.All() {
		all = append(all, engine.SoakCell{
			Name:    c.Name(),
			Harness: func(t *testing.T) *conformance.Harness { t.Helper(); return c.Harness(t) },
		})
		if i%3 == 0 {
			all = append(all, engine.SoakCell{
				Name:    "Embedded",
				Harness: func(*testing.T) *conformance.Harness { return virtual.Harness() },
			})
		}
	}
	return all
}

// noGoroutine waits until no goroutine has the label.
func noGoroutine(t *testing.T, label string) {
	t.Helper()
	var left string
	require.Eventually(t, func() bool {
		var all strings.Builder
		require.NoError(t, pprof.Lookup("goroutine").WriteTo(&all, 1))
		left = ""
		for group := range strings.SplitSeq(all.String(), "\n\n") {
			if strings.Contains(group, `"test":"`+label+`"`) {
				left += group + "\n\n"
			}
		}
		// The test's own goroutine took the label off before it came here.
		return left == ""
	}, conformance.Patience/2, 20*time.Millisecond, "goroutines are left: %s", &left)
}
