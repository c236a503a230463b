package redisson_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/redisson"
)

// TestPrepare: it says what is missing.
func TestPrepare(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the tools are scripts of a shell")
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	require.ErrorContains(t, redisson.Prepare(), `"java"`)
	tool(t, dir, "java", "exit 1")
	require.ErrorContains(t, redisson.Prepare(), `"javac"`)
	tool(t, dir, "javac", "exit 1")
	require.ErrorContains(t, redisson.Prepare(), `"mvn"`)
	tool(t, dir, "mvn", "exit 1")
	require.ErrorContains(t, redisson.Prepare(), "java --version says")
	tool(t, dir, "java", "echo hello")
	require.ErrorContains(t, redisson.Prepare(), "it takes Java 17")
	tool(t, dir, "java", `echo 'openjdk 11.0.2 2019-01-15'`)
	require.ErrorContains(t, redisson.Prepare(), "openjdk 11.0.2")
}

// tool makes a program in dir, which a shell runs.
func tool(t *testing.T, dir, name, script string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700)) //nolint:gosec // It runs.
}

// TestMeasure runs contests of both kinds, and kills the client.
func TestMeasure(t *testing.T) {
	if os.Getenv("HASP_REDISSON") == "" {
		t.Skip("HASP_REDISSON is not set: it takes Java 17, Maven, and what Maven fetches")
	}
	require.NoError(t, redisson.Prepare())
	server := servers.Start(t, servers.Redis, nil)
	client := redisson.Start(t, false, server.Addr())
	for _, own := range []bool{false, true} {
		m, err := client.Measure(t.Context(), redisson.Contest{
			Name: "lock", Threads: 3, Own: own, Lasts: 200 * time.Millisecond, Patience: 10 * time.Second,
		})
		require.NoError(t, err)
		require.Zero(t, m.Stuck)
		require.Positive(t, m.Ops)
		require.LessOrEqual(t, m.Least, m.Most)
		require.LessOrEqual(t, m.Most, m.Ops)
		require.GreaterOrEqual(t, m.Took, 200*time.Millisecond)
		require.Len(t, m.Waits, 101)
		require.IsNonDecreasing(t, m.Waits)
	}
	reply, err := server.Do("EXISTS", "lock", "lock0", "lock1", "lock2")
	require.NoError(t, err)
	left, err := reply.Int()
	require.NoError(t, err)
	require.Zero(t, left)
	_, err = server.Do("SET", "text", "no lock")
	require.NoError(t, err)
	_, err = client.Measure(t.Context(), redisson.Contest{Name: "text", Threads: 1, Lasts: time.Second, Patience: time.Second})
	require.ErrorContains(t, err, "measure.shared: java.util.concurrent.ExecutionException: ") // 3.27.2 loses WRONGTYPE.
	require.NoError(t, client.Kill())
	_, err = client.Do(t.Context(), "lock.isLocked", "lock")
	require.Error(t, err)
}
