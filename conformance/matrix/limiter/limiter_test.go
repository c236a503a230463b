// Package limiter has tests of rate limiters: times that are rounded, rates that another client changes, and thousands
// of grants.
package limiter

import (
	"os"
	"testing"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }
