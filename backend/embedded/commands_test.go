package embedded_test

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
)

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
	return string(must(os.ReadFile(path))(t))
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
	arity := must(strconv.Atoi(fields[1]))(t)
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
	_, list, found := strings.Cut(readFile(t, luagenFolder+"parse/globals.go"), "globalSet(`")
	require.True(t, found)
	list, _, _ = strings.Cut(list, "`")
	server := embedded.NewServer()
	missing := func(name string) bool {
		reply, err := server.Do("EVAL", "return type(rawget(_G, ARGV[1])) == 'nil' and 1 or "+
			"ARGV[2] ~= '' and type(_G[ARGV[1]][ARGV[2]]) == 'nil' and 1 or 0", "0",
			strings.Split(name+".", ".")[0], strings.Split(name+".", ".")[1])
		require.NoError(t, err, name)
		return must(reply.Int())(t) == 1
	}
	var all []string
	lib := ""
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
