package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

// TestProgram: the driver and the primitive are in the table, the lines for benchstat, the file and the pictures.
func TestProgram(t *testing.T) {
	t.Parallel()
	servers.Need(t, servers.Redis)
	dir := t.TempDir()
	file := filepath.Join(dir, "runs")
	var table, lines, errs bytes.Buffer
	require.Zero(t, program.Run(&table, &errs, []string{
		"-workloads", "barrier_pass,lock_pair", "-peers", "redsync", "-sizes", "1", "-rounds", "2", "-turn", "5ms",
		"-file", file, "-plots", dir,
	}), "%s", &errs)
	require.Regexp(t, `barrier_pass/1 on redigo, redis\n.*\n +hasp .*\n +bare `, &table)
	require.Regexp(t, `lock_pair/1 on rueidis, redis\n(.*\n)+ +redsync `, &table)
	require.Zero(t, program.Run(&lines, &errs, []string{"-from", file, "-format", "benchstat"}), "%s", &errs)
	require.Regexp(t, `BenchmarkBarrierPass/hasp/redigo/redis/1 1 \d+ ns/op`, &lines)
	text, err := os.ReadFile(filepath.Join(dir, "pairs.svg"))
	require.NoError(t, err)
	require.Contains(t, string(text), "barrier pass")
}

// TestUnknownNames: the error lists what the program can measure.
func TestUnknownNames(t *testing.T) {
	t.Parallel()
	for flag, known := range map[string]string{"-backends": "redigo, rueidis", "-workloads": "barrier_pass"} {
		var out, errs bytes.Buffer
		require.Equal(t, 1, program.Run(&out, &errs, []string{flag, "nothing"}))
		require.Contains(t, errs.String(), known)
	}
}
