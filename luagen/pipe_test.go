//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPipesAreRefused: a read of a named pipe blocks, wherever it stands.
func TestPipesAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a.lua", "lib.lua", "b.lua.go", "c.go", "gone.lua.go"} {
		dir := folder(t, "b.lua", "---@include lib.lua\n"+goodScript)
		require.NoError(t, syscall.Mkfifo(filepath.Join(dir, name), 0o600))
		_, errs := exits(t, 1, dir)
		require.NotEmpty(t, errs)
		exits(t, 1, "vet", dir)
	}
	device := filepath.Join(t.TempDir(), "zero.lua")
	require.NoError(t, syscall.Symlink("/dev/zero", device))
	_, errs := exits(t, 1, "vet", device)
	require.Equal(t, "luagen: "+device+" is no regular file\n", errs)
}

// TestUnreadFilesAreNamed: what cannot be read in a folder ends no run.
func TestUnreadFilesAreNamed(t *testing.T) {
	t.Parallel()
	dir := folder(t, "a.lua", badScript)
	_, want := exits(t, 1, "vet", dir)
	require.NoError(t, syscall.Symlink("user@host.17", filepath.Join(dir, ".#a.lua")))
	_, _, errs := luagen("vet", dir)
	require.Equal(t, want, errs)
	pipe, link := filepath.Join(dir, "a.go"), filepath.Join(dir, "b.lua")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, syscall.Symlink("gone.lua", link))
	_, _, errs = luagen("vet", dir)
	require.Equal(t, "luagen: not seen: "+pipe+" is no regular file\n"+
		"luagen: not seen: stat "+link+": no such file or directory\n"+want, errs)
	_, errs = exits(t, 0, "import", dir)
	require.Contains(t, errs, link)
	_, errs = exits(t, 2, "vet", "-commands", pipe, dir)
	require.Contains(t, errs, "is no regular file")
	require.NoError(t, syscall.Unlink(link))
	write(t, dir, "a.lua", goodScript)
	exits(t, 0, dir)
}

// TestElsewhere: what the hook of pre-commit and the action of GitHub run finds a fault, and exits with 1. GitHub reads where
// from the line.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	dir := folder(t, "a.lua", badScript)
	path := filepath.Join(dir, "a.lua")
	hooks, action := read(t, "..", ".pre-commit-hooks.yaml"), read(t, "action.yml")
	require.YAMLEq(t, hooks, hooks)
	require.YAMLEq(t, action, action)
	entry := strings.Fields(regexp.MustCompile(`(?m)^  entry: (.*)$`).FindStringSubmatch(hooks)[1])
	require.Equal(t, "luagen", entry[0])
	_, want := exits(t, 1, append(entry[1:], path)...)

	temp := t.TempDir()
	_, script, _ := strings.Cut(action, "run: |\n")
	for _, built := range []string{"", filepath.Join(temp, "luagen")} { // The second is what the first has built.
		run := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
		run.Env = append(os.Environ(), "GOWORK=off", "LUAGEN="+built, "FLAGS=-strict", "PATHS="+dir, "RUNNER_TEMP="+temp+built,
			"GITHUB_ACTION_PATH="+must(os.Getwd())(t))
		var errs strings.Builder
		run.Stderr = &errs
		out, _ := run.Output()
		require.Equal(t, 1, run.ProcessState.ExitCode())
		require.Equal(t, want, errs.String())
		require.Contains(t, string(out), "::add-matcher::")
	}
	var matcher struct {
		ProblemMatcher []struct{ Pattern []struct{ Regexp string } }
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, "matcher.json")), &matcher))
	line := regexp.MustCompile(matcher.ProblemMatcher[0].Pattern[0].Regexp).FindStringSubmatch(strings.SplitN(want, "\n", 2)[0])
	require.Equal(t, []string{path, "1", "9", "k is declared and never used", "unused"}, line[1:])
}
