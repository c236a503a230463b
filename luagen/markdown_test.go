package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const docScript = `--- Moves what is due.
---
--- Complexity: one round for each id, said by hand.
---
---@key queue list       a|b
---@key side hash prefix
---@arg limit int(1..9)?
---@arg ids string...
---@channel moved prefix
---@command publish publish|spublish
---@return int[] moved    how many
---@error FULL there is no room
---@since redis 7.0, embedded
`

// TestReference: a reference has what the header says.
func TestReference(t *testing.T) {
	t.Parallel()
	s, _ := examine("in.lua", []byte(strings.Replace(docScript, "---@arg ids string...\n", "", 1)+
		"---@arg ids string...\nreturn {}"))
	require.NotNil(t, s.Body)
	expect(t, "testdata/reference.md", []byte(reference(s)))
}

var complexities = map[string]string{
	"return redis.call('get', k)": "At most 1 command.",
	"return 1":                    "No command.",
	"for _, id in ipairs(ids) do redis.call('sadd', k, id) end":    "At most 1 command for each element of `ids`.",
	"for i = 1, #ids do redis.call('sadd', k, ids[i]) end":         "At most 1 command for each element of `ids`.",
	"for i = 1, 10 do redis.call('incr', k) end":                   "At most 10 commands.",
	"while redis.call('llen', k) > 0 do redis.call('lpop', k) end": "A loop, which may send any number.",
	`for _, id in ipairs(redis.call('lrange', k, 0, -1)) do
		redis.call('incr', id)
	end`: "At most 1 command, and a loop, which may send any number; " +
		"LRANGE grows with the number of elements that it goes through.",
	`if ids[1] then
		redis.call('incr', k)
		return redis.call('incr', k)
	end
	redis.call('decr', k)`: "At most 2 commands.",
	"local call = redis.call local function f() call('incr', k) end f() f()": "At most 2 commands.",
	"local function f() return f() end f()":                                  "A loop, which may send any number.",
	"local function f() redis.call('incr', k) end pcall(f)":                  "At most 1 command.",
	"pcall(redis.call, 'incr', k)":                                           "At most 1 command.",
	"string.gsub('aaa', 'a', function() redis.call('incr', k) end)":          "A loop, which may send any number.",
	"redis.call('sadd', k, unpack(ids))": "At most 1 command; " +
		"a command that takes a whole list is as long as the list.",
	"redis.call('zadd', k, 1, 'm')": "At most 1 command; " +
		"ZADD grows in the logarithm of what its key holds.",
}

func TestComplexity(t *testing.T) {
	t.Parallel()
	for body, want := range complexities {
		s, _ := examine("in.lua", []byte("---@key k string\n---@arg ids string...\n"+body))
		require.NotNil(t, s.Body, body)
		require.Contains(t, reference(s), "\n- Complexity: "+want+"\n", body)
	}
}

func TestDocCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "a.lua", goodScript)
	write(t, dir, "lib.lua", "---@library\nlocal function f(x) return x end\n")
	out := filepath.Join(dir, "docs", "scripts.md")
	code, text, errs := luagen("doc", dir)
	require.Equal(t, 0, code, errs)
	require.Contains(t, text, "\n# Scripts\n\n## a\n\nGets.\n")
	require.NotContains(t, text, "## lib")
	code, diff, _ := luagen("doc", "-check", "-o", out, dir)
	require.Equal(t, 1, code)
	require.Contains(t, diff, "(missing)")
	code, _, errs = luagen("doc", "-o", out, "-title", "Mine", dir)
	require.Equal(t, 0, code, errs)
	require.Equal(t, strings.Replace(text, "# Scripts", "# Mine", 1), read(t, out))
	code, diff, _ = luagen("doc", "-check", "-o", out, dir)
	require.Equal(t, 1, code)
	require.Contains(t, diff, "-# Mine\n+# Scripts\n")
	code, diff, _ = luagen("doc", "-check", "-title", "Mine", "-o", out, dir)
	require.Equal(t, 0, code, diff)
	code, _, _ = luagen("doc", "-check", dir)
	require.Equal(t, 2, code)
	write(t, dir, "bad.lua", badScript)
	code, text, errs = luagen("doc", dir)
	require.Equal(t, 1, code)
	require.Empty(t, text)
	require.Contains(t, errs, "[undeclared]")
}
