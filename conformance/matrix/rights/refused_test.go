package rights

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/conformance/servers"
)

// run is one run of a script on the embedded server.
type run struct {
	script *backend.Script
	keys   []string
	args   []string
	before state
	sec    int // the server's time, which it read
	usec   string

	calls []string // the commands that it called, each once
}

// state is what keys hold. A key's words are its type, its milliseconds or -1, and what it holds.
type state map[string][]string

// readState is a script that returns a state: a line for each key, of words in hexadecimal.
const readState = `
local function hex(word)
  return (string.gsub(word, '.', function(c) return string.format('%02x', string.byte(c)) end))
end
local lines = {}
for _, key in ipairs(redis.call('keys', '*')) do
  local kind, found = redis.call('type', key).ok, {}
  if kind == 'string' then
    found = {redis.call('get', key)}
  elseif kind == 'hash' then
    found = redis.call('hgetall', key)
  elseif kind == 'list' then
    found = redis.call('lrange', key, 0, -1)
  elseif kind == 'zset' then
    found = redis.call('zrange', key, 0, -1, 'withscores')
  end
  local line = hex(key) .. ' ' .. hex(kind) .. ' ' .. hex(string.format('%.0f', redis.call('pttl', key)))
  for _, word in ipairs(found) do
    line = line .. ' ' .. hex(word)
  end
  lines[#lines + 1] = line
end
return table.concat(lines, '\n')`

func parseState(text string) state {
	all := state{}
	for line := range strings.Lines(text) {
		words := []string{}
		for _, word := range strings.Split(strings.TrimSuffix(line, "\n"), " ") {
			words = append(words, string(must.Get(hex.DecodeString(word))))
		}
		all[words[0]] = words[1:]
	}
	return all
}

// comparable returns a text of s that does not depend on the order of a hash, and of an expiry says only that
// there is one.
func (s state) comparable() string {
	lines := []string{}
	for key, words := range s {
		pairs, content := map[string]string{}, any(words[2:])
		if words[0] == "hash" {
			for pair := range slices.Chunk(words[2:], 2) {
				pairs[pair[0]] = pair[1]
			}
			content = pairs
		}
		lines = append(lines, fmt.Sprintf("%s: %s %q, ends: %t", key, words[0], content, words[1] != "-1"))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// restore returns the commands that make the state.
func (s state) restore(do func(words ...any)) {
	for key, words := range s {
		content := words[2:]
		switch words[0] {
		case "string":
			do("SET", key, content[0])
		case "hash":
			do(anyOf("HSET", key, content)...)
		case "list":
			do(anyOf("RPUSH", key, content)...)
		case "zset":
			scored := []string{}
			for pair := range slices.Chunk(content, 2) {
				scored = append(scored, pair[1], pair[0])
			}
			do(anyOf("ZADD", key, scored)...)
		}
		if words[1] != "-1" {
			do("PEXPIRE", key, words[1])
		}
	}
}

func anyOf(name, key string, more []string) []any {
	words := []any{name, key}
	for _, word := range more {
		words = append(words, word)
	}
	return words
}

// of returns the part of s that a script with these keys can reach.
func (s state) of(keys []string) state {
	s = maps.Clone(s)
	maps.DeleteFunc(s, func(key string, _ []string) bool {
		return !slices.ContainsFunc(keys, func(declared string) bool {
			return key == declared || strings.HasPrefix(key, declared+":")
		})
	})
	return s
}

// recordRuns has a client run each script of some kinds of objects, or of all, and returns the runs that differ in what they
// call, and the names of keys and channels.
func recordRuns(t *testing.T, kinds ...string) (all []run, names map[string]bool) {
	t.Helper()
	now := time.Now()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(now.Add(time.Hour))) // Virtual. Times of the bubble are still to come for real servers.
		seen := map[string]bool{}
		r, client := newRecorder(t)
		r.before = func(c backend.Call) func(calls []string) {
			before := parseState(must.Get(must.Get(r.server.Do("EVAL", readState, "0")).Text()))
			clock := must.Get(must.Get(r.server.Do("TIME")).Items())
			sec, usec := must.Get(strconv.Atoi(must.Get(clock[0].Text()))), must.Get(clock[1].Text())
			return func(calls []string) {
				once := fmt.Sprint(c.Script.Name, calls)
				if calls = uniq(calls); !seen[once] {
					seen[once] = true
					all = append(all, run{c.Script, c.Keys, c.Args, before.of(c.Keys), sec, usec, calls})
				}
			}
		}
		r.useAll(t, client, kinds)
		names = r.names
	})
	return all, names
}

