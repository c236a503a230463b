package main

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
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
		content := must(os.ReadFile(path))(t)
		write(t, dir, filepath.Join(filepath.Base(filepath.Dir(path)), "in.lua.go"), string(content))
	}
	require.Empty(t, goTool(t, dir, "vet", "./..."))
}

// program returns a user's module with the files of a folder, and what luagen makes of the scripts there.
func program(t *testing.T, folder string) (dir string) {
	t.Helper()
	dir = userModule(t)
	sources := must(filepath.Glob(filepath.Join(folder, "*")))(t)
	for _, path := range sources {
		content := must(os.ReadFile(path))(t)
		write(t, dir, strings.TrimSuffix(filepath.Base(path), ".txt"), string(content))
	}
	var stdout, stderr bytes.Buffer
	require.Equal(t, 0, run(&stdout, &stderr, []string{dir}), stderr.String())
	require.Empty(t, stdout.String())
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

// TestWantedFilesAreGenerated: linters leave the output alone.
func TestWantedFilesAreGenerated(t *testing.T) {
	t.Parallel()
	wanted := must(filepath.Glob("testdata/cases/*/want.go"))(t)
	for _, path := range wanted {
		content := must(os.ReadFile(path))(t)
		f := must(parser.ParseFile(token.NewFileSet(), path, content, parser.ParseComments))(t)
		require.Regexp(t, `^// Code generated .* DO NOT EDIT\.$`, f.Comments[0].List[0].Text)
	}
}
