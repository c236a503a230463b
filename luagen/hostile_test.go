package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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

// TestManyScripts: 200 scripts are read, checked and generated in the time that a person waits.
func TestManyScripts(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "p")
	src := read(t, "testdata", "cases", "keys_right", "in.lua")
	for i := range 200 {
		write(t, dir, fmt.Sprintf("script_%d.lua", i), src)
	}
	start := time.Now()
	code, _, errs := luagen(dir)
	require.Equal(t, 0, code, errs)
	t.Logf("200 scripts in %v", time.Since(start))
	code, out, _ := luagen("-check", dir)
	require.Equal(t, 0, code, out)
}
