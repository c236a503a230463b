package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/luagen/internal/emit"
)

const goodScript = "--- Gets.\n---@key k string\n---@readonly\n---@return string? v\nreturn redis.call('get', k)\n"

// luagen runs the command and returns its exit code and outputs.
func luagen(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(&out, &errs, args)
	return code, out.String(), errs.String()
}

// exits runs the command, which must exit with a code, and returns its outputs.
func exits(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := luagen(args...)
	require.Equal(t, want, code, "%q: %s%s", args, stdout, stderr)
	return stdout, stderr
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	return string(must(os.ReadFile(filepath.Join(path...)))(t))
}

func TestCheckTellsStaleMissingAndLeftOver(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a[b]") // What the folder is called is no pattern.
	write(t, dir, "a.lua", goodScript)
	write(t, dir, "b.lua", goodScript)
	write(t, dir, "doc.go", "package scripts\n")
	exits(t, 0, dir)
	require.Contains(t, read(t, dir, "a.lua.go"), "\npackage scripts\n")
	out, errs := exits(t, 0, "-check", dir)
	require.Empty(t, out+errs)

	write(t, dir, "a.lua", strings.Replace(goodScript, "Gets.", "Reads.", 1))
	require.NoError(t, os.Remove(filepath.Join(dir, "b.lua.go")))
	gone := read(t, dir, "a.lua.go")
	for _, name := range []string{"gone.lua.go", "gone_fuzz_test.go", "a_fuzz_test.go"} {
		write(t, dir, name, gone)
	}
	write(t, dir, "mine.lua.go", "package scripts\n")
	out, errs = exits(t, 1, "-check", dir)
	require.Empty(t, errs)
	require.Contains(t, out, "-// A gets.\n+// A reads.\n")
	require.Contains(t, out, "--- /dev/null\n+++ "+filepath.Join(dir, "b.lua.go")+" (missing)\n@@ -0,0 +1,")
	require.Contains(t, out, "--- "+filepath.Join(dir, "gone.lua.go")+" (left over: its script is gone; delete it)\n")
	require.Contains(t, out, "--- "+filepath.Join(dir, "gone_fuzz_test.go")+" (left over: ")
	require.NotContains(t, out, "mine.lua.go")
	require.NotContains(t, out, "a_fuzz_test.go")
	require.NoError(t, os.Remove(filepath.Join(dir, "gone_fuzz_test.go")))
	require.Equal(t, gone, read(t, dir, "a.lua.go"), "-check wrote")

	_, errs = exits(t, 0, dir)
	require.Equal(t, "luagen: "+filepath.Join(dir, "gone.lua.go")+": left over: its script is gone; delete it\n", errs)
	crlf := strings.ReplaceAll(read(t, dir, "a.lua.go"), "\n", "\r\n") // of a checkout on Windows
	write(t, dir, "a.lua.go", crlf)
	for _, args := range [][]string{{"-check"}, {"-check", "-o", dir}} { // Single scripts say nothing about others.
		_, errs = exits(t, 0, append(args, filepath.Join(dir, "a.lua"))...)
		require.Empty(t, errs)
	}
	exits(t, 0, dir)
	require.Equal(t, crlf, read(t, dir, "a.lua.go"))
	require.NoError(t, os.Remove(filepath.Join(dir, "gone.lua.go")))
	exits(t, 0, "-check", dir)
}

func TestNothingIsWrittenIfAnyScriptIsBad(t *testing.T) {
	t.Parallel()
	dir := folder(t, "bad.lua", "---@key k string\nreturn x\n", "good.lua", goodScript)
	write(t, dir, "worse.lua", "---@key k string\nreturn (\n")
	out, errs := exits(t, 1, dir)
	require.Empty(t, out)
	bad, worse := filepath.Join(dir, "bad.lua"), filepath.Join(dir, "worse.lua")
	require.Equal(t, bad+":1:9: k is declared and never used [unused]\n"+
		bad+":2:8: x is not declared [undeclared]\n"+
		worse+":3:1: unexpected the end of the file [syntax]\n", errs)
	require.Len(t, must(os.ReadDir(dir))(t), 3)
}

