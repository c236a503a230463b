package cells

import (
	"cmp"
	"os"
	"testing"
	"time"

	"github.com/hasp-go/hasp/conformance/servers"
)

// Poll is how soon a waiter looks again that got no message: the default of primitives.Options, give or take a tenth.
const Poll = 5500 * time.Millisecond

// killing is the variable that says for how long processes are killed. By default it is short.
const killing = "HASP_KILLING"

// Child is [servers.Child]: tests are compiled in the checkout of the last release, too, with these names.
type Child = servers.Child

// StartChild, AsChild and Say are those of package servers.
var (
	StartChild = servers.StartChild
	AsChild    = servers.AsChild
	Say        = servers.Say
)

// Killing runs round, which kills processes, again and again for as long as the variable says, and returns how often.
func Killing(tb testing.TB, round func()) (rounds int) {
	tb.Helper()
	lasts := Got(time.ParseDuration(cmp.Or(os.Getenv(killing), "1s")))(tb)
	for end := time.Now().Add(lasts); rounds == 0 || time.Now().Before(end); rounds++ {
		round()
	}
	return rounds
}
