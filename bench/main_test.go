package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/bench/internal/report"
	"github.com/hasp-go/hasp/conformance/servers"
)

// TestRun measures a little of the most on each kind of driver, and looks at what is printed, drawn and kept.
func TestRun(t *testing.T) {
	servers.Need(t, servers.Redis)
	dir := t.TempDir()
	file := filepath.Join(dir, "runs")
	var table, errs bytes.Buffer
	args := []string{
		"-backends", "rueidis,embedded", "-workloads", "lock_pair,hand_over,wake_up,overload", "-rounds", "2", "-turn", "2ms", "-sizes", "64,8,1,50,120",
		"-file", file, "-plots", dir, "-peers", "setnx,redsync,redislock,rueidislock,valkeylock",
	}
	require.Zero(t, program.Run(&table, &errs, args), "%s", &errs)
	for _, part := range []string{
		"lock_pair/64 on rueidis, redis", "to bare", "redsync", "rueidislock", "hand_over/64 on embedded, none", "granted-share",
	} {
		require.Contains(t, table.String(), part)
	}
	require.Contains(t, errs.String(), "left: lock_pair of 64 goroutines on rueidis, Redis")
	lines := strings.Split(strings.TrimSpace(table.String()), "\n")
	require.Regexp(t, `^ratio lock_pair/64 rueidis/bare=\d+\.\d{3} `, lines[len(lines)-1])
	for _, name := range []string{"drivers.svg", "hand_over.svg", "wake_up.svg", "pairs.svg", "overload.svg"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Contains(t, string(text), "</svg>", name)
	}
	checkKept(t, file)
	var compared bytes.Buffer
	args = []string{"-backends", "embedded", "-workloads", "lock_pair", "-rounds", "2", "-turn", "2ms", "-compare", file, "-format", "benchstat"}
	require.Zero(t, program.Run(&compared, &errs, args), "%s", &errs)
	require.Regexp(t, `BenchmarkLockPair/hasp/embedded/none/64 1 \d+ ns/op`, compared.String())
	require.Regexp(t, `LockPair/bare/embedded/none/64 +allocs/op`, errs.String())
}

// checkKept checks the run in a file.
func checkKept(t *testing.T, file string) {
	t.Helper()
	kept, err := report.Last(file)
	require.NoError(t, err)
	require.NotEmpty(t, kept.Versions["redis"])
	require.NotEmpty(t, kept.Versions["github.com/redis/rueidis"])
	for _, row := range kept.Rows {
		stuck := slices.Max(append(row.Values["stuck"], 0)) > 0
		if stuck { // A peer may lose a wake-up, and has no speed then.
			require.Contains(t, []string{"rueidislock", "valkeylock"}, row.Subject)
			continue
		}
		require.Len(t, row.Values["ops/s"], 2, "%s of %s", row.Workload, row.Subject)
		for _, speed := range row.Values["ops/s"] {
			if row.Workload == "overload" { // Perhaps nothing is granted in time.
				continue
			}
			require.Positive(t, speed, "%s of %s", row.Workload, row.Subject)
		}
		if row.Workload == "hand_over" && row.Server == "redis" {
			require.Positive(t, row.Values["commands/op"][0])
		}
	}
}

// TestRateMemory: the server keeps one short text of a throttle's name, and an entry for each permit of a RateLimiter.
func TestRateMemory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs")
	var out, errs bytes.Buffer
	args := []string{"-backends", "goredis", "-workloads", "rate_memory", "-sizes", "10,1000", "-file", file}
	require.Zero(t, program.Run(&out, &errs, args), "%s", &errs)
	kept, err := report.Last(file)
	require.NoError(t, err)
	require.Len(t, kept.Rows, 2*4)
	for _, row := range kept.Rows {
		per := row.Values["B/name"][0]
		if row.Subject == "RateLimiter" {
			require.Greater(t, per, 60*float64(row.Size))
			continue
		}
		require.InDelta(t, 88, per, 40, row.Subject)
	}
}

// TestAway: while the server is killed, a service serves no request or all of them, as it has chosen.
func TestAway(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs")
	var out, errs bytes.Buffer
	args := []string{"-backends", "rueidis", "-workloads", "away", "-turn", "2ms", "-file", file}
	require.Zero(t, program.Run(&out, &errs, args), "%s", &errs)
	kept, err := report.Last(file)
	require.NoError(t, err)
	allowed := map[string]float64{}
	for _, row := range kept.Rows {
		allowed[row.Subject] = row.Values["killed-allowed%"][0]
	}
	require.Equal(t, map[string]float64{"Refuse": 0, "Admit": 100, "LocalShare": 100}, allowed)
}

// TestFlags: what there is not is said, with what there is.
func TestFlags(t *testing.T) {
	for flag, told := range map[string]string{
		"-backends": "there are rueidis", "-servers": "there are redis", "-workloads": "there are lock_pair",
		"-peers": "there are redis_rate", "-links": "invalid duration", "-format": "there are table",
		"-sizes": "there are 1, 2",
	} {
		var errs bytes.Buffer
		require.Equal(t, 1, program.Run(&bytes.Buffer{}, &errs, []string{flag, "nothing"}))
		require.Contains(t, errs.String(), told)
	}
}
