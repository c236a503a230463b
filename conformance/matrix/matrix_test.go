package matrix

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/servers"
)

// variant is how a client is set up, beyond the defaults.
type variant struct {
	resp2   bool
	sharded backend.Sharding
}

// open makes an instance behind a wire of its own.
func open(
	ctx context.Context, a adapter, on *target, v variant,
) (*conformance.Instance, *servers.Wire, error) {
	w := servers.NewWire(&on.proxy)
	o := on.client
	o.addrs, o.cluster, o.resp2, o.sharded = on.addrs(), on.cluster != nil, v.resp2, v.sharded
	o.dial = func(ctx context.Context, addr string) (net.Conn, error) {
		return w.DialContext(ctx, "tcp", addr)
	}
	in, err := a.open(ctx, o)
	if err != nil {
		return nil, nil, errors.Join(err, w.Close())
	}
	closeClient := in.Close
	in.Link, in.Close = w, func() { closeClient(); _ = w.Close() }
	return in, w, nil
}

// harness judges an adapter on a target that nobody else uses.
func harness(a adapter, on *target, v variant) *conformance.Harness {
	h := &conformance.Harness{
		New: func(ctx context.Context) (*conformance.Instance, error) {
			in, _, err := open(ctx, a, on, v)
			return in, err
		},
		Do:               on.do,
		Nodes:            on.doAll,
		Capabilities:     backend.Capabilities{PubSub: true},
		Batches:          true,
		WaitsForReplicas: true,
		ListsClients:     true,
		Faults:           true,
		Record:           on.record,
		Restart:          on.restart,
		Pause:            on.pause,
	}
	if on.failOverTo != nil {
		h.FailOver = on.failOver
	}
	if on.isolatePrimary != nil {
		h.Isolate = on.isolate
	}
	if on.cluster != nil {
		h.Migrate = on.migrate
		h.Capabilities.Cluster = true
		h.Capabilities.Sharded = v.sharded != backend.ShardedOff
	}
	return h
}

// judge runs the suite, and fails on a skip that is not expected there.
func judge(t *testing.T, h *conformance.Harness) {
	t.Helper()
	requireSkips(t, conformance.Run(t, h), expectedSkips(h)...)
}

// expectedSkips returns why cases cannot run on a server of any topology.
func expectedSkips(h *conformance.Harness) []string {
	expected := []string{conformance.SkipPubSub, conformance.SkipNoAdvance}
	if h.FailOver == nil {
		expected = append(expected, conformance.SkipNoFailOver)
	} else if !h.Capabilities.Cluster {
		expected = append(expected, conformance.SkipFixedRoles)
	}
	if h.Isolate == nil {
		expected = append(expected, conformance.SkipNoIsolate)
	}
	if !h.Capabilities.Sharded {
		expected = append(expected, conformance.SkipUnsharded)
	}
	if h.Capabilities.Cluster {
		return append(expected, conformance.SkipCluster)
	}
	return append(expected, conformance.SkipNoCluster, conformance.SkipNoMigrate)
}

// requireSkips compares the reasons of a report's skips, unless -run has left cases out.
func requireSkips(t *testing.T, report conformance.Report, expected ...string) {
	t.Helper()
	all := len(conformance.Cases()) + len(conformance.FaultCases())
	if len(report.Passed)+len(report.Failed)+len(report.Skipped) >= all {
		slices.Sort(expected)
		require.Equal(t, expected, report.Reasons(), "reasons of skips")
	}
}

// lanes is how many cells are run side by side. Were they merely parallel tests, the servers of all
// would be started before the first case is run.
const lanes = 6

// TestMatrix runs the whole suite for every adapter, server and topology, or for a part of them
// (see cells). TestMain prints what came out.
func TestMatrix(t *testing.T) {
	t.Parallel()
	todo := make(chan cell, len(adapters())*len(servers.Kinds())*len(topologies()))
	for _, c := range cells() {
		todo <- c
	}
	close(todo)
	for i := range lanes {
		t.Run(fmt.Sprint("Lane", i+1), func(t *testing.T) {
			t.Parallel()
			for c := range todo {
				t.Run(c.name(), c.run)
			}
		})
	}
}

// TestVariants runs the suite with RESP2, and without sharded pub/sub. Unless the whole matrix is run
// it is what these can change for an adapter.
func TestVariants(t *testing.T) {
	proof(t)
	t.Parallel()
	for _, a := range adapters() {
		t.Run(a.name+"RESP2", func(t *testing.T) {
			t.Parallel()
			judgeVariant(t, harness(a, standalone(t, servers.Redis), variant{resp2: true}))
		})
		t.Run(a.name+"RESP2UnshardedCluster", func(t *testing.T) {
			t.Parallel()
			v := variant{resp2: true, sharded: backend.ShardedOff}
			judgeVariant(t, harness(a, clusterOf3(t, servers.Valkey), v))
		})
	}
}

func judgeVariant(t *testing.T, h *conformance.Harness) {
	t.Helper()
	if wholeMatrix() {
		judge(t, h)
		return
	}
	t.Run("Runner", func(t *testing.T) { conformance.RunRunner(t, h) })
	t.Run("Subscriber", func(t *testing.T) { conformance.RunSubscriber(t, h) })
}
