package rights

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/conformance/servers"
)

// run is one run of a script on the embedded server.
type run struct {
	backend.Call
	before state
	clock  []string // the server's time before it: seconds, and microseconds
	calls  []string // the commands that it called
}

// state is what keys hold: the commands that make it, each behind the number of its words. What lets keys expire is last.
type state []string

// readState is a script that returns a state, and makeState makes one.
const (
	readState = `
local made, ends = {}, {}
local function add(to, ...)
  to[#to + 1] = tostring(select('#', ...))
  for _, word in ipairs({...}) do to[#to + 1] = word end
end
for _, key in ipairs(redis.call('keys', '*')) do
  local kind, fields, scores = redis.call('type', key).ok, {}, {}
  if kind == 'string' then
    add(made, 'SET', key, redis.call('get', key))
  elseif kind == 'list' then
    add(made, 'RPUSH', key, unpack(redis.call('lrange', key, 0, -1)))
  elseif kind == 'hash' then
    fields = redis.call('hgetall', key)
  else
    scores = redis.call('zrange', key, 0, -1, 'withscores')
  end
  for i = 1, #fields, 2 do add(made, 'HSET', key, fields[i], fields[i + 1]) end
  for i = 1, #scores, 2 do add(made, 'ZADD', key, scores[i + 1], scores[i]) end
  local rest = redis.call('pttl', key)
  if rest >= 0 then add(ends, 'PEXPIRE', key, string.format('%.0f', rest)) end
end
for _, word in ipairs(ends) do made[#made + 1] = word end
return made`
	makeState = `
redis.call('flushall')
local i = 1
while ARGV[i] do
  redis.call(unpack(ARGV, i + 1, i + ARGV[i]))
  i = i + ARGV[i] + 1
end
return {}`
)

// stateOf returns what a server has.
func stateOf(s cells.Doer) state { return texts(s, "EVAL", readState, "0") }

// texts sends a command, and returns the texts that the server replies.
func texts(s cells.Doer, words ...string) (all []string) {
	for _, item := range must.Get(must.Get(s.Do(words...)).Items()) {
		all = append(all, must.Get(item.Text()))
	}
	return all
}

// commands returns the commands that make s.
func (s state) commands() (all [][]string) {
	for len(s) > 0 {
		end := 1 + must.Get(strconv.Atoi(s[0]))
		all, s = append(all, s[1:end]), s[end:]
	}
	return all
}

