package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/bench/internal/report"
	"github.com/hasp-go/hasp/conformance/servers"
)

// TestRedisson measures a Redisson client beside ours, through a link, too.
func TestRedisson(t *testing.T) {
	if os.Getenv("HASP_REDISSON") == "" {
		t.Skip("HASP_REDISSON is not set: it takes Java 17, Maven, and what Maven fetches")
	}
	servers.Need(t, servers.Redis)
	for _, args := range [][]string{{"-workloads", "lock_pair", "-sizes", "8"}, {"-workloads", "hand_over", "-sizes", "2", "-links", "1ms"}} {
		var out, errs bytes.Buffer
		args = append(args, "-backends", "rueidis", "-peers", "redisson", "-rounds", "2", "-turn", "20ms", "-format", "json")
		require.Zero(t, program.Run(&out, &errs, args), "%s", &errs)
		var r report.Run
		require.NoError(t, json.Unmarshal(out.Bytes(), &r))
		require.NotEmpty(t, r.Versions["redisson"])
		checkRedisson(t, r.Rows[len(r.Rows)-1])
	}
}

func checkRedisson(t *testing.T, row report.Row) {
	t.Helper()
	require.Equal(t, "redisson", row.Subject)
	for _, unit := range []string{"ops/s", "commands/op", "scripts/op"} {
		require.Len(t, row.Values[unit], 2)
		require.Positive(t, row.Values[unit][0], unit)
	}
	require.Contains(t, row.Values, "client-us/op")
	require.NotContains(t, row.Values, "allocs/op", "it would be ours")
	if row.Workload == "hand_over" {
		require.Positive(t, row.Values["p99-us"][0])
		require.GreaterOrEqual(t, row.Values["most"][0], row.Values["least"][0])
	}
}
