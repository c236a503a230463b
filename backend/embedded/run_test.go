package embedded_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter/testdata/adaptertest"
	"github.com/hasp-go/hasp/backend/embedded"
)

func TestReadOnlyScriptMayNotWrite(t *testing.T) {
	t.Parallel()
	b := newBackend(t, embedded.NewServer())
	script := backend.NewScript("liar", "return redis.call('set', KEYS[1], 1)", 1, backend.RetryReadOnly)
	require.ErrorContains(t, adaptertest.ErrOf(b.Run(t.Context(), script, []string{"k"}, nil)), "Write commands are not allowed")
}

func TestDo(t *testing.T) {
	t.Parallel()
	server := embedded.NewServer()
	require.ErrorContains(t, adaptertest.ErrOf(server.Do()), "no command")
	require.ErrorContains(t, adaptertest.ErrOf(server.Do("NOSUCH", "x")), "unknown command")
	reply := adaptertest.Must(server.Do("MULTI"))(t)
	require.Equal(t, backend.StringReply("OK"), reply)
	reply = adaptertest.Must(server.Do("PING"))(t)
	require.Equal(t, backend.StringReply("PONG"), reply, "no state from one call to the next")
}

var update = flag.Bool("update", false, "write luagen's table of this server's commands")

const luagenFolder = "../../luagen/internal/"

// TestCommandTable: the table by which luagen knows what scripts may use here is what the server
// shows. miniredis cannot list its commands, so each of Redis's is tried; arities, kinds and
// keys are Redis's.
func TestCommandTable(t *testing.T) {
	t.Parallel()
	version := regexp.MustCompile(`miniredis/v2 v(\S+)`).FindStringSubmatch(readFile(t, "go.mod"))[1]
	known := map[string]bool{}
	var lines []string
	for line := range strings.Lines(readFile(t, luagenFolder+"check/commands/redis-8.2.txt")) {
		fields := strings.Fields(line)
		container, _, sub := strings.Cut(fields[0], "|")
		if fields[0] != "#" && (!sub || known[container]) && knows(t, fields) {
			known[fields[0]] = true
			lines = append(lines, strings.Join(fields, " "))
		}
	}
	lacks := strings.Join(missingGlobals(t), " ")
	got := "# embedded " + version + " without " + lacks + "\n" + strings.Join(lines, "\n") + "\n"
	path := luagenFolder + "check/commands/embedded.txt"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	require.Equal(t, readFile(t, path), got, "go test -run CommandTable -update")
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	return string(adaptertest.Must(os.ReadFile(path))(t))
}

var (
	unknownCommand = regexp.MustCompile(
		`(?i)unknown (redis command|subcommand)|' not supported$|a status in an array`)
	refusedInScripts = regexp.MustCompile(`not allowed from script`)
)

// knows reports whether the server knows the command of a line of Redis's table, and corrects the
// line's mark for commands that scripts may not call.
func knows(t *testing.T, fields []string) bool {
	t.Helper()
	words := strings.Split(fields[0], "|")
	arity := adaptertest.Must(strconv.Atoi(fields[1]))(t)
	for len(words) < max(arity, -arity) {
		words = append(words, "0.01") // a short timeout, where it is one
	}
	call := []string{"EVAL", "local r = redis.pcall(unpack(ARGV)) return r", "0"}
	_, err := embedded.NewServer().Do(append(call, words...)...)
	if err != nil && unknownCommand.MatchString(err.Error()) {
		// A command of subcommands only is known by them.
		return len(words) == 2 && arity == -2 && strings.Contains(err.Error(), " HELP")
	}
	marks := slices.DeleteFunc(strings.Split(fields[2], ","), func(mark string) bool {
		return mark == "noscript" || mark == "-"
	})
	if err != nil && refusedInScripts.MatchString(err.Error()) {
		marks = append(marks, "noscript")
	}
	fields[2] = strings.Join(marks, ",")
	if len(marks) == 0 {
		fields[2] = "-"
	}
	return true
}

// missingGlobals returns what Redis and Valkey give to scripts and this server does not.
func missingGlobals(t *testing.T) []string {
	t.Helper()
	var list string
	for _, words := range regexp.MustCompile(`(?m)^(?:globals:|library )(.*)`).FindAllStringSubmatch(readFile(t, luagenFolder+"parse/words.txt"), -1) {
		list += words[1] + "\n"
	}
	server := embedded.NewServer()
	missing := func(name string) bool {
		reply, err := server.Do("EVAL", "return type(rawget(_G, ARGV[1])) == 'nil' and 1 or "+
			"ARGV[2] ~= '' and type(_G[ARGV[1]][ARGV[2]]) == 'nil' and 1 or 0", "0",
			strings.Split(name+".", ".")[0], strings.Split(name+".", ".")[1])
		require.NoError(t, err, name)
		return adaptertest.Must(reply.Int())(t) == 1
	}
	all, lib := []string(nil), ""
	for _, word := range strings.Fields(list) {
		name, isLib := strings.CutSuffix(word, ":")
		if isLib {
			lib = name
		} else if lib != "" {
			name = lib + "." + name
		}
		if !slices.Contains(all, lib) && missing(name) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

const coveredScript = `---@include lib.lua
local a = ARGV[1]
if a == 'x' then
  a = a ..
    'y'
  for i = 1, 3 do a = a .. i end
else
  local function f()
    return 'no'
  end
  return f()
end
return a
`

// TestCoverLua is not parallel, since one profile at a time is written.
func TestCoverLua(t *testing.T) { //nolint:paralleltest // See above.
	folder, server := t.TempDir(), embedded.NewServer()
	const made = "local k = KEYS[1]\nreturn k"
	sha := adaptertest.Must(server.Do("EVAL", "return redis.sha1hex(ARGV[1])", "0", made))(t)
	text := adaptertest.Must(sha.Text())(t)
	for name, text := range map[string]string{
		"ran.lua": coveredScript, "idle.lua": "\nreturn 1 -- never\n", "lib.lua": "return 1\n",
		"made.lua": "---@key k\nreturn k\n", "made.lua.go": "\n\tSHA1: \"" + text + "\",\n",
		"get.lua": "return 2\n", "get.lua.go": "\n\tCommand: \"GET\",\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	profile := filepath.Join(folder, "lua.out")
	code := embedded.CoverLua(func() int {
		for range 2 {
			require.NoError(t, adaptertest.ErrOf(embedded.NewServer().Do("EVAL", coveredScript, "0", "x")))
			require.NoError(t, adaptertest.ErrOf(server.Do("EVAL", made, "1", "k")))
		}
		return 3
	}, folder, profile)
	require.Equal(t, 3, code)
	want := "mode: count\nidle.lua:2.1,2.18 1 0\nmade.lua:2.1,2.9 1 2\nran.lua:2.1,2.18 1 2\nran.lua:3.1,3.17 1 2\n" +
		"ran.lua:4.1,4.11 1 2\nran.lua:6.1,6.33 1 2\nran.lua:8.1,8.21 1 0\nran.lua:9.1,9.16 1 0\nran.lua:11.1,11.13 1 0\n" +
		"ran.lua:13.1,13.9 1 2\n"
	require.Equal(t, want, strings.ReplaceAll(readFile(t, profile), folder+string(filepath.Separator), ""))
	none := func() int { return 0 }
	require.Equal(t, 0, embedded.CoverLua(none, folder, ""))
	require.Equal(t, 1, embedded.CoverLua(none, folder, filepath.Join(folder, "none", "lua.out")))
}
