package main

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/luagen/internal/emit"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// FuzzTool runs all of luagen on a script: it has findings, or becomes Go code that parses, and the
// shipped text has the script's own words on their own lines.
func FuzzTool(f *testing.F) {
	for _, path := range must(filepath.Glob("testdata/*/*/*.lua"))(f) {
		f.Add(string(must(os.ReadFile(path))(f)))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, src string) { whole(t, filepath.Join(dir, "in.lua"), src) })
}

func whole(t *testing.T, path, src string) {
	t.Helper()
	s, findings := examine(path, []byte(src))
	require.NotContains(t, path, "\n")
	for _, f := range findings {
		require.Positive(t, f.Pos.Line)
		require.Positive(t, f.Pos.Col)
		require.NotEmpty(t, f.Msg)
		require.NotEmpty(t, f.Rule)
	}
	if len(findings) > 0 || s.Header.Library {
		return
	}
	content := must(emit.File(s, emit.Source(s), "p"))(t)
	require.NoError(t, errOf(parser.ParseFile(token.NewFileSet(), "in.lua.go", content, parser.SkipObjectResolution)))
	text := emit.Source(s)
	again, _ := parse.Parse("shipped.lua", []byte(strings.TrimPrefix(text, emit.Flags(s))), parse.Options{})
	require.NotNil(t, again.Body, text)
	require.Empty(t, again.Comments, text)
	sameLines(t, s, again, text)
}

// sameLines requires that the tokens of s end those of what is shipped, each on its line.
func sameLines(t *testing.T, s, again *parse.Script, text string) {
	t.Helper()
	bound := len(again.Tokens) - len(s.Tokens)
	require.GreaterOrEqual(t, bound, 0)
	last := len(s.Tokens) - 1 // the end of the file, which may move: what follows the code is cut off
	for i, tok := range s.Tokens[:last] {
		shipped := again.Tokens[bound+i]
		require.Equal(t, tok.Text, shipped.Text, text)
		require.Equal(t, tok.Pos.Line, shipped.Pos.Line, "%s\n%s", tok.Text, text)
	}
	for _, b := range s.Header.Bindings {
		if emit.Flags(s) != "" && b.Pos.Line <= 2 {
			continue // the first two lines have the flags, and then these names
		}
		line := strings.Split(text, "\n")[b.Pos.Line-1]
		require.True(t, strings.HasPrefix(line, "local "+b.Name+" = "), "%q", line)
	}
}

// TestFuzzTargets builds targets of scripts with all kinds of keys and arguments, and runs their first inputs: they pass
// for sound scripts, and find planted bugs that luagen does not.
func TestFuzzTargets(t *testing.T) {
	t.Parallel()
	root := must(filepath.Abs(".."))(t)
	dir := t.TempDir()
	mod := "module example.test/user\n\ngo 1.25.0\n"
	for _, module := range []string{"", "/backend/embedded", "/hasptest"} {
		mod += "\nrequire github.com/hasp-go/hasp" + module + " v0.0.0\nreplace github.com/hasp-go/hasp" + module + " => " + root + module + "\n"
	}
	write(t, dir, "go.mod", mod)
	take := read(t, "..", "examples", "ownscript", "take.lua")
	write(t, dir, "take.lua", take)
	for from, to := range map[string]string{
		"math.floor(level / 1000), 0}":         "math.floor(level / 1000) - 1, 0}",
		"math.ceil((full - level) / rate))\nr": "math.ceil((full - level) / (rate - 1)))\nr",
	} {
		require.Contains(t, take, from)
		write(t, dir, []string{"late.lua", "early.lua"}[strings.Count(from, "\n")], strings.Replace(take, from, to, 1))
	}
	for _, name := range []string{"kinds", "lists", "only_list", "optional", "times", "notify"} {
		write(t, dir, name+".lua", read(t, "testdata", "user", name+".lua"))
	}
	for _, name := range []string{"board", "choose", "fields", "move", "note"} {
		write(t, dir, name+".lua", read(t, "testdata", "replies", name+".lua"))
	}
	write(t, dir, "grow.lua", "---@key k string\n---@arg ttl milliseconds\n---@arg by int\n"+
		"redis.call('set', k, '9223372036854775807', 'px', ttl)\nredis.call('incrby', k, by)\n")
	exits(t, 0, "-fuzz", "-p", "user", dir)
	require.Contains(t, read(t, dir, "grow_fuzz_test.go"), "in.Int(1, 2147483647))*time.Millisecond")
	exits(t, 0, "-fuzz", "-p", "user", "-check", dir)
	require.Empty(t, goTool(t, dir, "vet", "."))
	goTool(t, dir, "test", "-skip", "Early|Late", ".")
	for name, want := range map[string]string{
		"Early": "script early.lua:29: ERR value is not an integer", "Late": "script late: left: unexpected reply: -1 is not in 0..1000000",
	} {
		cmd := exec.Command("go", "test", "-run", name, ".")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOPROXY=off", "GOFLAGS=-mod=mod")
		found, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(found), want)
		require.Regexp(t, `keys \["\{fuzz\}:bucket:[abc]"\], arguments \["1?\d+`, string(found))
	}
	write(t, dir, "take_fuzz_test.go", "package user\n")
	_, errs := exits(t, 1, "-fuzz", "-p", "user", filepath.Join(dir, "take.lua"))
	require.Contains(t, errs, "luagen did not write this file")
}
