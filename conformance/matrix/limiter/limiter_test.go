// Package limiter has tests of rate limiters: an hour of virtual time beside an exact model, and windows of
// many clients on real servers.
package limiter

import (
	"os"
	"testing"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }
