package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/perf/benchfmt"

	"github.com/hasp-go/hasp/bench/internal/report"
)

// quick are the flags of a run of a moment, in this process.
var quick = []string{"-backends", "embedded", "-workloads", "lock_pair,long_add", "-sizes", "1,8", "-rounds", "2", "-turn", "2ms"}

// quickly makes a quick run with more flags.
func quickly(t *testing.T, flags ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	require.Zero(t, program.Run(&out, &errs, append(append([]string{}, quick...), flags...)), "%s", &errs)
	return out.String(), errs.String()
}

// older keeps a run of one row in a file, and returns the file.
func older(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "older.json")
	r := report.New(nil)
	r.Rows = []report.Row{{
		Workload: "lock_pair", Subject: "hasp", Backend: "embedded", Server: "none", Size: 8,
		Values: map[string][]float64{"ops/s": {7, 7}, "allocs/op": {123, 123}},
	}}
	require.NoError(t, r.Append(file))
	return file
}

// TestCompare: a run is compared with the last one that the file had before.
func TestCompare(t *testing.T) {
	t.Parallel()
	file := older(t)
	out, _ := quickly(t, "-compare", file, "-file", file)
	require.Regexp(t, `LockPair/hasp/embedded/none/8 +ops/s +7\.00 +\d`, out)
	require.Regexp(t, `LockPair/hasp/embedded/none/8 +allocs/op +123 +\d`, out)
	require.NotRegexp(t, `LongAdd/\S+ +ops/s`, out, "the older run has none")
	out, _ = quickly(t, "-compare", file)
	require.Regexp(t, `LongAdd/bare/embedded/none/1 +ops/s +\d`, out)
	require.NoError(t, os.WriteFile(file, []byte(`{"rows":[]}`), 0o600))
	out, _ = quickly(t, "-compare", file)
	require.Contains(t, out, "nothing that both runs have measured")
}

// TestFormatJSON: stdout is one run as JSON, and nothing else, also if it is compared.
func TestFormatJSON(t *testing.T) {
	t.Parallel()
	out, errs := quickly(t, "-format", "json", "-compare", older(t))
	var r report.Run
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Len(t, r.Rows, 8, "two workloads, sizes and subjects")
	require.Equal(t, append(quick, "-format", "json", "-compare"), r.Command[:len(quick)+3])
	for _, row := range r.Rows {
		require.Len(t, row.Values["ops/s"], 2)
		require.Len(t, row.Values["allocs/op"], 2)
	}
	require.Regexp(t, `LockPair/hasp/embedded/none/8 +ops/s +7\.00`, errs)
}

// TestFormatBenchstat: benchstat reads each line of stdout, and finds the figures.
func TestFormatBenchstat(t *testing.T) {
	t.Parallel()
	out, errs := quickly(t, "-format", "benchstat", "-compare", older(t))
	require.Regexp(t, `LockPair/hasp/embedded/none/8 +ops/s +7\.00`, errs)
	reader := benchfmt.NewReader(strings.NewReader(out), "stdout")
	seen := map[string]int{}
	for reader.Scan() {
		result, ok := reader.Result().(*benchfmt.Result)
		require.True(t, ok, "%v", reader.Result())
		require.NotContains(t, result.GetConfig("goos"), "/")
		require.NotEmpty(t, result.GetConfig("goarch"))
		seen[string(result.Name.Full())]++
		for _, unit := range []string{"sec/op", "allocs/op", "client-cpu%"} {
			_, found := result.Value(unit)
			require.True(t, found, "%s of %s", unit, result.Name)
		}
	}
	require.NoError(t, reader.Err())
	require.Len(t, seen, 8)
	require.Equal(t, 2, seen["LongAdd/bare/embedded/none/1"])
	require.Len(t, strings.Split(strings.TrimSpace(out), "\n"), 3+16, "nothing else")
}

// TestFrom: the last run of a file is printed and drawn, and nothing is measured.
func TestFrom(t *testing.T) {
	t.Parallel()
	file, plots := older(t), t.TempDir()
	r := report.New(nil)
	for _, size := range []int{10_000, 1_000_000} {
		r.Rows = append(r.Rows, report.Row{
			Workload: "leases", Subject: "hasp", Backend: "rueidis", Server: "redis", Size: size,
			Values: map[string][]float64{"B/lease": {900}, "client-cpu%": {float64(size) / 1e5}, "server-cpu%": {0}},
		})
	}
	require.NoError(t, r.Append(file))
	out, errs := quickly(t, "-from", file, "-plots", plots)
	require.Regexp(t, `leases/1000000 on rueidis(.|\n)* 900\s`, out)
	require.NotContains(t, out+errs, "lock_pair")
	drawn, err := filepath.Glob(filepath.Join(plots, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(plots, "leases.svg")}, drawn)
}

// TestFaultsBeforeTheRun: a run reports wrong flags before it measures anything.
func TestFaultsBeforeTheRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ flag, value, told string }{
		{"-format", "xml", "there are table, json, benchstat"}, {"-compare", "nowhere", "nowhere"}, {"-from", "nowhere", "nowhere"},
	} {
		var out, errs bytes.Buffer
		require.Equal(t, 1, program.Run(&out, &errs, append(append([]string{}, quick...), c.flag, c.value)))
		require.Contains(t, errs.String(), c.told)
		require.NotContains(t, errs.String(), "left:", "a step began")
		require.Empty(t, out.String())
	}
}