// TestOutputDependsOnContentAlone: neither path nor time nor line endings show in the output.
func TestOutputDependsOnContentAlone(t *testing.T) {
	t.Parallel()
	one, two, out := t.TempDir(), filepath.Join(t.TempDir(), "deep", "er"), t.TempDir()
	write(t, one, "a.lua", goodScript)
	write(t, two, "a.lua", strings.ReplaceAll(goodScript, "\n", "\r\n"))
	write(t, one, "x.go", "package p\n")
	write(t, one, "x_test.go", "package p_test\n")
	exits(t, 0, one)
	exits(t, 0, "-p", "p", "-o", out, two)
	require.Equal(t, read(t, one, "a.lua.go"), read(t, out, "a.lua.go"))
	exits(t, 0, "-check", "-p", "p", "-o", out, two)
}

// TestFolderNamesThePackage: a script's Go file is in the package of the Go files beside it, of whatever system; but neither of
// tests nor of programs that go generate runs, and without any in that of the folder's name.
func TestFolderNamesThePackage(t *testing.T) {
	t.Parallel()
	const external, ignored = "package locks_test\n", "//go:build ignore\n\npackage main\n"
	for want, folders := range map[string][]map[string]string{
		"scripts": {
			{}, {"x_test.go": external}, {"x_test.go": "package locks\n"}, {"bad.go": "pack\n"}, {"b.lua.go": emit.Header + "\npackage locks\n"},
			{"x.txt": "package locks\n"}, {"inner/x.go": "package locks\n", "inner/b.lua": "no Lua"},
		},
		"locks": {
			{"a_test.go": external, "b.go": "package locks\n"}, {"a.go": "package locks\n", "b_test.go": external},
			{"a.go": ignored, "b.go": "package locks\n"}, {"a.go": "package locks\n", "b.go": ignored},
			{"a.go": "package documentation\n", "b.go": "package locks\n"}, {"a.go": "package locks\n", "b.go": "package documentation\n"},
			{"a.go": "// Package locks locks.\npackage locks // locks\n"}, {"a.go": "package locks\n\nimport \"C\"\n"},
			{"a_windows.go": "package locks\n"}, {"a.go": "//go:build plan9\n\npackage locks\n"}, {"a.go": "pack\n", "b.go": "package locks\n"},
			{"a.go": "package locks\n\nfunc unfinished( {\n"},
		},
		"main": {{"main.go": "package main\n"}, {"main.go": "package main\n", "main_test.go": "package main_test\n"}},
	} {
		for _, folder := range folders {
			dir := filepath.Join(t.TempDir(), "scripts")
			write(t, dir, "a.lua", goodScript)
			for name, text := range folder {
				write(t, dir, name, text)
			}
			exits(t, 0, dir)
			require.Contains(t, read(t, dir, "a.lua.go"), "\npackage "+want+"\n", "%q", folder)
		}
	}
	odd := filepath.Join(t.TempDir(), "my-scripts")
	write(t, odd, "a.lua", goodScript)
	_, errs := exits(t, 2, odd)
	require.Contains(t, errs, `"my-scripts" is no package name: give one with -p`)
}

// TestHandWrittenFilesStay: nothing is written where a file of the user would be lost.
func TestHandWrittenFilesStay(t *testing.T) {
	t.Parallel()
	dir := folder(t, "a.lua", goodScript, "b.lua", goodScript, "b.lua.go", "package p\n")
	for _, args := range [][]string{{dir}, {"-check", dir}} {
		out, errs := exits(t, 1, args...)
		require.Empty(t, out)
		require.Equal(t, filepath.Join(dir, "b.lua.go")+
			":1:1: luagen did not write this file: rename it, or the script [generated]\n", errs)
	}
	require.Equal(t, "package p\n", read(t, dir, "b.lua.go"))
	require.NoFileExists(t, filepath.Join(dir, "a.lua.go"))
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-h"}, {"help"}, {"help", "vet"}, {"vet", "-h"}, {"help", "commands"}, {"version"}, {"--version"}} {
		out, errs := exits(t, 0, args...)
		require.Empty(t, errs)
		switch {
		case strings.HasSuffix(args[0], "version"):
			require.Regexp(t, `^luagen \S+ go1\.\S+ [a-z0-9]+/[a-z0-9]+\n$`, out)
		case len(args) > 1:
			require.Contains(t, out, "\nFlags of luagen "+strings.Trim(args[0]+args[1], "-help")+":\n")
		default:
			require.Contains(t, out, "\nFlags of luagen:\n")
		}
	}
}

