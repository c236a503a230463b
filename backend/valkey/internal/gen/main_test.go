package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const adapter = "../.." // from this folder

func TestAdapterIsCurrent(t *testing.T) {
	t.Parallel()
	from := filepath.Join(adapter, "../rueidis")
	if _, err := os.Stat(from); os.IsNotExist(err) {
		t.Skip("the adapter of rueidis is not beside this one: this is not the repository")
	}
	want, err := generate(from)
	require.NoError(t, err)
	got, err := generated(adapter)
	require.NoError(t, err)
	for name, content := range want {
		require.Equal(t, string(content), string(got[name]), "%s: run go generate", name)
	}
	require.Len(t, got, len(want), "files left over: run go generate")
}

func TestWriteReplacesAndRemoves(t *testing.T) {
	t.Parallel()
	from, to := t.TempDir(), t.TempDir()
	put := func(folder, name, content string) {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	}
	put(from, "a.go", "package rueidisbackend\nvar x rueidis.RedisError\n")
	put(from, "doc.go", "package rueidisbackend\n")
	put(to, "old.go", header+"package valkeybackend\n")
	put(to, "doc.go", "package valkeybackend\n")

	require.NoError(t, write(from, to))

	content, err := os.ReadFile(filepath.Join(to, "a.go"))
	require.NoError(t, err)
	require.Equal(t, header+"package valkeybackend\n\nvar x valkey.ValkeyError\n", string(content))
	require.NoFileExists(t, filepath.Join(to, "old.go"))
	content, err = os.ReadFile(filepath.Join(to, "doc.go"))
	require.NoError(t, err)
	require.Equal(t, "package valkeybackend\n", string(content))
}

func TestConvertRefusesOtherUses(t *testing.T) {
	t.Parallel()
	_, err := convert([]byte("package x\n// of rueidis\n"))
	require.ErrorContains(t, err, "line 2")
}
