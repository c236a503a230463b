// Package virtual runs the suite on the embedded server, where time can be virtual: it is a package
// of its own so that it builds in a moment, without any driver.
package virtual

import (
	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/servers"
)

// Harness returns a harness on a server within the process.
func Harness() *conformance.Harness {
	return servers.InProcess(embedded.NewServer, func(server *embedded.Server) (backend.Backend, error) {
		return embedded.New(server, nil)
	})
}
