package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/luagen/internal/emit"
)

// TestTruncatedFiles: every script of the cases, cut off anywhere, has findings or becomes Go.
func TestTruncatedFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, path := range must(filepath.Glob("testdata/cases/*/in.lua"))(t) {
		src := read(t, path)
		for end := i % 37; end < len(src); end += 37 {
			whole(t, filepath.Join(dir, "in.lua"), src[:end])
		}
	}
}

// TestScriptsWithoutAWord: of every script, one word less is checked, too.
func TestScriptsWithoutAWord(t *testing.T) {
	t.Parallel()
	words := regexp.MustCompile(`\w+`)
	for i, path := range must(filepath.Glob("testdata/[fv]*/*/*.lua"))(t) {
		src := read(t, path)
		for k, at := range words.FindAllStringIndex(src, -1) {
			if k%4 == i%4 {
				require.NotPanics(t, func() { examine(path, []byte(src[:at[0]]+src[at[1]:])) }, "%s:%d", path, at[0])
			}
		}
	}
}

const huge = 1 << 18

// long makes a line of a quarter of a megabyte of copies of text.
func long(text string) string { return strings.Repeat(text, huge/len(text)) }

// oddScripts are what no person writes; true if it is a script all the same.
var oddScripts = map[string]struct {
	src  string
	good bool
}{
	"Spaces":        {goodScript + long(" "), true},
	"Comment":       {goodScript + "--" + long("x"), true},
	"LongComment":   {goodScript + "--[[" + long("\n") + "]]", true},
	"Prose":         {"--- " + long("word ") + "\n" + goodScript, true},
	"Description":   {"---@key k string " + long("word ") + "\nreturn redis.call('del', k)", true},
	"Type":          {"---@key k string\n---@arg x " + long("int") + "\nreturn k", false},
	"KeyName":       {"---@key " + long("k") + " string\nreturn 1", false},
	"Name":          {"---@key k string\nlocal " + long("x") + " = k", false},
	"Text":          {"---@key k string\nredis.call('set', k, '" + long("x") + "')", true},
	"LongText":      {"---@key k string\nredis.call('set', k, [[" + long("x\n") + "]])", true},
	"OpenText":      {"---@key k string\nreturn '" + long("x"), false},
	"OpenLongText":  {"---@key k string\nreturn [[" + long("x"), false},
	"OpenComment":   {goodScript + "--[==[" + long("]"), false},
	"Escapes":       {"---@key k string\nredis.call('set', k, '" + long(`\065`) + "')", true},
	"Number":        {"---@key k string\nredis.call('set', k, " + long("1") + ")", true},
	"Joined":        {"---@key k string\nreturn k" + long("..k"), false},
	"Sum":           {"---@key k string\nreturn 1" + long("+1"), false},
	"Parentheses":   {"---@key k string\nreturn " + long("("), false},
	"Tables":        {"---@key k string\nreturn " + long("{"), false},
	"Functions":     {"---@key k string\n" + long("function f() "), false},
	"Blocks":        {"---@key k string\n" + long("do "), false},
	"Elses":         {"---@key k string\n" + long("if k then else "), false},
	"OpenBracket":   {"---@key k string\nreturn [" + long("="), false},
	"Not":           {"---@key k string\nreturn " + long("not ") + "k", false},
	"Minus":         {"---@key k string\nreturn " + long("- ") + "1", false},
	"Index":         {"---@key k string\nreturn k" + long(".k"), false},
	"Calls":         {"---@key k string\nreturn tostring" + long("()"), false},
	"Arguments":     {"---@key k string\nreturn tostring(1" + long(",1") + ")", false},
	"List":          {"---@key k string\nlocal x = {1" + long(",1") + "} return #x + #k", true},
	"Locals":        {"---@key k string\nlocal x" + long(",x"), false},
	"ElseIf":        {"---@key k string\nif k then " + long("elseif k then ") + "end", true},
	"Statements":    {"---@key k string\n" + long("redis.call('incr', k) "), true},
	"Annotations":   {long("---@key k string\n") + "return 1", false},
	"Allows":        {goodScript + long("---@allow key x\n"), false},
	"NUL":           {goodScript + "\x00", false},
	"NULs":          {strings.Repeat("\x00", huge), false},
	"NULInText":     {"---@key k string\nreturn redis.call('set', k, '\x00')", false},
	"NULInHeader":   {"--- a\x00b\n" + goodScript, false},
	"CRLF":          {strings.ReplaceAll(goodScript, "\n", "\r\n"), true},
	"CR":            {strings.ReplaceAll(goodScript, "\n", "\r"), true},
	"BOM":           {"\ufeff" + goodScript, false},
	"UTF16":         {"\xff\xfe-\x00-\x00", false},
	"Empty":         {"", false},
	"Bytes":         {long("\xff\xfe\x80"), false},
	"BytesInText":   {"---@key k string\nredis.call('set', k, '\xff\xfe\x80')", true},
	"OnlyHeader":    {"---@key k string", false},
	"CommentAtEnd":  {goodScript + "--", true},
	"LibraryOfNone": {"---@library", true},
}

