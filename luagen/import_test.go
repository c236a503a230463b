package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestImport writes drafts of the scripts of testdata/import: its want.txt has what they are, and what vet finds there.
func TestImport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/import")))
	code, out, errs := luagen("import", dir)
	require.Equal(t, 1, code)
	got := out + errs
	for path := range strings.Lines(out) {
		path, _, _ = strings.Cut(path, ": from ")
		got += "\n== " + path + "\n" + read(t, path)
	}
	expect(t, "testdata/import/want.txt", []byte(strings.ReplaceAll(got, dir+string(filepath.Separator), "")))

	// Another run writes nothing, and says so.
	before := read(t, dir, "take_typed.lua")
	write(t, dir, "take.lua", "return redis.call('del', KEYS[1])\n")
	_, out, errs = luagen("import", filepath.Join(dir, "take.lua"))
	require.Empty(t, out)
	require.Contains(t, errs, "take_typed.lua exists: not written for ")
	require.Equal(t, before, read(t, dir, "take_typed.lua"))
}

// TestImportJSON: the findings are those of vet, and the notes have what was written.
func TestImportJSON(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.lua")
	write(t, dir, "a.lua", "redis.call('setex', KEYS[1], 10) return ARGV[99999999999999999999]\n")
	code, out, errs := luagen("import", "-json", path)
	require.Equal(t, 1, code)
	require.Empty(t, errs)
	var report jsonReport
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	draft := filepath.Join(dir, "a_typed.lua")
	require.Equal(t, []string{draft + ": from " + path}, report.Notes)
	require.Len(t, report.Findings, 1)
	require.Equal(t, draft, report.Findings[0].File)
	require.Equal(t, "command", report.Findings[0].Rule)
}

// TestImportedDraftsGenerate: a draft without findings is ready for its Go file.
func TestImportedDraftsGenerate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"take.lua", "mget.lua"} {
		write(t, dir, name, read(t, "testdata/import", name))
	}
	code, _, errs := luagen("import", dir)
	require.Equal(t, 0, code, errs)
	drafts := must(filepath.Glob(filepath.Join(dir, "*_typed.lua")))(t)
	require.Len(t, drafts, 2)
	code, _, errs = luagen(slices.Concat([]string{"-p", "scripts"}, drafts)...)
	require.Equal(t, 0, code, errs)
}
