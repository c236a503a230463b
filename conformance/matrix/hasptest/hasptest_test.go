// Package hasptest_test judges the backends of package hasptest, and the primitives over them while they have faults.
package hasptest_test

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/counting"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/exclusive"
	"github.com/hasp-go/hasp/conformance/fairlock"
	"github.com/hasp-go/hasp/conformance/mutex"
	"github.com/hasp-go/hasp/conformance/permits"
	"github.com/hasp-go/hasp/conformance/readwrite"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/hasptest"
)

func TestMain(m *testing.M) { os.Exit(conformance.Main(m)) }

// server is one of package hasptest, as the harness takes it.
type server struct {
	*embedded.Server
	faults *hasptest.Server
}

// endless is a test at whose end nothing is closed: the cases do that, some in bubbles of their own.
type endless struct{ testing.TB }

func (endless) Cleanup(func()) {}

// newHarness returns a harness on servers to which begin is done when they start.
func newHarness(t *testing.T, begin func(s *hasptest.Server)) *conformance.Harness {
	t.Helper()
	start := func() server {
		s := hasptest.New(endless{t})
		begin(s)
		return server{s.Embedded(), s}
	}
	open := func(s server) (backend.Backend, error) { return s.faults.Backend(), nil }
	return servers.InProcess(start, open)
}

// TestContract judges backends without faults, and over a slow link, by the clauses of package backend.
func TestContract(t *testing.T) {
	t.Parallel()
	for _, latency := range []time.Duration{0, time.Millisecond} {
		t.Run(latency.String(), func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, func(s *hasptest.Server) { s.SetLatency(latency) })
			report := conformance.Run(t, h, conformance.PartRunner, conformance.PartSubscriber)
			require.Empty(t, report.Failed)
			require.GreaterOrEqual(t, len(report.Passed), 39) // Other cases need faults of a network.
		})
	}
}

// TestHistories has many clients work in virtual time while the server has faults: the models explain what
// the clients see, and nobody waits for too long. Of permits without an owner some may be lost then, as is
// documented, and the suite expects each permit back that it did not lose itself.
func TestHistories(t *testing.T) {
	t.Parallel()
	h := newHarness(t, spoil)
	for _, p := range []engine.Subject{
		exclusive.Lock, exclusive.Fenced, exclusive.Spin, exclusive.Plain, fairlock.Primitive, readwrite.Primitive,
		counting.Primitive, counting.ByArrival, mutex.Primitive, permits.Primitive,
	} {
		var reached engine.Coverage
		t.Run(p.String(), func(t *testing.T) { p.Histories(t, h, &reached) })
		require.NotEmpty(t, reached.String())
	}
}

// spoil makes a fault now and then, for as long as anybody works, the same in each bubble.
func spoil(s *hasptest.Server) {
	draw := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // No secret.
	within := func(d time.Duration) time.Duration { return time.Duration(1 + draw.Int64N(int64(d))) }
	faults := []func(){
		func() { s.FailAcquires(1) }, func() { s.LoseAnswers(1) }, func() { s.LoseAnswersOf(hasptest.Releases, 1) },
		func() { s.SetLatency(within(100 * time.Millisecond)) }, func() { s.Away(within(time.Second)) },
	}
	var again func()
	again = func() {
		faults[draw.IntN(len(faults))]()
		time.AfterFunc(within(2*time.Second), again)
	}
	time.AfterFunc(within(2*time.Second), again)
}