func uniq(words []string) []string {
	words = slices.Clone(words)
	slices.Sort(words)
	return slices.Compact(words)
}

// frozen is put before a script: its clock stands at a given time. It stays on the first line.
const frozen = `local real = redis; local redis = {}; for k, v in pairs(real) do redis[k] = v end; ` +
	`redis.call = function(name, ...) local reply = real.call(name, ...); ` +
	`if name == 'time' then return {'%d', '%s'} end; return reply end; `

// refusing runs recorded runs on a real server, as a user who lacks something.
type refusing struct{ admin, user *redis.Client }

func newRefusing(s *servers.Server) *refusing {
	admin := &redis.Options{Addr: s.Addr(), Protocol: 2, MaxRetries: -1}
	user := *admin
	user.Username, user.Password = "without", "none"
	return &refusing{redis.NewClient(admin), redis.NewClient(&user)}
}

// times finds numbers that may be milliseconds, which pass.
var times = regexp.MustCompile(`\b([3-9]|\d{2,})\b`)

// result is what a run returned, and what the keys held before and after it.
type result struct{ reply, before, after string }

// run repeats a run as a user who lacks a command; all channels, "channels"; or nothing, "".
func (r *refusing) run(t *testing.T, what run, lacking string) result {
	t.Helper()
	rule := cmp.Or(map[string]string{"": "+@all", "channels": "resetchannels"}[lacking], "-"+lacking)
	pipe := r.admin.Pipeline()
	pipe.Do(t.Context(), "ACL", "SETUSER", "without", "on", "nopass", "~*", "&*", "+@all", rule)
	pipe.Do(t.Context(), "FLUSHALL")
	what.before.restore(func(words ...any) { pipe.Do(t.Context(), words...) })
	was := pipe.Do(t.Context(), "EVAL", readState, "0")
	must.Get(pipe.Exec(t.Context()))
	words := []any{"EVAL", fmt.Sprintf(frozen, what.sec, what.usec) + what.script.Source, len(what.keys)}
	for _, word := range slices.Concat(what.keys, what.args) {
		words = append(words, word)
	}
	reply, err := r.user.Do(t.Context(), words...).Result()
	if err != nil && err != redis.Nil { //nolint:errorlint // it is returned as it is
		reply = err
	}
	is := must.Get(r.admin.Eval(t.Context(), readState, nil).Text())
	text, _ := was.Text()
	return result{times.ReplaceAllString(fmt.Sprintf("%T %v", reply, reply), "n"), parseState(text).comparable(), parseState(is).comparable()}
}

// releasing returns, by kind, the commands that the releases of grants were seen to call, and PEXPIRE, by which a plain lock
// is renewed. TestRights judges messages; the permits of a rate limiter end by themselves.
func releasing(runs []run) map[string][]string {
	all := map[string][]string{"plain": {"pexpire"}}
	for _, what := range runs {
		if kind := what.kind(`^([a-z]+)_release(_all)?$`); kind != "" {
			all[kind] = slices.DeleteFunc(uniq(append(all[kind], what.calls...)), func(call string) bool {
				return strings.HasSuffix(call, "publish")
			})
		}
	}
	delete(all, "rate")
	return all
}

