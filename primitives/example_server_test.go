package primitives_test

import (
	"flag"
	"os"
	"testing"

	"github.com/hasp-go/hasp/backend"
)

// newServer returns the backend that an adapter package makes of the application's client. This module has no server:
// the examples are compiled here, and run by hasptest/primitives, on a server in the process.
func newServer() backend.Backend { return nil }

func TestMain(m *testing.M) {
	if err := flag.Set("test.skip", "^Example"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