// TestOneFaultOneFinding: what follows from a fault is none of its own.
func TestOneFaultOneFinding(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"---@kee k string\nreturn redis.call('incr', k)\n":                              ":1:5: unknown annotation kee",
		"---@kee k\nreturn redis.call('incr', k)\n":                                     ":1:5: unknown annotation kee",
		"--@key k string\n---@failfast\nreturn redis.call('incr', k)\n":                 ":1:1: this is a plain comment",
		"---@key k strng\nreturn redis.call('incr', k)\n":                               ":1:11: unknown kind of key",
		"---@key k any\nredis.call('incr', k)\n---@arg n int\nreturn n\n":               ":3:5: misplaced annotation",
		"---@key k any\n---@include gone.lua\nreturn redis.call('incr', k) + f(g(k))\n": ":2:13: cannot read gone.lua",
		"---@key k any\nx = redis.call('incr', k)\nx = x + 1\nreturn x\n":               ":2:1: assignment to the global x",
		"---@key k any\nredis.call('incr', k)\nreturn x + x\n":                          ":3:8: x is not declared",
	} {
		dir := folder(t, "a.lua", src)
		_, _, errs := luagen("vet", filepath.Join(dir, "a.lua"), dir+"/../"+filepath.Base(dir)+"/a.lua")
		require.Equal(t, 1, strings.Count(errs, "\n"), errs)
		require.Contains(t, errs, want)
	}
}

func TestFileNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Lock.lua":          "the file's name becomes the function's",
		"lock-acquire.lua":  "the file's name becomes the function's",
		"_lock.lua":         "the file's name becomes the function's",
		"lock__acquire.lua": "the file's name becomes the function's",
		"1lock.lua":         "the file's name becomes the function's",
		"lock_linux.lua":    "Go would build lock_linux.lua.go on linux only",
		"lock_js.lua":       "Go would build lock_js.lua.go on js only",
		"linux.lua":         "",
		"lock_acquire2.lua": "",
		"type.lua":          "",
		"init.lua":          "",
		"lock_test.lua":     "",
	} {
		dir := folder(t, name, goodScript)
		if want == "" {
			exits(t, 0, dir)
			continue
		}
		_, errs := exits(t, 1, dir)
		require.Contains(t, errs, name+":1:1: "+want)
		require.Contains(t, errs, "[name]")
	}
}

func TestNamesThatClashInGo(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "p")
	write(t, dir, "lock.lua", "---@key k string\n---@return int a\n---@return int b\n"+
		"return {redis.call('incr', k), 1}\n")
	write(t, dir, "lock_result.lua", goodScript)
	_, errs := exits(t, 1, dir)
	require.Equal(t, filepath.Join(dir, "lock_result.lua")+
		":1:1: lock.lua declares LockResult in Go too [name]\n", errs)

	// Two folders in one.
	other := folder(t, "get.lua", goodScript)
	write(t, dir, "get.lua", goodScript)
	_, errs = exits(t, 1, "-o", t.TempDir(), filepath.Join(dir, "get.lua"), other)
	require.Contains(t, errs, "get.lua declares Get in Go too")
	// The same script twice is one.
	exits(t, 0, "-p", "p", other, filepath.Join(other, "get.lua"))
}

// TestLibraries: a file of functions gets no Go file, and its faults are reported once.
func TestLibraries(t *testing.T) {
	t.Parallel()
	dir := folder(t, "text.lua", "---@library\nlocal function f(x) return x .. y end\n")
	for _, name := range []string{"a.lua", "b.lua"} {
		write(t, dir, name, "---@key k string\n---@include text.lua\nreturn redis.call('set', k, f(k))\n")
	}
	_, errs := exits(t, 1, dir)
	require.Equal(t, filepath.Join(dir, "text.lua")+":2:33: y is not declared [undeclared]\n", errs)
	write(t, dir, "text.lua", "---@library\nlocal function f(x) return x end\n")
	exits(t, 0, dir)
	require.FileExists(t, filepath.Join(dir, "a.lua.go"))
	require.NoFileExists(t, filepath.Join(dir, "text.lua.go"))
	exits(t, 0, "-check", dir)
	write(t, dir, "text.lua", "---@library\nlocal function f(x) return (x) end\n")
	exits(t, 1, "-check", dir) // The included file changed.
}

