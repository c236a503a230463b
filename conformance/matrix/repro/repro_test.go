// Package repro keeps the programs by which others showed defects of hasp. Each asserts that the fault
// that it makes did occur, and the bound that hasp now keeps.
package repro

import (
	"os"
	"testing"
	"testing/synctest"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// client returns a client of the server at addr, by the driver whose adapter matters least.
func client(t *testing.T, addr string) *primitives.Client {
	t.Helper()
	return cells.Named("GoRedis").Primitives(t, cells.At(addr), nil)
}

// inProcess returns a server within the process, and a client of it.
func inProcess(t *testing.T, opts *primitives.Options) (*embedded.Server, *primitives.Client) {
	t.Helper()
	server := embedded.NewServer()
	return server, cells.Over(t, backendOf(t, server), opts)
}

func backendOf(t *testing.T, server *embedded.Server) backend.Backend {
	t.Helper()
	return cells.Got(embedded.New(server, nil))(t)
}

// runner is a good backend within the process until its Instead is another than Good.
func runner(t *testing.T) *cells.Runner {
	t.Helper()
	r := &cells.Runner{Backend: backendOf(t, embedded.NewServer())}
	r.Instead = r.Good
	return r
}

// bubble runs a test in virtual time.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

// lock takes a lock.
func lock(t *testing.T, c *primitives.Client, name string) *primitives.Lease {
	t.Helper()
	return cells.Got(c.NewLock(name, nil).Lock(t.Context()))(t)
}
