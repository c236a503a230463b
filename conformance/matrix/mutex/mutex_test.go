// Package mutex has tests of mutexes in virtual time: the order of arrival, messages that are lost, and waiters and
// holders that die.
package mutex

import (
	"os"
	"strconv"
	"testing"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// The mutex that the tests use, and its keys.
const (
	name     = "shared"
	key      = "hasp_mutex:{shared}"
	queue    = key + ":queue"
	signs    = key + ":signs"
	tokenKey = key + ":token"
)

func numeral(n int64) string { return strconv.FormatInt(n, 10) }
