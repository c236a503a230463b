package workloads

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/bench/benchmark"
	"github.com/hasp-go/hasp/bench/drivers"
	"github.com/hasp-go/hasp/bench/internal/report"
	"github.com/hasp-go/hasp/conformance/servers"
)

// TestLeases holds a few leases for a moment, of which none is lost.
func TestLeases(t *testing.T) {
	t.Parallel()
	servers.Need(t, servers.Redis)
	few := benchmark.Workload{
		Name: "few", Sizes: []int{50}, Subjects: on(func(s *setup) []benchmark.Subject { return s.hold(time.Millisecond) }),
	}
	program := benchmark.Program{Drivers: drivers.All()[:1], Workloads: []benchmark.Workload{few}}
	var out, errs bytes.Buffer
	require.Zero(t, program.Run(&out, &errs, []string{"-rounds", "1", "-format", "json"}), "%s", &errs)
	var r report.Run
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	require.Len(t, r.Rows, 1)
	values := r.Rows[0].Values
	require.Equal(t, []float64{0}, values["lost%"])
	require.Positive(t, values["B/lease"][0])
	require.Contains(t, values, "scripts/s")
}
