package matrix

import (
	"context"
	"testing"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance"
)

// embeddedHarness returns a harness on a server within the process.
func embeddedHarness() *conformance.Harness {
	server := embedded.NewServer()
	return &conformance.Harness{
		New: func(context.Context) (*conformance.Instance, error) {
			b, err := embedded.New(server, nil)
			return &conformance.Instance{Backend: b}, err
		},
		Do: func(_ context.Context, _ string, args ...string) (backend.Reply, error) {
			return server.Do(args...)
		},
		Capabilities:     backend.Capabilities{PubSub: true},
		Batches:          true,
		WaitsForReplicas: true,
		NoClient:         true,
		Advance:          server.Advance,
		Bubble:           embeddedHarness,
	}
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	h := embeddedHarness()
	h.Bubble = nil // TestProperties and TestHistories run in virtual time.
	requireSkips(t, conformance.Run(t, h),
		"channels do not move with slots",
		"the backend has no client below it",
		"the backend has pub/sub",
		"the harness cannot disturb connections",
		"the harness cannot fail over",
		"the harness cannot migrate a slot",
		"the harness cannot record commands",
		"the harness cannot restart the server",
		"the harness cannot stop the server",
		"the server does not list its clients",
		"the server is not a cluster",
	)
}
