// Package virtual runs the suite on the embedded server, where time can be virtual: it is a package
// of its own so that it builds in a moment, without any driver.
package virtual

import (
	"context"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance"
)

// Harness returns a harness on a server within the process.
func Harness() *conformance.Harness {
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
		Bubble:           Harness,
	}
}
