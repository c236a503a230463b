package redisson_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

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
