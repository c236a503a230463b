package conformance

import (
	"flag"
	"os"
	"testing"

	_ "pgregory.net/rapid" // It has the flag that Main sets.

	"github.com/hasp-go/hasp/conformance/harness"
)

// Main runs the tests of m with -parallel 16, unless another number is given, and returns the exit code. The cases
// mostly wait, so there should be more of them at once than the machine has processors:
//
//	func TestMain(m *testing.M) { os.Exit(conformance.Main(m)) }
//
// If the variable HASP_SEED is set, all that is random is drawn from that number, and not from another one each time.
func Main(m *testing.M) int {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", "16")
	}
	// The traceback of a panic in a driver's goroutine then names what the case was about (clause R12).
	_ = os.Setenv("GODEBUG", os.Getenv("GODEBUG")+",tracebacklabels=1")
	if seed := os.Getenv("HASP_SEED"); seed != "" {
		if err := flag.Set("rapid.seed", seed); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

// Patience bounds every case.
const Patience = harness.Patience

// Harness is what the suite needs to judge an adapter against one server or cluster.
type Harness = harness.Harness

// Instance is one backend, with the client that it was made from.
type Instance = harness.Instance

// Case is one thing that a clause of a contract asks for.
type Case = harness.Case