// TestOddScripts: the run has findings or writes a whole file, and nothing is left behind.
func TestOddScripts(t *testing.T) {
	t.Parallel()
	for name, c := range oddScripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t, "in.lua", c.src, "in.lua.go", before)
			code, out, errs := luagen(dir)
			require.Empty(t, out)
			require.Less(t, code, 2)
			require.Equal(t, code == 1, strings.Contains(errs, "]\n"), errs)
			if c.good {
				require.Equal(t, 0, code, errs[:min(len(errs), 300)])
			} else {
				require.Equal(t, 1, code)
			}
			require.Len(t, must(os.ReadDir(dir))(t), 2)
			text := read(t, dir, "in.lua.go")
			if code == 1 {
				require.Equal(t, before, text)
			} else if text != before { // a library has no file
				require.NoError(t, errOf(parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)))
			}
		})
	}
}

// before is a file that luagen wrote earlier.
const before = emit.Header + "\n// before\n"

// TestNoHalfWrittenFile: where a file cannot take its place, nothing is left behind.
func TestNoHalfWrittenFile(t *testing.T) {
	t.Parallel()
	dir := folder(t, "a.lua", goodScript, "a.lua.go/in_the_way", "")
	_, errs := exits(t, 1, dir)
	require.NotEmpty(t, errs)
	require.Len(t, must(os.ReadDir(dir))(t), 2)
}

// manyScripts makes a folder of n scripts.
func manyScripts(t *testing.T, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "p")
	src := read(t, "testdata", "cases", "keys_right", "in.lua")
	for i := range n {
		write(t, dir, fmt.Sprintf("script_%dx.lua", i), src)
	}
	return dir
}

// longScript makes a folder of one script, whose name has n values that are compared.
func longScript(t *testing.T, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "p")
	const round = "n = n + 1 if n > 5 then n = n - 1 end redis.call('incrby', k, n)\n"
	write(t, dir, "long.lua", "---@key k string\nlocal n = 0\n"+strings.Repeat(round, n))
	return dir
}

func memory() (live, total uint64) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc, m.TotalAlloc
}

// TestMemoryIsFlat: a run of a thousand scripts allocates as much for each as one of a hundred, and keeps less
// than 10 KB of each, of the 50 that a parsed script takes. Not parallel: it measures the process.
func TestMemoryIsFlat(t *testing.T) {
	few, many := manyScripts(t, 100), manyScripts(t, 1000)
	exits(t, 0, few) // what is made once
	perScript := func(dir string, n uint64) uint64 {
		_, before := memory()
		exits(t, 0, dir)
		_, after := memory()
		return (after - before) / n
	}
	small, large := perScript(few, 100), perScript(many, 1000)
	require.Less(t, large, small*3/2, "bytes allocated for each script")

	short, long := longScript(t, 1000), longScript(t, 10_000)
	small, large = perScript(short, 1000), perScript(long, 10_000)
	require.Less(t, large, small*3/2, "bytes allocated for each round of statements")

	j := newJob(io.Discard, "luagen")
	j.paths = []string{many}
	before, _ := memory()
	require.NoError(t, j.load(j.file))
	after, _ := memory()
	runtime.KeepAlive(j)
	require.Less(t, int64(after)-int64(before), int64(1000*10_000), "bytes kept")
}