// kind returns the kind whose script runs, if its name matches; else "".
func (what run) kind(pattern string) string {
	parts := append(regexp.MustCompile(pattern).FindStringSubmatch(what.script.Name), "", "")
	return cmp.Or(map[string]string{"spin": "lock", "tagged": "plain"}[parts[1]], parts[1])
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

// asks reports whether a run also checks the permissions of its release, as the first ones of a client do.
func (what run) asks(texts map[string]string) bool {
	at := slices.Index(parameters(texts[what.script.Name]), "asks")
	return at < 0 || what.args[at] == "1"
}

// grants reports whether a run has made its first argument, an owner, hold its object or wait for it.
func (what run) grants(got result) bool {
	owner := strings.Trim(strconv.Quote(what.args[0]), `"`)
	has := func(state string) bool {
		return slices.ContainsFunc(strings.Split(state, "\n"), func(line string) bool {
			key, content, _ := strings.Cut(line, ": ")
			return slices.Contains(what.keys[:min(2, len(what.keys))], key) && strings.Contains(content, owner)
		})
	}
	return has(got.after) && !has(got.before)
}

// TestRefusedCommandChangesNothing runs each script of the primitives, on the keys that it was seen with and on none,
// as users of whom each lacks one of the commands that it calls, and as one without channels. The server refuses
// the script then, and all keys are as they were; or the script says so itself, in its reply; or it did not need
// the command. An acquire that asks for it needs what its release calls, too.
func TestRefusedCommandChangesNothing(t *testing.T) {
	runs, _ := recordRuns(t)
	texts := scripts(t)
	cells.OnBoth(t, func(t *testing.T, s *servers.Server) {
		r := newRefusing(s)
		refused := map[string]bool{} // scripts and commands
		trials, releases := 0, releasing(runs)
		for _, what := range runs {
			later, earlier, none := what, what, what
			later.sec += 86400
			earlier.sec -= 600 // The server's clock was set back.
			none.before = nil
			for _, what := range []run{what, later, earlier, none} {
				allowed := r.run(t, what, "")
				for _, lacking := range releases[what.kind(`^([a-z]+)_(acquire|adopt)$`)] {
					trials++
					if what.asks(texts) && what.grants(allowed) && what.grants(r.run(t, what, lacking)) {
						t.Errorf("%s without %s grants what cannot be released", what.script.Name, lacking)
					}
				}
				for _, lacking := range append([]string{"channels"}, what.calls...) {
					trials++
					if r.refuse(t, what, lacking, allowed) {
						refused[what.script.Name+" "+lacking] = true
						refused["library "+lacking] = true
					}
				}
			}
		}
		t.Logf("%d runs, %d refusals tried", len(runs), trials)
		everyCommandWasRefused(t, refused)
	})
}

// refuse repeats a run without what is lacking, and reports whether that made a difference.
func (r *refusing) refuse(t *testing.T, what run, lacking string, allowed result) bool {
	t.Helper()
	got := r.run(t, what, lacking)
	if got.reply == allowed.reply && got.after == allowed.after {
		return false
	}
	if got.reply == allowed.reply { // It is not asked again.
		t.Errorf("%s without %s returned %s, and has not changed the keys", what.script.Name, lacking, got.reply)
	}
	if got.before != got.after {
		t.Errorf("%s without %s returned %s, and has changed the keys\nfrom: %s\nto:   %s\nargs: %q", what.script.Name, lacking,
			got.reply, got.before, got.after, what.args)
	}
	return true
}

// called finds the commands that a text calls.
var called = regexp.MustCompile(`\bp?call\('([a-z_]+)'`)

// everyCommandWasRefused requires that no script, and no command of one, is left out. A command of a library may be
// refused in any of the scripts that have it. A plain lock is released without PUBLISH, too.
func everyCommandWasRefused(t *testing.T, refused map[string]bool) {
	t.Helper()
	for name, text := range scripts(t) {
		if strings.Contains(text, "---@library") {
			name = "library"
		}
		for _, match := range called.FindAllStringSubmatch(text, -1) {
			require.True(t, refused[name+" "+match[1]] || match[1] == "publish", "%s was never refused in %s", match[1], name)
		}
	}
}
