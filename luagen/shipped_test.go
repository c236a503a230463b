package main

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/luagen/internal/emit"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// shipped returns the text that a server gets for a script, which must be free of findings.
func shipped(t *testing.T, dir, src string) string {
	t.Helper()
	s, findings := examine(filepath.Join(dir, "in.lua"), []byte(src))
	require.Empty(t, findings)
	return emit.Source(s)
}

var boundCases = []struct {
	name       string
	src        string
	keys, args []string
	want       string
}{{
	name: "Fixed",
	src: `---@key a string
---@arg x string
---@key b string
---@arg y int
return {a, b, x, y}`,
	keys: []string{"k1", "k2"}, args: []string{"v1", "9007199254740993"},
	want: "[k1 k2 v1 9007199254740993]",
}, {
	name: "Bool",
	src: `---@key a string
---@arg yes bool
---@arg no bool
return {a, type(yes), tostring(yes), tostring(no)}`,
	keys: []string{"k"}, args: []string{"1", "0"},
	want: "[k boolean true false]",
}, {
	name: "Optional",
	src: `---@key a string
---@arg absent int?
---@arg present int?
return {a, type(absent), present}`,
	keys: []string{"k"}, args: []string{"", "5"},
	want: "[k nil 5]",
}, {
	name: "ListOfKeys",
	src: `---@key a string
---@key more hash...
---@arg owners string... per more
return {a, more, owners}`,
	keys: []string{"k", "l1", "l2"}, args: []string{"o1", "o2"},
	want: "[k [l1 l2] [o1 o2]]",
}, {
	name: "EmptyLists",
	src: `---@key a string
---@key more hash...
---@arg n int
---@arg owners string... per more
---@arg free string...
---@arg flags bool... per free
return {a, more, n, owners, free, flags}`,
	keys: []string{"k"}, args: []string{"1"},
	want: "[k [] 1 [] [] []]",
}, {
	// Names that the bindings' own loops would like to use.
	name: "ManyLists",
	src: `---@key i hash...
---@arg n int
---@arg ii string... per i
---@arg iii string...
---@arg flags bool... per iii
---@arg x string... per iii
return {i, n, ii, iii, tostring(flags[1]), tostring(flags[2]), tostring(flags[3]), x}`,
	keys: []string{"l1", "l2"},
	args: []string{"7", "o1", "o2", "f1", "f2", "f3", "1", "0", "1", "x1", "x2", "x3"},
	want: "[[l1 l2] 7 [o1 o2] [f1 f2 f3] true false true [x1 x2 x3]]",
}, {
	name: "Include",
	src: `---@key a string
---@include text.lua
---@include more.lua
return {a, double('x'), line()}`,
	keys: []string{"k"},
	want: "[k xx'\\\nyxx'\\\ny 4]",
}, {
	name: "ParenthesisFirst",
	src: `---@key a string
(redis).call('set', a, 1)
return redis.call('get', a)`,
	keys: []string{"k"},
	want: "1",
}, {
	name: "ParenthesisAfterOptional",
	src: `---@key a string
---@arg x int?
(redis).call('set', a, x or 2)
return redis.call('get', a)`,
	keys: []string{"k"}, args: []string{""},
	want: "2",
}, {
	name: "Comments",
	src:  "---@key a string\r\nlocal b =--[[ x\r\n]]a--[=[]=]..--\r\n'\\\r\n'return{b,a--\r\n}",
	keys: []string{"k"},
	want: "[k\n k]",
}}

// TestShippedTextBindsNames runs what is shipped on real servers.
func TestShippedTextBindsNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "text.lua", "---@library\nlocal function twice(s)\n  return s .. s .. [[\n'\\\ny]]\nend")
	write(t, dir, "more.lua", `---@library
---@include text.lua
local function double(s) return twice(s) .. twice(s) end
local function line()
  local ok, err = pcall(function() local x = nil .. 'x' end)
  return #'line'
end
`)
	onServers(t, func(t *testing.T, c *client) {
		for _, test := range boundCases {
			text := shipped(t, dir, test.src)
			words := append([]string{"EVAL", text, strconv.Itoa(len(test.keys))}, test.keys...)
			reply, err := c.do(append(words, test.args...)...)
			require.NoError(t, err, "%s\n%s", test.name, text)
			require.Equal(t, test.want, fmt.Sprint(reply), "%s\n%s", test.name, text)
		}
	})
}

// TestManyElements: lists are longer than what unpack takes.
func TestManyElements(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, c *client) {
		text := shipped(t, "", `---@key all string...
---@arg ids string...
return {#all, #ids, all[20000], ids[30000]}`)
		words := []string{"EVAL", text, "20000"}
		for i := range 50000 {
			words = append(words, strconv.Itoa(i))
		}
		reply, err := c.do(words...)
		require.NoError(t, err)
		require.Equal(t, "[20000 30000 19999 49999]", fmt.Sprint(reply))
	})
}

// TestNoLineMoves: a server names the line of the file that an error comes from, whatever stands
// above it.
func TestNoLineMoves(t *testing.T) {
	t.Parallel()
	const header = `-- Licence.

--- Prose.
---
---@key lock hash  text

---@key more hash...
---@arg n int?
---@arg ids string... per more
--[[ a long

comment ]]
local x = #more + #ids -- comment
local y = [[

]] .. x --[==[

]==]
`
	onServers(t, func(t *testing.T, c *client) {
		for blank := range 5 {
			src := header + strings.Repeat("\n", blank) + "return redis.call('hdel', lock, n .. y)"
			_, err := c.do("EVAL", shipped(t, "", src), "1", "lock", "")
			require.ErrorContains(t, err, "user_script:"+strconv.Itoa(strings.Count(src, "\n")+1))
		}
	})
}

// TestServersTakeEveryWantedFile: each text that the cases ship compiles on the servers, under the
// hash that stands beside it.
func TestServersTakeEveryWantedFile(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("testdata/cases/*/want.go")
	require.NoError(t, err)
	onServers(t, func(t *testing.T, c *client) {
		for _, path := range scripts {
			in := filepath.Join(filepath.Dir(path), "in.lua")
			src, err := os.ReadFile(in)
			require.NoError(t, err)
			s, findings := examine(in, src)
			require.Empty(t, findings)
			text := emit.Source(s)
			require.Equal(t, strings.Count(string(parse.Normalize(s.Source)), "\n"),
				strings.Count(text, "\n"), in)
			sum := sha1.Sum([]byte(text))
			reply, err := c.do("SCRIPT", "LOAD", text)
			require.NoError(t, err, in)
			require.Equal(t, hex.EncodeToString(sum[:]), reply)
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Contains(t, string(want), reply)
		}
	})
}
