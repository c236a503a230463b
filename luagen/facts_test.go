package main

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/luagen/internal/check"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// factsFile has, of each call of a command, what servers do, and what luagen knows of it. A line of it is
//
//	CALL: REPLIES EFFECTS | REPLY EFFECTS
//
// Replies are N for a number, T for a text, L for a list, S for a status, F for nil, which is false in Lua, and E for an
// error. A list has the kinds of its elements in small letters. Servers replied without any of the keys, with them, and with
// all but the first. Luagen knows all that may come, and with "!" that it is no text in some cases; "?" is nothing. Effects
// are on the first key.
const factsFile = "testdata/facts.txt"

// facts returns the lines of the file, by their calls: what servers do, and what luagen knows.
func facts(t *testing.T) map[string][2]string {
	t.Helper()
	all := map[string][2]string{}
	for line := range strings.Lines(read(t, factsFile)) {
		call, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		does, known, ok := strings.Cut(rest, " | ")
		require.True(t, ok, line)
		all[call] = [2]string{does, known}
	}
	return all
}

// TestFacts: what luagen knows of the reply and the effects of each call of each command is what servers do. The calls are
// made from the forms of the commands. With -update it writes what luagen knows, and, on the servers of .ci/newest, what those do.
func TestFacts(t *testing.T) {
	t.Parallel()
	have, calls := facts(t), callsOf(t)
	if *update {
		have = rewritten(t, have, calls)
	}
	for call, servers := range calls {
		fact, ok := have[call]
		require.True(t, ok, "%s has no row", call)
		require.Equal(t, fact[1], known(call, servers), call)
		if !strings.HasPrefix(fact[0], failing) {
			requireTrue(t, call, strings.Fields(fact[0]), strings.Fields(fact[1]))
		}
	}
	require.Len(t, have, len(calls), "rows of no call")
}

// failing are the replies of a call that servers do not take.
const failing = "E E E"

// unfollowed are the commands of which luagen does not know some effect, so that it finds too little.
var unfollowed = map[string]string{
	"creates": `bitop geosearchstore hsetex mset msetex msetnx pfmerge sdiffstore set sinterstore sunionstore xgroup zdiffstore
		zinterstore zrangestore zunionstore`,
	"drops": `bitop geosearchstore getex mset msetex persist sdiffstore set sinterstore sunionstore zdiffstore zinterstore
		zrangestore zunionstore`,
	"gives": "msetex",
	"removes": `blmove blmpop blpop brpop brpoplpush bzmpop bzpopmax bzpopmin delifeq hgetdel lmove lmpop rpoplpush
		sdiffstore smove zdiffstore zmpop zremrangebylex zremrangebyrank zremrangebyscore`,
}

// requireTrue fails unless what luagen knows of a call is what servers do.
func requireTrue(t *testing.T, call string, does, knows []string) {
	t.Helper()
	seen, want := strings.Join(does[:3], ""), ""
	for _, kind := range []string{"N", "T", "L", "f", "S", "F"} {
		if strings.Contains(seen, kind) {
			want += kind
		}
	}
	if strings.ContainsAny(seen, "LSF") {
		want += "!"
	}
	if knows[0] != "?" {
		require.Equal(t, want, knows[0], "the reply to %s: servers gave %v", call, does)
	}
	command, _, _ := strings.Cut(call, " ")
	for _, effect := range does[3:] {
		if !slices.Contains(knows[1:], effect) {
			require.Contains(t, strings.Fields(unfollowed[effect]), command, "%s: it %s", call, effect)
		}
	}
	if command == "persist" { // By which a script says that it means the key to stay, as by a removal.
		does = append(does, "removes")
	}
	require.Subset(t, does[3:], knows[1:], call)
}

