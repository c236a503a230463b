// Package lacking has tests of backends and drivers that lack something.
package lacking

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/contract"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// mute is a backend that has no pub/sub.
type mute struct {
	*embedded.Backend
	refusal error
}

func (m mute) Capabilities() backend.Capabilities { return backend.Capabilities{} }
func (m mute) Subscribe(context.Context, string, backend.Handler) (backend.Subscription, error) {
	return nil, m.refusal
}

func withoutPubSub(refusal error) *conformance.Harness {
	h := servers.InProcess(embedded.NewServer, func(server *embedded.Server) (backend.Backend, error) {
		b, err := embedded.New(server, nil)
		return mute{b, refusal}, err
	})
	h.Capabilities.PubSub = false
	return h
}

// TestWithoutPubSub runs the suite over a backend that has no pub/sub.
func TestWithoutPubSub(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	parts := []conformance.Part{conformance.PartSubscriber, conformance.PartPrimitives}
	if cells.Whole() {
		parts = append(parts, conformance.PartFaults)
	}
	const refused = "SubscribeWithoutPubSubIsRefused"
	require.Contains(t, conformance.Run(t, withoutPubSub(backend.ErrNotSupported), parts...).Passed, refused)
	for _, c := range contract.SubscriberCases() {
		if c.Name == refused {
			require.Error(t, c.Check(t.Context(), withoutPubSub(errors.New("no"))))
		}
	}
}

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
	for _, c := range slices.Repeat(contract.RunnerCases(), 20) { // It depends on the moment whether the driver asks a sentinel.
		if c.Name == "RefusedNodes" && c.Check(t.Context(), h) != nil {
			return
		}
	}
	cells.Say("sound")
}
