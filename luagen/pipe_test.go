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
		require.NoError(t, syscall.Mkfifo(filepath.Join(dir, name), 0o600))
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

// TestUnreadFilesAreNamed: what cannot be read in a folder ends no run.
func TestUnreadFilesAreNamed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "p")
	write(t, dir, "a.lua", badScript)
	code, _, want := luagen("vet", dir)
	require.Equal(t, 1, code)
	require.NoError(t, syscall.Symlink("user@host.17", filepath.Join(dir, ".#a.lua")))
	_, _, errs := luagen("vet", dir)
	require.Equal(t, want, errs)
	pipe, link := filepath.Join(dir, "a.go"), filepath.Join(dir, "b.lua")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, syscall.Symlink("gone.lua", link))
	_, _, errs = luagen("vet", dir)
	require.Equal(t, "luagen: not seen: "+pipe+" is no regular file\n"+
		"luagen: not seen: stat "+link+": no such file or directory\n"+want, errs)
	code, _, errs = luagen("import", dir)
	require.Equal(t, 0, code, errs)
	require.Contains(t, errs, link)
	code, _, errs = luagen("vet", "-commands", pipe, dir)
	require.Equal(t, 2, code)
	require.Contains(t, errs, "is no regular file")
	require.NoError(t, syscall.Unlink(link))
	write(t, dir, "a.lua", goodScript)
	code, _, errs = luagen(dir)
	require.Equal(t, 0, code, errs)
}