// known returns what luagen knows of a call, by what it finds in scripts that get it wrong.
func known(call, servers string) string {
	var words []string
	for word := range strings.FieldsSeq(call) {
		if len(words) == 0 || !strings.Contains("klm", word) {
			word = "'" + word + "'"
		}
		words = append(words, word)
	}
	finds := func(rule, result, code string) bool {
		src := "---@since " + servers + "\n---@key k any\n---@key l any\n---@key m any\n---@key z any\n" +
			"---@arg ms milliseconds\n---@arg s seconds\n---@arg at unixmilli\n---@return " + result + " v\n" +
			strings.ReplaceAll(code, "CALL", "redis.call("+strings.Join(words, ", ")+")") + "\n"
		_, found := examine("in.lua", []byte(src))
		return slices.ContainsFunc(found, func(f parse.Finding) bool { return f.Rule == rule })
	}
	const when = "if redis.call('exists', z) == 1 then "
	all := replyKnown(finds)
	gives := finds(check.Expire, "int", "redis.call('append', k, 'v')\n"+when+"CALL end\nreturn 1")
	differs := func(name string) bool {
		return finds(check.Time, "int", "if CALL < tonumber("+name+") then return 1 end\nreturn 0")
	}
	inSeconds, inMilliseconds := differs("ms"), differs("s")
	for _, effect := range []struct {
		name string
		so   bool
	}{
		{"creates", finds(check.Expire, "int", "CALL\n"+when+"redis.call('pexpire', k, 1000) end\nreturn 1")},
		{"drops", finds(check.Expire, "int", "if redis.call('exists', k) == 1 then\nCALL\n"+
			when+"redis.call('pexpire', k, 1000) end\nend\nreturn 1")},
		{"gives", gives},
		{"removes", !gives && !finds(check.Expire, "int", "redis.call('append', k, 'v')\n"+
			when+"redis.call('pexpire', k, 1000) else CALL end\nreturn 1")},
		{"seconds", inSeconds},
		{"milliseconds", inMilliseconds},
	} {
		if effect.so {
			all += " " + effect.name
		}
	}
	return all
}

// replyKnown returns what luagen knows of a reply.
func replyKnown(finds func(rule, result, code string) bool) string {
	kinds := ""
	for _, probe := range []struct {
		kind string
		may  bool
	}{
		{"N", !finds(check.Compare, "int", "return CALL == 1 and 1 or 0")},
		{"T", !finds(check.Compare, "int", "return CALL == 'x' and 1 or 0")},
		{"L", !finds(check.Result, "string?[]", "return CALL")},
	} {
		if probe.may {
			kinds += probe.kind
		}
	}
	if kinds == "NTL" {
		return "?"
	}
	fails := finds(check.Nil, "string", "return CALL .. 'x'")
	if kinds == "L" && finds(check.Result, "string[]", "return CALL") {
		kinds += "f"
	}
	if kinds == "" && fails {
		kinds = "S"
	}
	if finds(check.Compare, "int", "return CALL ~= nil and 1 or 0") {
		kinds += "F"
	}
	if fails {
		kinds += "!"
	}
	return kinds
}

// rewritten writes the file anew, and returns what it has.
func rewritten(t *testing.T, have map[string][2]string, calls map[string]string) map[string][2]string {
	t.Helper()
	does := map[string]string{}
	for program, server := range measured {
		c := startServer(t, program)
		name, version, _ := strings.Cut(server, " ")
		if !strings.Contains(fmt.Sprint(must(c.do("INFO", "server"))(t)), name+"_version:"+version) {
			continue
		}
		for _, command := range commandsOf(t, server) {
			for _, call := range command.calls() {
				got, before := observe(t, c, call, command.preset()), does[call]
				if before == "" || strings.HasPrefix(before, failing) {
					does[call] = got
				} else if !strings.HasPrefix(got, failing) {
					require.Equal(t, before, got, call)
				}
			}
		}
	}
	var text strings.Builder
	for _, call := range slices.Sorted(maps.Keys(calls)) {
		fmt.Fprintf(&text, "%s: %s | %s\n", call, cmp.Or(does[call], have[call][0]), known(call, calls[call]))
	}
	require.NoError(t, os.WriteFile(factsFile, []byte(text.String()), 0o644))
	return facts(t)
}
