package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// block is a code block of docs/luagen.md that has a name.
var block = regexp.MustCompile("(?ms)^```[a-z]+ ([^\n]+)\n(.*?)^```$")

// TestTutorial follows docs/luagen.md in a module of its own, outside of this repository and without
// a network: its files are those of this folder, its commands work, and they print what it says.
func TestTutorial(t *testing.T) {
	t.Parallel()
	files := blocks(t)
	require.Equal(t, read(t, "take.lua"), files["take.lua"])
	require.Contains(t, read(t, "main.go"), files["main.go"])
	require.Equal(t, output, files["output"])
	dir := t.TempDir()
	for _, name := range []string{"take.lua", "main.go"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(read(t, name)), 0o600))
	}
	userModule(t, dir)
	goCommand(t, dir, true, "generate", "./...")
	require.Equal(t, read(t, "take.lua.go"), read(t, dir, "take.lua.go"))
	goCommand(t, dir, true, "vet", ".")
	lines := strings.Split(goCommand(t, dir, true, "run", "."), "\n")
	want := strings.Split(output, "\n")
	require.Len(t, lines, len(want))
	for i, line := range want {
		if !strings.Contains(line, "wait 500ms") { // real time passes here
			require.Equal(t, line, lines[i])
		}
	}
	goCommand(t, dir, true, "tool", "luagen", "-check", ".")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "wrong.lua"), []byte(files["wrong.lua"]), 0o600))
	findings := goCommand(t, dir, false, "tool", "luagen", "vet", "wrong.lua")
	require.Equal(t, files["findings"], findings)
	goCommand(t, dir, false, "tool", "luagen", "import", "./...")
	require.Contains(t, read(t, dir, "wrong_typed.lua"), "TODO")
	refused, err := filepath.Abs(filepath.Join(root, "luagen", "testdata", "cases", "bad_refused", "in.lua"))
	require.NoError(t, err)
	require.Empty(t, goCommand(t, dir, true, "tool", "luagen", "vet", refused))
	require.Contains(t, goCommand(t, dir, false, "tool", "luagen", "vet", "-strict", refused), "[refused]")
}

// row is a row of the table of replies: an expression, its type, and the type in Go.
var row = regexp.MustCompile("(?m)^\\| `(.+)` \\| `(.+)` \\| `(.+)` \\|$")

// TestReplies makes a function of each row of the table.
func TestReplies(t *testing.T) {
	t.Parallel()
	rows := row.FindAllStringSubmatch(read(t, root, "docs", "luagen.md"), -1)
	require.Len(t, rows, 9)
	dir := t.TempDir()
	name := func(i int) string { return fmt.Sprintf("row%d.lua", i) }
	for i, r := range rows {
		script := "---@key k any\n---@return " + r[2] + " v\nif false then redis.call('del', k) end\nreturn " + r[1] + "\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, name(i)), []byte(script), 0o600))
	}
	goCommand(t, ".", true, "tool", "luagen", "-p", "p", dir)
	for i, r := range rows {
		require.Contains(t, read(t, dir, name(i)+".go"), ") (v "+r[3]+", err error) {", r)
	}
}

// blocks returns the named code blocks of the tutorial.
func blocks(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, m := range block.FindAllStringSubmatch(read(t, root, "docs", "luagen.md"), -1) {
		files[m[1]] = m[2]
	}
	require.Len(t, files, 5)
	return files
}

// userModule makes the module of the tutorial's first step, with this checkout for what it gets.
func userModule(t *testing.T, dir string) {
	t.Helper()
	checkout, err := filepath.Abs(root)
	require.NoError(t, err)
	goCommand(t, dir, true, "mod", "init", "example.com/bucket")
	for _, module := range []string{"", "/backend/embedded", "/luagen"} {
		goCommand(t, dir, true, "mod", "edit",
			"-replace=github.com/hasp-go/hasp"+module+"="+checkout+module)
	}
	// What is in the module cache for this module is enough for the user's.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"),
		[]byte(read(t, root, "examples", "go.sum")), 0o600))
	goCommand(t, dir, true, "get", "github.com/hasp-go/hasp/backend/embedded")
	goCommand(t, dir, true, "get", "-tool", "github.com/hasp-go/hasp/luagen")
	require.Contains(t, read(t, dir, "go.mod"), "\ntool github.com/hasp-go/hasp/luagen\n")
}

// goCommand runs the go command without a network and returns what it prints.
func goCommand(t *testing.T, dir string, succeeds bool, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=off", "GOFLAGS=", "GOSUMDB=off")
	out, err := cmd.CombinedOutput()
	require.Equal(t, succeeds, err == nil, "go %s: %v\n%s", strings.Join(args, " "), err, out)
	return string(out)
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return string(content)
}
