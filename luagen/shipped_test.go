package main

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
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
	// Functions that stand in place of their calls: each form, and names that mean something else in the script.
	name: "InPlace",
	src: `---@key a string
---@include place.lua
local t, p = {}, 'outer'
local early, second = early_in('x', #t)
local same = early_in('y', 1)
same = tail(same)
note(t, 'first')
note(t, p)
local none = nothing(t)
local one = spread(pair())
local shadow do local text = 'inner' shadow = twice_of(text) end
local q, r = 'q', 'r'
q, r = swap(q, r)
local x = 1 + small() .. ''
dropped(t)
if #t == 99 then
  return looped(t, 'no')
end
local wide = missing('w')
return {a, early, second, same, t[1], t[2], tostring(none), one, shadow, q, r, x, t[3], wide, chosen(t, 'first'), count(t)}`,
	keys: []string{"k"},
	want: "[k x! 0 y is 1? first:1 outer:2 nil 12 innerinner<inner> r q 61 dropped wnil yes 3]",
}, {
	name: "InPlaceReturn",
	src: `---@key a string
---@include place.lua
local t = {a, 'b'}
return looped(t, 'b')`,
	keys: []string{"k"},
	want: "2",
}, {
	name: "ReturnFromALoop", // In place it would leave the loop alone.
	src: `---@key a string
---@include place.lua
local t = {a, 'b'}
local at = looped(t, 'b')
return at`,
	keys: []string{"k"},
	want: "2",
}, {
	name: "InPlaceChain",
	src: `---@key a string
---@include place.lua
local number, dead = outer(a, {'x'})
return {number, dead, outer2('k')}`,
	keys: []string{"k"},
	want: "[k-x k 0]",
}, {
	// The script has a local variable whose name the function uses. So the function is not inlined.
	name: "InPlaceCaptured",
	src: `---@key a string
---@include place.lua
local t, tostring = {}, function() return 'mine' end
note(t, a)
return {t[1], tostring(), missing('w')}`,
	keys: []string{"k"},
	want: "[k:1 mine wnil]",
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

// inPlace has functions that are called once, or are small.
const inPlace = `---@library
local function early_in(text, early)
  local second = early
  if text == 'x' then
    return text .. '!', second
  end
  for i = 1, 3 do
    if i == 2 then break end
  end
  return text .. ' is ' .. early
end
local function tail(text)
  local same = text .. '?'
  return same
end
local function note(list, text)
  list[#list + 1] = text .. ':' .. #list + 1
end
local function nothing(list) if #list == 0 then return list end end
local function pair() return 1, 2 end
local function spread(p, q) local one = p .. q return one end
local function twice_of(q) local shadow = q .. q return shadow .. '<' .. q .. '>' end
local function swap(r, q) return q, r end
local function small() return 60 end
local function dropped(list)
  if #list > 90 then
    return
  end
  list[#list + 1] = 'dropped'
  return 'dropped'
end
local function looped(list, wanted)
  for i, text in ipairs(list) do
    if text == wanted then
      return i
    end
  end
  return 0
end
local function missing(text, more) return text .. tostring(more) end
local function chosen(list, t) return list[1] == t .. ':1' and 'yes' or 'no' end
local function count(list) return #list end
local function inner(number, dead) local a = number return a .. '-' .. dead[1], a end
local function outer(number, list)
  if number == '' then
    return '', list
  end
  return inner(number, list)
end
local function inner2(text) if text == 'z' then return 1 end return 0 end
local function outer2(text) return inner2(text) end
`

// TestShippedTextBindsNames runs what is shipped on real servers.
func TestShippedTextBindsNames(t *testing.T) {
	t.Parallel()
	dir := folder(t, "text.lua", "---@library\nlocal function twice(s)\n  return s .. s .. [[\n'\\\ny]]\nend")
	write(t, dir, "more.lua", `---@library
---@include text.lua
local function double(s) return twice(s) .. twice(s) end
local function line()
  local ok, err = pcall(function() local x = nil .. 'x' end)
  return #'line'
end
`)
	write(t, dir, "place.lua", inPlace)
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
		require.Equal(t, "[20000 30000 19999 49999]", fmt.Sprint(must(c.do(words...))(t)))
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
			src := header + strings.Repeat("\n", blank) + "return redis.call('hincrby', lock, y, n or '')"
			_, err := c.do("EVAL", shipped(t, "", src), "1", "lock", "")
			require.ErrorContains(t, err, "user_script:"+strconv.Itoa(strings.Count(src, "\n")+1))
		}
	})
}

// TestFlags: servers take the flags, and name the line of the file that an error comes from.
func TestFlags(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, c *client) {
		for _, header := range []string{
			"---@key lock hash\n---@flag allow-oom\n", "---@flag allow-oom\n---@key lock hash\n",
			"--- Text.\n---@flag allow-cross-slot-keys\n---@flag allow-oom\n\n---@key lock hash\n",
		} {
			for _, code := range []string{"redis.call('hdel', lock, nil)", "(redis).call('hdel', lock, nil)"} {
				text := shipped(t, "", header+code+"---@allow nil this shall fail")
				require.True(t, strings.HasPrefix(text, "#!lua flags=allow-"), text)
				_, err := c.do("EVAL", text, "1", "lock")
				require.ErrorContains(t, err, "user_script:"+strconv.Itoa(strings.Count(header, "\n")+1), text)
			}
		}
		const write = "---@key a string\n---@return string? before\nreturn redis.call('set', a, 1, 'get')"
		text := shipped(t, "", "---@flag allow-oom\n"+write)
		require.NoError(t, errOf(c.do("CONFIG", "SET", "maxmemory", "1")))
		require.NoError(t, errOf(c.do("EVAL", text, "1", "a")))
		require.ErrorContains(t, errOf(c.do("EVAL", shipped(t, "", write), "1", "a")), "OOM")
		text = shipped(t, "", "---@flag no-writes\n---@key a string\n---@return string? is\n---@readonly\nreturn redis.call('get', a)")
		require.Equal(t, "1", must(c.do("EVAL_RO", text, "1", "a"))(t))
	})
}

// TestServersTakeEveryWantedFile: each text that the cases ship compiles on the servers, under the
// hash that stands beside it.
func TestServersTakeEveryWantedFile(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, c *client) {
		for _, path := range must(filepath.Glob("testdata/cases/*/want.go"))(t) {
			in := filepath.Join(filepath.Dir(path), "in.lua")
			s, findings := examine(in, []byte(read(t, in)))
			require.Empty(t, findings)
			text := emit.Source(s)
			require.Equal(t, strings.Count(string(parse.Normalize(s.Source)), "\n"),
				strings.Count(text, "\n"), in)
			sum := sha1.Sum([]byte(text))
			reply, err := c.do("SCRIPT", "LOAD", text)
			require.NoError(t, err, in)
			require.Equal(t, hex.EncodeToString(sum[:]), reply)
			require.Contains(t, read(t, path), reply)
		}
	})
}
