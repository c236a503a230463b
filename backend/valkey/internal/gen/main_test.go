package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

const adapter = "../.." // from this folder

// source returns the folder of the adapter of rueidis.
func source(t *testing.T) string {
	t.Helper()
	from, err := filepath.Abs(filepath.Join(adapter, "../rueidis"))
	require.NoError(t, err)
	if _, err := os.Stat(from); os.IsNotExist(err) {
		t.Skip("the adapter of rueidis is not beside this one: this is not the repository")
	}
	return from
}

func TestAdapterIsCurrent(t *testing.T) {
	t.Parallel()
	want, err := generate(source(t), false)
	require.NoError(t, err)
	got, err := generated(adapter)
	require.NoError(t, err)
	for name, content := range want {
		require.Equal(t, string(content), string(got[name]), "%s: run go generate", name)
	}
	require.Len(t, got, len(want), "files left over: run go generate")
}

// TestTestsOfRueidis runs the tests of the adapter of rueidis on this one, with the names of valkey-go. The go command
// reads them where they are not, by an overlay.
func TestTestsOfRueidis(t *testing.T) {
	t.Parallel()
	from, to, replace := source(t), t.TempDir(), map[string]string{}
	files, err := generate(from, true)
	require.NoError(t, err)
	for name, content := range files {
		path := filepath.Join(to, name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		replace[filepath.Join(from, "../valkey", name)] = path
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	overlay := filepath.Join(to, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, list, 0o600))
	args := []string{"test", "-vet=off", "-count=1", "-short=" + strconv.FormatBool(testing.Short()), "-overlay=" + overlay, "."}
	built, _ := debug.ReadBuildInfo()
	if slices.Contains(built.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		args = slices.Insert(args, 1, "-race")
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = adapter
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "ok  \tgithub.com/hasp-go/hasp/backend/valkey\t")
}
