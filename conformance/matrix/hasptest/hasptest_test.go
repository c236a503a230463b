// Package hasptest_test judges the backends of package hasptest.
package hasptest_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance"
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

// TestContract judges backends without faults, and over a slow link, by the clauses of package backend.
func TestContract(t *testing.T) {
	t.Parallel()
	for _, latency := range []time.Duration{0, time.Millisecond} {
		t.Run(latency.String(), func(t *testing.T) {
			t.Parallel()
			start := func() server {
				s := hasptest.New(endless{t})
				s.SetLatency(latency)
				return server{s.Embedded(), s}
			}
			h := servers.InProcess(start, func(s server) (backend.Backend, error) { return s.faults.Backend(), nil })
			report := conformance.Run(t, h, conformance.PartRunner, conformance.PartSubscriber)
			require.Empty(t, report.Failed)
			require.GreaterOrEqual(t, len(report.Passed), 39) // Other cases need faults of a network.
		})
	}
}