// TestStatesAreSmall: states that part and join at each of 60 conditions, which ask for as many keys, allocate little. Not
// parallel: it measures the process.
func TestStatesAreSmall(t *testing.T) {
	var script strings.Builder
	for i := 1; i <= 60; i++ {
		fmt.Fprintf(&script, "local v%d = redis.call('get', KEYS[%[1]d]) if v%[1]d == ARGV[%[1]d] then redis.call('del', KEYS[%[1]d]) end\n", i)
	}
	dir := folder(t, "conditions.lua", script.String())
	luagen("vet", dir) // what is made once
	_, before := memory()
	luagen("vet", dir)
	_, after := memory()
	require.Less(t, after-before, uint64(60*64_000), "bytes")
}

// TestHostileScripts: scripts whose names are defined by each other in every way are checked at all: a check
// that follows each way by itself would take 2^190 steps.
func TestHostileScripts(t *testing.T) {
	t.Parallel()
	chain := func(first, format string, n int) string {
		var b strings.Builder
		b.WriteString("---@key lock any\n---@key side any prefix\nlocal v0 = " + first + "\n")
		for i := 1; i < n; i++ {
			fmt.Fprintf(&b, "local v%d\n"+format+"\n", i, i, i-1, i-1)
		}
		fmt.Fprintf(&b, "redis.call('set', v%d, 1)\nredis.call(v%[1]d, lock)\nside()\n", n-1)
		return b.String()
	}
	many := func(format string) string {
		var b strings.Builder
		for i := range 10_000 {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for _, src := range []string{
		many("redis.call('expire', 'k%[1]d', 5) redis.call('set', 'k%[1]d', 1)\n"),
		"local t = {" + many("f%d = 1,") + "}\n" + many("redis.call('set', KEYS[1], t.f%d)\n"),
		chain("lock", "v%[2]d = v%[3]d; v%[2]d = v%[4]d", 190),
		chain("side", "v%[2]d = v%[3]d .. v%[4]d", 190),
		chain("'get'", "v%[2]d = side and v%[3]d or v%[4]d", 190),
		chain("function(x) return x end", "v%[2]d = function(x) return v%[3]d(v%[4]d(x)) end", 190),
		chain("{lock}", "v%[2]d = {v%[3]d[1], v%[4]d[1]}", 190),
		chain("redis.call", "v%[2]d = v%[3]d; v%[2]d = v%[4]d", 190),
		"local a\nlocal b = a + 1\na = b + 1\nredis.call('lrange', KEYS[1], 0, a)\n",
		"local n = 0\n" + strings.Repeat("n = n + n if n > 1 then n = n - 1 end\n", 50_000),
		"if " + strings.Repeat("ARGV[1] == 'x' or ", 1000) + "y then return 1 end\n",
		strings.Repeat("while (function() ", 60) + "x = 1" + strings.Repeat(" end)() do local y end", 60),
	} {
		_, findings := examine("in.lua", []byte(src))
		require.NotEmpty(t, findings)
	}
}

// TestHostileLibraries: so are included functions that call each other many times over.
func TestHostileLibraries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("---@library\nlocal function f0(k) redis.call('del', k) return k end\n")
	for i := 1; i < 100; i++ {
		call := fmt.Sprintf("f%d(k) ", i-1)
		fmt.Fprintf(&b, "local function f%d(k) %sreturn f%d(f%d(k)) end\n",
			i, strings.Repeat(call, 30), i-1, i-1)
	}
	write(t, dir, "lib.lua", b.String())
	_, findings := examine(filepath.Join(dir, "in.lua"),
		[]byte("---@key lock any\n---@include lib.lua\nf7(lock)\nredis.call('del', f99(lock))\n"))
	for _, f := range findings {
		require.Equal(t, "key", f.Rule, f)
	}
}
