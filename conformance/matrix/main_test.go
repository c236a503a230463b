// Package matrix runs every adapter against every server and topology through the conformance
// suite, and the experiments that the primitives have to pass on all of them. It has tests only.
package matrix

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/servers"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silent{}) // It prints every dial that the tests make fail.
	code := conformance.Main(m)
	if len(results.text) > 0 {
		fmt.Print("\n", results)
	}
	if err := servers.CloseShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// silent drops what go-redis logs.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