// comparable returns a text of s that does not depend on the order of a hash, and of an expiry says only that
// there is one.
func (s state) comparable() string {
	lines := []string{}
	for _, command := range s.commands() {
		if command[0] == "PEXPIRE" {
			command = command[:2]
		}
		lines = append(lines, fmt.Sprintf("%q", command))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func uniq(words []string) []string {
	words = slices.Clone(words)
	slices.Sort(words)
	return slices.Compact(words)
}

// frozen is put before a script: its clock stands at a given time. It stays on the first line.
const frozen = `local real = redis; local redis = {}; for k, v in pairs(real) do redis[k] = v end; ` +
	`redis.call = function(name, ...) local reply = real.call(name, ...); ` +
	`if name == 'time' then return {'%s', '%s'} end; return reply end; `

// times finds numbers that may be milliseconds, which pass.
var times = regexp.MustCompile(`\b([3-9]|\d{2,})\b`)

// result is what a run returned, and what the keys hold then.
type result struct {
	reply string
	after state
}

// run repeats a run on a real server as a user who lacks a command; all channels, "channels"; or nothing, "".
func (u *user) run(what run, lacking string) result {
	u.t.Helper()
	u.may("+@all", "~*", "&*", cmp.Or(map[string]string{"": "+@all", "channels": "resetchannels"}[lacking], "-"+lacking))
	texts(u, slices.Concat([]string{"EVAL", makeState, "0"}, what.before)...)
	source := fmt.Sprintf(frozen, what.clock[0], what.clock[1]) + what.Script.Source
	script := backend.NewScript(what.Script.Name, source, what.Script.Keys, backend.RetryNever)
	reply, err := u.b.Run(u.t.Context(), script, what.Keys, what.Args)
	return result{times.ReplaceAllString(fmt.Sprint(reply, err), "n"), stateOf(u)}
}

// releasing returns, by kind, the commands that the releases of grants, and those of places, were seen to call, and PEXPIRE,
// by which a plain lock is renewed. TestRights judges messages; the permits of a rate limiter end by themselves.
func releasing(runs []run) map[string][]string {
	all := map[string][]string{"plain": {"pexpire"}}
	for _, what := range runs {
		if kind := what.kind(`^([a-z]+)_release(_all)?$`); kind != "" {
			if what.has(what.before, placed) && !what.has(what.before, "") {
				kind += placed
			}
			all[kind] = slices.DeleteFunc(uniq(append(all[kind], what.calls...)), func(call string) bool {
				return strings.HasSuffix(call, "publish")
			})
		}
	}
	delete(all, "rate")
	delete(all, "rate"+placed)
	return all
}

// kind returns the kind whose script runs, if its name matches; else "".
func (what run) kind(pattern string) string {
	parts := append(regexp.MustCompile(pattern).FindStringSubmatch(what.Script.Name), "", "")
	return cmp.Or(map[string]string{"spin": "lock", "tagged": "plain"}[parts[1]], parts[1])
}

// parameter finds the names of a script's arguments.
var parameter = regexp.MustCompile(`(?m)^---@(?:arg|command|channel) (\w+)`)

// asks reports whether a run of a script with this text also checks the permissions of its release, as the first ones of a
// client do.
func (what run) asks(text string) bool {
	for i, found := range parameter.FindAllStringSubmatch(text, -1) {
		if found[1] == "asks" {
			return what.Args[i] == "1"
		}
	}
	return true
}

// grants reports whether a run has made its first argument, an owner, hold its object, or have a place.
func (what run) grants(got result, how string) bool {
	return what.has(got.after, how) && !what.has(what.before, how)
}

// placed is behind the kind of what has a place at a side key, which is not one of the first two.
const placed = " place"

func (what run) has(s state, how string) bool {
	first := min(2, len(what.Keys))
	keys := map[string][]string{"": what.Keys[:first], placed: what.Keys[first:]}[how]
	return slices.ContainsFunc(s.commands(), func(command []string) bool {
		return slices.Contains(keys, command[1]) && strings.Contains(strings.Join(command[2:], " "), what.Args[0])
	})
}

// TestRefusedCommandChangesNothing runs each script of the primitives, on the keys that it was seen with and on none,
// as users of whom each lacks one of the commands that it calls, and as one without channels. The server refuses
// the script then, and all keys are as they were; or the script says so itself, in its reply; or it did not need
// the command. An acquire that asks for it needs what its release calls, too.
func TestRefusedCommandChangesNothing(t *testing.T) {
	runs, all := recordAll(t), scripts(t)
	cells.OnBoth(t, func(t *testing.T, s *servers.Server) {
		u, refused := newUser(t, s), map[string]bool{} // scripts and commands
		trials, releases := 0, releasing(runs)
		for _, what := range runs {
			later, earlier, none := what, what, what
			now := must.Get(strconv.Atoi(what.clock[0]))
			later.clock = []string{strconv.Itoa(now + 86400), what.clock[1]}
			earlier.clock = []string{strconv.Itoa(now - 600), what.clock[1]} // The server's clock was set back.
			none.before = nil
			for _, what := range []run{what, later, earlier, none} {
				allowed := u.run(what, "")
				for _, how := range []string{"", placed} {
					for _, lacking := range releases[what.kind(`^([a-z]+)_(acquire|adopt)$`)+how] {
						trials++
						if what.asks(all[what.Script.Name]) && what.grants(allowed, how) && what.grants(u.run(what, lacking), how) {
							t.Errorf("%s without %s grants what cannot be released", what.Script.Name, lacking)
						}
					}
				}
				for _, lacking := range append([]string{"channels"}, uniq(what.calls)...) {
					trials++
					if u.refuse(what, lacking, allowed) {
						refused[what.Script.Name+" "+lacking] = true
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
func (u *user) refuse(what run, lacking string, allowed result) bool {
	u.t.Helper()
	got := u.run(what, lacking)
	was, is := what.before.comparable(), got.after.comparable()
	if got.reply == allowed.reply && is == allowed.after.comparable() {
		return false
	}
	if got.reply == allowed.reply { // It is not asked again.
		u.t.Errorf("%s without %s returned %s, and has not changed the keys", what.Script.Name, lacking, got.reply)
	}
	if was != is {
		u.t.Errorf("%s without %s returned %s, and has changed the keys\nfrom: %s\nto:   %s\nargs: %q", what.Script.Name, lacking,
			got.reply, was, is, what.Args)
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
