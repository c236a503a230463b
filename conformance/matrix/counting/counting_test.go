// Package counting has tests of counting semaphores in virtual time: clocks that disagree, and the ends of holds.
package counting

import (
	"os"
	"testing"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// name is that of the semaphore that the tests use.
const name = "counting"

// orders are both, by name.
var orders = map[string]primitives.CountingOrder{"ByTime": primitives.ByTime, "ByArrival": primitives.ByArrival}
