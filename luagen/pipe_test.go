//go:build unix

package main

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPipesAreRefused: a read of a named pipe blocks, wherever it stands.
func TestPipesAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a.lua", "lib.lua", "b.lua.go", "c.go", "gone.lua.go"} {
		dir := filepath.Join(t.TempDir(), "p")
		write(t, dir, "b.lua", "---@include lib.lua\n"+goodScript)
		pipe := filepath.Join(dir, name)
		require.NoError(t, syscall.Mkfifo(pipe, 0o600))
		code, _, errs := luagen(dir)
		require.Equal(t, 1, code, name)
		require.NotEmpty(t, errs)
		code, _, _ = luagen("vet", dir)
		require.Equal(t, 1, code, name)
	}
	device := filepath.Join(t.TempDir(), "zero.lua")
	require.NoError(t, syscall.Symlink("/dev/zero", device))
	code, _, errs := luagen("vet", device)
	require.Equal(t, 1, code)
	require.Equal(t, "luagen: "+device+" is no regular file\n", errs)
}
