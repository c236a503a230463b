// Package matrix runs every adapter against every server and topology through the conformance
// suite, and the experiments that the primitives have to pass on all of them. It has tests only.
package matrix

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hasp-go/hasp/conformance/servers"
)

// parallel is how many tests run side by side if -parallel is not given: most of them wait.
const parallel = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", parallel)
	}
	redis.SetLogger(silent{}) // It prints every dial that the tests make fail.
	code := m.Run()
	if err := servers.CloseShared(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// silent drops what go-redis logs.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
