package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/bench/internal/measure"
	"github.com/hasp-go/hasp/bench/internal/report"
	"github.com/hasp-go/hasp/conformance/servers"
)

// planned returns the steps of a run with these flags.
func planned(t *testing.T, workloads, backends, links string) []step {
	t.Helper()
	o := options{
		backends: backends, servers: "redis", workloads: workloads, peers: "setnx,redisson", links: links,
		sizes: "short", rounds: 1, format: report.Table,
	}
	plan, err := o.plan()
	require.NoError(t, err)
	return plan
}

// TestWithoutRedisson: where no Java is, the rest is measured, and stderr says what is left out.
func TestWithoutRedisson(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	plan := planned(t, "lock_pair,mutex_pair", "rueidis,embedded", "0")
	var errs bytes.Buffer
	versions := map[string]string{}
	withRedisson(plan, &errs, versions)
	require.Equal(t, 1, strings.Count(errs.String(), "\n"))
	require.Regexp(t, `^redisson is left out: .*Java 17 and Maven`, errs.String())
	require.Empty(t, versions)
	for _, s := range plan {
		require.Equal(t, []string{"setnx"}, s.peers)
	}
}

// TestRedissonOnlyBesideLocks: nothing is fetched for workloads that no Redisson client takes part in.
func TestRedissonOnlyBesideLocks(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, of := range []struct{ workloads, backends string }{
		{"mutex_pair,wake_up,hand_over_5ms,leases", "rueidis,goredis"}, {"lock_pair,hand_over", "embedded"},
	} {
		var errs bytes.Buffer
		withRedisson(planned(t, of.workloads, of.backends, "0"), &errs, map[string]string{})
		require.Empty(t, errs.String())
	}
}

// TestRedisson measures a Redisson client beside ours, through a link, too.
func TestRedisson(t *testing.T) {
	if os.Getenv("HASP_REDISSON") == "" {
		t.Skip("HASP_REDISSON is not set: it takes Java 17, Maven, and what Maven fetches")
	}
	servers.Need(t, servers.Redis)
	for _, args := range [][]string{{"-workloads", "lock_pair", "-sizes", "8"}, {"-workloads", "hand_over", "-sizes", "2", "-links", "1ms"}} {
		var out, errs bytes.Buffer
		args = append(args, "-backends", "rueidis", "-peers", "redisson", "-rounds", "2", "-turn", "20ms", "-format", "json")
		require.Zero(t, run(&out, &errs, args), "%s", &errs)
		var r report.Run
		require.NoError(t, json.Unmarshal(out.Bytes(), &r))
		require.NotEmpty(t, r.Versions["redisson"])
		checkRedisson(t, r.Rows[len(r.Rows)-1])
	}
}

func checkRedisson(t *testing.T, row measure.Row) {
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

// TestLinks: each workload is measured through a link once, but for those that are about the server alone, and
// what has no server.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, s := range planned(t, "all", "rueidis,embedded", "1ms") {
		require.NotEqual(t, "embedded", s.backend)
		require.Equal(t, s.workload.Name != "scripts", s.link > 0, s.workload.Name)
	}
	require.Len(t, planned(t, "scripts", "rueidis", "0,1ms"), 1)
}
