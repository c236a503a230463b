package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// userModule makes the module of a user in an empty folder: its go.mod names this checkout, and
// its go command may not use the network or the workspace.
func userModule(t *testing.T) string {
	t.Helper()
	root := must(filepath.Abs(".."))(t)
	dir := t.TempDir()
	write(t, dir, "go.mod", "module example.test/user\n\ngo 1.25.0\n\n"+
		"require github.com/hasp-go/hasp v0.0.0\n\nreplace github.com/hasp-go/hasp => "+root+"\n")
	return dir
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
}

// folder returns a folder called p with files: the name and the text of each.
func folder(t *testing.T, files ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "p")
	for i := 0; i < len(files); i += 2 {
		write(t, dir, files[i], files[i+1])
	}
	return dir
}

// goTool runs the go command in a user's module and returns what it prints.
func goTool(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=off", "GOFLAGS=-mod=mod", "GOSUMDB=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// TestWantedFilesBuild compiles the want.go of every case, each as a package of a user's module.
func TestWantedFilesBuild(t *testing.T) {
	t.Parallel()
	dir := userModule(t)
	wanted := must(filepath.Glob("testdata/cases/*/want.go"))(t)
	require.Greater(t, len(wanted), 30)
	for _, path := range wanted {
		write(t, dir, filepath.Join(filepath.Base(filepath.Dir(path)), "in.lua.go"), read(t, path))
	}
	require.Empty(t, goTool(t, dir, "vet", "./..."))
}

// program returns a user's module with the files of a folder, and what luagen makes of the scripts there.
func program(t *testing.T, folder string) (dir string) {
	t.Helper()
	dir = userModule(t)
	for _, path := range must(filepath.Glob(filepath.Join(folder, "*")))(t) {
		write(t, dir, strings.TrimSuffix(filepath.Base(path), ".txt"), read(t, path))
	}
	out, _ := exits(t, 0, dir)
	require.Empty(t, out)
	require.Empty(t, goTool(t, dir, "vet", "."))
	return dir
}

// TestUserProgram runs a program of a user, on a runner that prints what it gets.
func TestUserProgram(t *testing.T) {
	t.Parallel()
	expect(t, "testdata/user_output.txt", []byte(goTool(t, program(t, "testdata/user"), "run", ".")))
}

// TestReplies runs a program that prints the results of its scripts, on real servers.
func TestReplies(t *testing.T) {
	t.Parallel()
	dir := program(t, "testdata/replies")
	goTool(t, dir, "build", "-o", "replies", ".")
	onServers(t, func(t *testing.T, c *client) {
		out, err := exec.Command(filepath.Join(dir, "replies"), c.addr).CombinedOutput()
		require.NoError(t, err, string(out))
		expect(t, "testdata/replies_output.txt", out)
	})
}

// TestImport writes drafts of the scripts of testdata/import: its want.txt has what they are, and what vet finds there.
func TestImport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/import")))
	out, errs := exits(t, 1, "import", dir)
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
	path := filepath.Join(dir, "A b-2.lua")
	write(t, dir, "A b-2.lua", "redis.call('setex', KEYS[1], 10) return ARGV[99999999999999999999]\n")
	out, errs := exits(t, 1, "import", "-json", path)
	require.Empty(t, errs)
	var report jsonReport
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	draft := filepath.Join(dir, "a_b_typed.lua")
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
	exits(t, 0, "import", dir)
	drafts := must(filepath.Glob(filepath.Join(dir, "*_typed.lua")))(t)
	require.Len(t, drafts, 2)
	exits(t, 0, slices.Concat([]string{"-p", "scripts"}, drafts)...)
}
