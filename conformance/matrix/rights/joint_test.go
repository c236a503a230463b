package rights

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/must"
)

// TestJointReleaseIsTheSame runs each release of one owner that was seen, and the script that releases many owners with
// this one alone: both leave the same keys, with the same expiries. It does so with the keys as they were, and with
// expiries that differ from key to key, and where one key after the other has expired.
func TestJointReleaseIsTheSame(t *testing.T) {
	t.Parallel()
	texts, joint := scripts(t), map[string]string{}
	runs := recordRuns(t)
	for _, what := range runs {
		if strings.HasSuffix(what.script.Name, "_release_all") {
			joint[what.script.Name] = what.script.Source
		}
	}
	require.Len(t, joint, 10)
	server, compared := embedded.NewServer(), map[string]int{}
	for _, what := range runs {
		name := what.script.Name + "_all"
		if joint[name] == "" || dropped(texts[what.script.Name], what.args) {
			continue
		}
		args := jointArgs(texts[what.script.Name], texts[name], what.args)
		for _, before := range variants(what.before) {
			compared[name]++
			one := leave(server, what, before, what.script.Source, what.args)
			all := leave(server, what, before, joint[name], args)
			require.Equal(t, one.comparable(), all.comparable(), "%s, from: %s", name, before.comparable())
			for key, words := range one {
				require.InDelta(t, must.Get(strconv.Atoi(words[1])), must.Get(strconv.Atoi(all[key][1])), 5000, "%s: TTL of %s, from: %q",
					name, key, before)
			}
		}
	}
	require.Len(t, compared, len(joint))
	t.Log(compared)
}

// dropped reports whether the arguments ask for what the script of many does not do: to release all permits or none, or
// to let readers in at once.
func dropped(text string, args []string) bool {
	for i, name := range parameters(text) {
		if name == "whole" && args[i] == "1" || name == "standback" && args[i] == "" {
			return true
		}
	}
	return false
}

// parameters returns the names of a script's arguments. A channel is called channel.
func parameters(text string) (names []string) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) < 2:
		case words[0] == "---@channel":
			names = append(names, "channel")
		case words[0] == "---@arg" || words[0] == "---@command":
			names = append(names, words[1])
		}
	}
	return names
}

// jointArgs returns the arguments for the script of many that say the same of one owner. Its lists have one element each.
func jointArgs(single, many string, args []string) (all []string) {
	by := map[string]string{}
	for i, name := range parameters(single) {
		by[name] = args[i]
	}
	for _, name := range parameters(many) {
		name = strings.TrimSuffix(strings.Replace(name, "turns", "channels", 1), "s")
		all = append(all, by[name])
	}
	return all
}

// variants returns the state, and others like it.
func variants(s state) []state {
	keys := slices.Sorted(maps.Keys(s))
	all := []state{s}
	backward := slices.Clone(keys)
	slices.Reverse(backward)
	for _, order := range [][]string{keys, backward} {
		spread := maps.Clone(s)
		for i, key := range order {
			if s[key][1] != "-1" {
				spread[key] = slices.Clone(s[key])
				spread[key][1] = strconv.Itoa(20000 * (i + 1))
			}
		}
		all = append(all, spread)
	}
	for _, key := range keys {
		less := maps.Clone(s)
		delete(less, key)
		all = append(all, less)
	}
	return all
}

// leave runs a script at the time of a recorded run, and returns what the keys hold then.
func leave(server *embedded.Server, what run, before state, source string, args []string) state {
	must.Get(server.Do("FLUSHALL"))
	before.restore(func(words ...any) {
		texts := make([]string, len(words))
		for i, word := range words {
			texts[i] = fmt.Sprint(word)
		}
		must.Get(server.Do(texts...))
	})
	words := []string{"EVAL", fmt.Sprintf(frozen, what.sec, what.usec) + source, strconv.Itoa(len(what.keys))}
	must.Get(server.Do(slices.Concat(words, what.keys, args)...))
	return parseState(must.Get(must.Get(server.Do("EVAL", readState, "0")).Text()))
}
