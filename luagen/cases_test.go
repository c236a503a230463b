package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the files that cases expect")

// TestCases runs luagen on the in.lua of each folder of testdata/cases, and expects want.go there,
// or stderr.txt.
func TestCases(t *testing.T) {
	t.Parallel()
	folders := must(filepath.Glob("testdata/cases/*/in.lua"))(t)
	require.Greater(t, len(folders), 30)
	for _, in := range folders {
		dir := filepath.Dir(in)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			out := t.TempDir()
			args := append([]string{"-o", out, "-p", "cases"}, flagsOf(t, dir)...)
			code, stdout, stderr := luagen(append(args, filepath.Join(dir, "in.lua"))...)
			require.Empty(t, stdout)
			generated, err := os.ReadFile(filepath.Join(out, "in.lua.go"))
			findings := strings.ReplaceAll(stderr, dir+string(filepath.Separator), "")
			if code == 0 {
				require.NoError(t, err)
				require.Empty(t, findings)
			} else {
				require.Equal(t, 1, code, findings)
				require.Error(t, err, "written in spite of findings")
			}
			expect(t, filepath.Join(dir, "want.go"), generated)
			expect(t, filepath.Join(dir, "stderr.txt"), []byte(findings))
		})
	}
}

// flagsOf returns the flags of a case, which stand in its flags.txt.
func flagsOf(t *testing.T, dir string) []string {
	t.Helper()
	flags, err := os.ReadFile(filepath.Join(dir, "flags.txt"))
	if err != nil {
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	return strings.Fields(string(flags))
}

// TestSoundScripts: no sound script has a finding, and each other one has some. What a case expects
// can be written again in a hurry; this cannot.
func TestSoundScripts(t *testing.T) {
	t.Parallel()
	scripts := must(filepath.Glob("testdata/cases/*/in.lua"))(t)
	sound := 0
	for _, path := range scripts {
		dir := filepath.Dir(path)
		code, out, errs := luagen(append(append([]string{"vet"}, flagsOf(t, dir)...), path)...)
		require.Empty(t, out)
		if strings.HasPrefix(filepath.Base(dir), "bad_") {
			require.Equal(t, 1, code, path)
			continue
		}
		require.NotRegexp(t, `(?m)^[^:]*\.lua:|\]$`, errs) // It may have notes.
		require.Equal(t, 0, code, path)
		sound++
	}
	require.Greater(t, sound, 150)
}

// TestFindings holds what vet finds in all scripts of testdata, so that a change of a rule, or of what rules know, shows
// all that it changes. What is new, or gone, in a script that is sound, or bad, needs a look.
func TestFindings(t *testing.T) {
	t.Parallel()
	args := []string{"vet", "-strict"}
	require.NoError(t, filepath.WalkDir("testdata", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".lua" {
			args = append(args, path)
		}
		return err
	}))
	_, _, errs := luagen(args...)
	lines := slices.Sorted(strings.Lines(strings.ReplaceAll(errs, "testdata/", "")))
	expect(t, "testdata/findings.txt", []byte(strings.Join(lines, "")))
}

// TestFlowFindsNothing: the package that follows a script names no rule, and makes no finding.
func TestFlowFindsNothing(t *testing.T) {
	t.Parallel()
	for _, path := range must(filepath.Glob("internal/check/flow/*.go"))(t) {
		require.NotRegexp(t, `\bFinding\b|internal/check"`, read(t, path), path)
	}
}

// expect compares got with a file, which must be missing if got is empty.
func expect(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update && len(got) > 0 {
		require.NoError(t, os.WriteFile(path, got, 0o644))
	} else if *update {
		require.NoError(t, os.RemoveAll(path))
	}
	want, err := os.ReadFile(path)
	if len(got) == 0 {
		require.ErrorIs(t, err, os.ErrNotExist)
		return
	}
	require.NoError(t, err, "run go test -update and look at what it writes:\n%s", got)
	require.Equal(t, string(want), string(got))
}

// TestSoundScriptsRun: the scripts that luagen must not refuse are sound. Each line of a case's
// calls.txt is a call, with its reply behind "->", where "*" is any: "|" stands between keys and
// arguments. A line that begins with "!" is a command of somebody else.
func TestSoundScriptsRun(t *testing.T) {
	t.Parallel()
	cases := must(filepath.Glob("testdata/cases/*/calls.txt"))(t)
	require.GreaterOrEqual(t, len(cases), 30)
	onServers(t, func(t *testing.T, c *client) {
		for _, path := range cases {
			dir := filepath.Dir(path)
			text := shipped(t, dir, read(t, dir, "in.lua"))
			require.NoError(t, errOf(c.do("FLUSHALL")))
			for line := range strings.Lines(read(t, path)) {
				if other, ok := strings.CutPrefix(line, "! "); ok {
					require.NoError(t, errOf(c.do(strings.Fields(other)...)), "%s: %s", path, line)
					continue
				}
				words, want, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " -> ")
				require.True(t, ok, "%s: %s", path, line)
				keys, args, _ := strings.Cut(words, "|")
				call := append([]string{"EVAL", text, strconv.Itoa(len(strings.Fields(keys)))}, strings.Fields(keys+args)...)
				reply, err := c.do(call...)
				got := fmt.Sprint(reply)
				if err != nil {
					got = err.Error()
				}
				if want != "*" {
					require.Equal(t, want, got, "%s: %s", path, line)
				}
			}
		}
	})
}