// TestSharedFolder: included files are in the script's folder, else in those of -I, in order; so are files that these
// include.
func TestSharedFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two, p := filepath.Join(dir, "one"), filepath.Join(dir, "two"), filepath.Join(dir, "p")
	write(t, p, "a.lua", "---@key k string\n---@include f.lua\nreturn redis.call('incr', f(k))\n")
	write(t, one, "f.lua", "---@library\n---@include g.lua\nlocal function f(x) return g(x) end\n")
	write(t, two, "f.lua", "this is not Lua")
	write(t, two, "g.lua", "---@library\nlocal function g(x) y(x) return x end\n")
	_, errs := exits(t, 1, "-I", one, p)
	require.Contains(t, errs, filepath.Join(one, "f.lua")+":2:13: cannot read g.lua [header]\n")
	_, errs = exits(t, 1, "-I", one, "-I", two, p)
	require.Equal(t, filepath.Join(two, "g.lua")+":2:21: y is not declared [undeclared]\n", errs)
	write(t, two, "g.lua", "---@library\nlocal function g(x) return x end\n")
	exits(t, 0, "-I", one, "-I", two, p)
	write(t, p, "f.lua", "---@library\nlocal function f(x) return (x) end\n")
	exits(t, 1, "-check", "-I", one, "-I", two, p) // That of the folder comes first.
	_, errs = exits(t, 2, "-I", filepath.Join(dir, "gone"), p)
	require.Contains(t, errs, `for flag -I: open `)
}

// TestDifferencesAreComplete: what a difference leaves out is equal at both ends of the texts.
func TestDifferencesAreComplete(t *testing.T) {
	t.Parallel()
	r := seeded(t)
	for range 500 {
		a, b := randomLines(r), randomLines(r)
		if r.IntN(2) == 0 {
			b = append(slices.Clone(a), b...)
		}
		var gotA, gotB []string
		_, shown, _ := strings.Cut(unified("a", "b", []byte(strings.Join(a, "\n")), []byte(strings.Join(b, "\n"))), "@@\n")
		for line := range strings.Lines(shown) {
			if line[0] != '+' {
				gotA = append(gotA, line[1:2])
			}
			if line[0] != '-' {
				gotB = append(gotB, line[1:2])
			}
		}
		whole := false
		for head := range len(a) - len(gotA) + 1 {
			tail := a[head+len(gotA):]
			whole = whole || slices.Equal(a, slices.Concat(a[:head], gotA, tail)) && slices.Equal(b, slices.Concat(a[:head], gotB, tail))
		}
		require.True(t, whole, "%q %q: %s", a, b, shown)
	}
}

// seeded draws from the seed HASP_SEED, if there is one, else from another seed each time, and logs the seed.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv("HASP_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, "HASP_SEED")
	}
	t.Logf("HASP_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

func randomLines(r *rand.Rand) []string {
	var all []string
	for range r.IntN(12) {
		all = append(all, string(rune('a'+r.IntN(4))))
	}
	return all
}

func TestUnifiedFormat(t *testing.T) {
	t.Parallel()
	a := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n"
	b := "1\n2\n3\n4\nfive\n6.0\n7\n8\n9\n10\n11\n"
	require.Equal(t, `--- a
+++ b
@@ -5,2 +5,2 @@
-5
-6
+five
+6.0
`, unified("a", "b", []byte(a), []byte(b)))
	require.Equal(t, "--- a\n+++ b\n@@ -1,2 +0,0 @@\n-x\n-y\n",
		unified("a", "b", []byte("x\ny\n"), nil))
}

// must returns a function that returns what a call returned, and requires that it did not fail.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// errOf returns the error alone that a call returned.
func errOf[T any](_ T, err error) error { return err }
