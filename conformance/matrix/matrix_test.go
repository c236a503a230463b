package matrix

import (
	"context"
	"errors"
	"maps"
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
	w := servers.NewWire(nil)
	in, err := a.open(ctx, clientOptions{
		addrs: on.addrs(), cluster: on.cluster != nil,
		resp2: v.resp2, sharded: v.sharded,
		dial: func(ctx context.Context, addr string) (net.Conn, error) {
			return w.DialContext(ctx, "tcp", addr)
		},
	})
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
		Pause:            on.pause,
	}
	if on.cluster == nil {
		h.Restart = on.restart
	} else {
		h.Migrate = on.migrate
		h.Capabilities.Cluster = true
		h.Capabilities.Sharded = v.sharded != backend.ShardedOff
	}
	return h
}

// judge runs the suite, and fails on a skip that is not expected there.
func judge(t *testing.T, h *conformance.Harness) {
	t.Helper()
	expected := []string{"the backend has pub/sub"}
	if h.Capabilities.Cluster {
		expected = append(expected, "the server is a cluster", "the harness cannot restart the server")
		if !h.Capabilities.Sharded {
			expected = append(expected, "channels do not move with slots")
		}
	} else {
		expected = append(expected, "the server is not a cluster", "channels do not move with slots",
			"the harness cannot migrate a slot")
	}
	requireSkips(t, conformance.Run(t, h), expected...)
}

// requireSkips compares the reasons of a report's skips, unless -run has left cases out.
func requireSkips(t *testing.T, report conformance.Report, expected ...string) {
	t.Helper()
	reasons := map[string]bool{}
	for _, reason := range report.Skipped {
		reasons[reason] = true
	}
	got := slices.Sorted(maps.Keys(reasons))
	if len(report.Passed)+len(report.Failed)+len(report.Skipped) == len(conformance.Cases()) {
		slices.Sort(expected)
		require.Equal(t, expected, got, "reasons of skips")
	}
}

// TestMatrix runs the whole suite for every adapter, server and topology.
func TestMatrix(t *testing.T) {
	t.Parallel()
	for _, a := range adapters() {
		for _, kind := range servers.Kinds() {
			t.Run(a.name+"On"+kind.String(), func(t *testing.T) {
				t.Parallel()
				judge(t, harness(a, standalone(t, kind), variant{}))
			})
			t.Run(a.name+"On"+kind.String()+"Cluster", func(t *testing.T) {
				t.Parallel()
				judge(t, harness(a, clusterOf3(t, kind), variant{}))
			})
		}
	}
}

// TestVariants runs the suite with RESP2, and without sharded pub/sub.
func TestVariants(t *testing.T) {
	t.Parallel()
	for _, a := range adapters() {
		t.Run(a.name+"RESP2", func(t *testing.T) {
			t.Parallel()
			judge(t, harness(a, standalone(t, servers.Redis), variant{resp2: true}))
		})
		t.Run(a.name+"RESP2UnshardedCluster", func(t *testing.T) {
			t.Parallel()
			v := variant{resp2: true, sharded: backend.ShardedOff}
			judge(t, harness(a, clusterOf3(t, servers.Valkey), v))
		})
	}
}
