//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

// TestExitCodes runs each kind of command line to its end.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	do(t, server, "ACL", "SETUSER", "alice", "on", ">secret", "~x", "+hello", "+ping", "+cluster")
	do(t, server, "SET", "text", "of another program")
	password := filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(password, []byte("secret\n"), 0o600))
	notExecutable := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(notExecutable, []byte("true"), 0o600))
	notAProgram := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(notAProgram, []byte("true"), 0o700))
	busy := start(t, []string{onServer(server.Addr())}, "lock", "busy", "--", "sleep", "1000")
	awaitKey(t, server, "busy")
	for _, c := range []struct {
		args  string // separated by spaces; in one word ␣ is a space, and ␤ a line break
		code  int
		error string // what its one line contains; ␤ is its end
		url   string
	}{
		{args: "lock x -- true"},
		{args: "lock x -- sh -c exit␣7", code: 7},
		{args: "lock x -c exit␣7", code: 7},
		{args: "lock x -c kill␣-9␣$$", code: 128 + 9},
		{args: "read x -- true"}, {args: "write x -- true"}, {args: "slot s -n 5 -- true"},
		{args: "lock x --kind mutex -- true"}, {args: "lock x --kind fair -- true"},
		{args: "once job --every 1h -- sh -c exit␣7", code: 7},
		{args: "once job --every 1h -- true"},
		{args: "once job --every 1h -- sh -c exit␣7"},
		{args: "elect x -- sh -c exit␣7", code: 7},
		{args: "rate r --permits 5 --per 1h -n 5"},
		{args: "rate r --permits 5 --per 1h", code: 75, error: "too few free permits: try again in 1"},
		{args: "rate other --permits 5 --per 1h --wait"},
		{args: "latch init l 2"}, {args: "latch init l 3", code: 1, error: "set already"},
		{args: "latch down l"}, {args: "latch get l"}, {args: "latch wait l --until-set -n"},
		{args: "latch wait l -n", code: 75, error: `hasp: the latch "l" is not open: the count is 1␤`},
		{args: "latch wait l --wait 10ms -E 9", code: 9, error: `the latch "l" is not open: the count is 1: waited 10ms␤`},
		{args: "latch down l 2"}, {args: "latch wait l"}, {args: "latch wait l -n"},
		{args: "latch wait l --until-set -n", code: 75, error: `hasp: the latch "l" is not set␤`},
		{args: "latch wait l --parts -n", code: 75, error: "the latch is not there"},
		{args: "latch wait l --parts --wait 10ms", code: 75, error: "the latch is not there"},
		{args: "latch down l --part a", code: 1, error: "the latch is not there"},

		{args: "force-unlock busy --if-owner nobody --yes", code: 1, error: "nothing was freed"},
		{args: "force-unlock x --yes", code: 1, error: "nothing was freed"},
		{args: "force-unlock x --yes --now", code: 1, error: "nothing was freed"},
		{args: "force-unlock busy --kind write --yes --now", code: 1, error: "nothing was freed"},

		{args: "lock busy -n -- true", code: 75, error: "held by another owner"},
		{args: "lock busy --wait 10ms -- true", code: 75, error: "held by another owner"},
		{args: "lock busy -w 0.01 -E 9 -- true", code: 9, error: "held by another owner"},
		{args: "lock busy --try -- true", code: 75, error: "held by another owner"},

		{args: "", code: 0},
		{args: "nothing", code: 64, error: `"nothing" is no command: see hasp --help`},
		{args: "lock", code: 64, error: "no name"},
		{args: "lock x", code: 64, error: "nothing to run"},
		{args: "lock x --", code: 64, error: "nothing to run"},
		{args: "lock x true", code: 64, error: "write -- before the command"},
		{args: "lock x --what -- true", code: 64, error: "unknown flag: --what: see hasp lock --help"},
		{args: "lock x --wait soon -- true", code: 64, error: "invalid argument"},
		{args: "lock x --wait 1h30 -- true", code: 64, error: "missing unit"},
		{args: "lock x --wait -1 -- true", code: 64, error: "negative"},
		{args: "lock x --grace forever -- true", code: 64, error: "invalid duration"},
		{args: "lock x --lease 30 --grace 1.5 --wait 10 -- true"},
		{args: "--version"},
		{args: "lock x -c true -- true", code: 64, error: "either -c or"},
		{args: "lock x␤y -- true", code: 64, error: "line break"},
		{args: "lock x --kind spin -- true", code: 64, error: `"spin" for "--kind" flag: none of lock`},
		{args: "lock x --kind mutex --metadata m -- true", code: 64, error: "--metadata needs --kind lock"},
		{args: "lock x --lease 500ms -- true", code: 64, error: "at least 1s"},
		{args: "lock x --lease 1500us -- true", code: 64},
		{args: "lock x -n -w 3 -- true", code: 64, error: "none of the others can be"},
		{args: "serve x --listen :0", code: 64, error: "--token-file"},
		{args: "serve x --listen 0.0.0.0:0", code: 64, error: "--token-file"},
		{args: "serve x --allow-release", code: 64, error: "--token-file"},
		{args: "serve x --public-url ops.example.com", code: 64, error: "not as in https://"},
		{args: "serve x --public-url https://ops.example.com/?a=b", code: 64, error: "not as in https://"},
		{args: "serve x --listen nowhere", code: 64, error: "missing port"},
		{args: "serve x --reads 0", code: 64, error: "--reads 0 is not between"},
		{args: "serve x --token-file " + password, code: 64, error: "fewer than 16"},
		{args: "slot x -n 0 -- true", code: 64, error: "limit"},
		{args: "rate", code: 64, error: "no name"},
		{args: "rate r", code: 64, error: `"per", "permits" not set`},
		{args: "rate r s --permits 5 --per 1h", code: 64, error: `"s" behind the name`},
		{args: "rate r␤s --permits 5 --per 1h", code: 64, error: "line break"},
		{args: "rate r --permits 0 --per 1h", code: 64, error: "Permits"},
		{args: "rate r --permits 5 --per 1ns", code: 64, error: "Interval"},
		{args: "rate r --permits 5 --per 1h -n 6", code: 64, error: "6 permits are more than the burst, 5"},
		{args: "rate r --permits 5 --per 1h -n 0", code: 64},
		{args: "latch l init 3", code: 64, error: `"l" is no command: see hasp latch --help`},
		{args: "latch init l", code: 64, error: "write hasp latch init NAME N"},
		{args: "latch init l 0", code: 64, error: "no number of 1 or more"},
		{args: "latch init l 1 --parts --ttl 0", code: 64, error: "ttl"},
		{args: "latch down", code: 64, error: "write hasp latch down NAME [N]"},
		{args: "latch down l many", code: 64, error: "no number of 1 or more"},
		{args: "latch down l 1 2", code: 64, error: `"2" behind the number`},
		{args: "latch down l --part=", code: 64, error: "partID"},
		{args: "latch get l 3", code: 64, error: `"3" behind the name`},
		{args: "latch get l -n", code: 64, error: "unknown shorthand flag: 'n' in -n: see hasp latch get --help"},
		{args: "latch get l␤m", code: 64, error: "line break"},
		{args: "latch wait l --parts --until-set", code: 64, error: "none of the others can be"},
		{args: "force-unlock", code: 64, error: "no name"},
		{args: "force-unlock busy --now --if-owner nobody --yes", code: 1, error: "nothing was freed"},
		{args: "force-unlock busy", code: 64, error: "no terminal to ask at: --yes"},
		{args: "force-unlock busy --if-owner= --yes", code: 64, error: "--if-owner is empty"},
		{args: "force-unlock busy --kind spin --yes", code: 64, error: `"spin" for "--kind" flag: none of lock`},
		{args: "force-unlock busy other --yes", code: 64, error: `"other" behind the name`},
		{args: "force-unlock x␤y --yes", code: 64, error: "line break"},
		{args: "inspect", code: 64, error: "no name"},
		{args: "inspect x␤y", code: 64, error: "line break"},
		{args: "inspect x --output xml", code: 64, error: "none of text, json"},
		{args: "inspect none", code: 1, error: "nothing under none"},
		{args: "watch", code: 64, error: "no name: write hasp watch NAME"},
		{args: "watch x --output xml", code: 64, error: "none of text, json"},
		{args: "list x --output xml", code: 64, error: "none of text, json"},
		{args: "list x y", code: 64, error: "quote it"},
		{args: "once x -- true", code: 64, error: `"every" not set`},
		{args: "once x --every 0 -- true", code: 64, error: "--offset 0s is not below --every 0s"},
		{args: "lock x -- " + notExecutable, code: 126, error: "cannot run the command: exec: "},
		{args: "lock x -- /", code: 126, error: "is a directory"},
		{args: "lock x -- " + notAProgram, code: 126, error: notAProgram + ": exec format error"},
		{args: "lock x -- /no/such/program", code: 127, error: "no such file"},
		{args: "lock x -- no-such-program", code: 127, error: "not found in $PATH"},
		{args: "--url redis://a:b@h lock x -- true", code: 64, error: "--url has a password"},
		{args: "--url redis://h?sentinel_password=p lock x -- true", code: 64, error: "--url has a password"},
		{args: "--cacert /no lock x -- true", code: 64, error: "rediss://"},
		{args: "--password-file /no/file lock x -- true", code: 64, error: "no such file"},
		{args: "lock x -- true", url: "redis://u:p/q@h", code: 64, error: "the URL is malformed"},
		{args: "lock x -- true", url: "h:6379", code: 64, error: "the URL is malformed"},
		{args: "lock x -- true", url: "http://h", code: 64, error: "the URL is malformed"},

		{args: "lock x -- true", url: "redis://127.0.0.1:1", code: 69, error: "no server available"},
		{args: "rate x --permits 5 --per 1h", url: "redis://127.0.0.1:1", code: 69, error: "no server available"},
		{args: "force-unlock x --yes", url: "redis://127.0.0.1:1", code: 69, error: "no server available"},
		{args: "latch get x", url: "redis://127.0.0.1:1", code: 69, error: "no server available"},
		{args: "watch x", url: "redis://127.0.0.1:1", code: 69, error: "no server available"},
		{args: "lock text -- true", code: 70, error: "something else"},
		{args: "--user alice lock x -- true", url: "redis://alice:wrong@" + server.Addr(), code: 77, error: "WRONGPASS"},
		{args: "--user alice --password-file " + password + " lock x -- true", code: 77, error: "NOPERM"},
		{args: "watch x", url: "redis://alice:secret@" + server.Addr(), code: 77, error: "NOPERM"},
	} {
		url := "HASP_URL=" + c.url
		if c.url == "" {
			url = onServer(server.Addr())
		}
		h := start(t, []string{url}, words(c.args)...)
		if c.code == 64 {
			eventually(t, func() bool { return h.hasEnded() || h.output.String() != "" })
			require.Empty(t, h.output.String(), c.args)
		}
		require.Equal(t, c.code, h.code(t), "%s: %s", c.args, h.errors)
		require.Contains(t, h.errors.String(), strings.ReplaceAll(c.error, "␤", "\n"), c.args)
		require.NotContains(t, h.errors.String(), "p/q")
		if c.code < 64 || c.code > 128 {
			continue
		}
		require.Regexp(t, `^hasp: [^\n]+\n$`, h.errors.String(), c.args)
	}
	busy.signal(t, syscall.SIGINT)
	require.Equal(t, 128+int(syscall.SIGINT), busy.code(t))
	require.Zero(t, exist(t, server, "busy", "x", "s", "x\ny", "l"), "nothing stays acquired")
}

// exist returns how many of the keys exist.
func exist(t *testing.T, s *servers.Server, keys ...string) int64 {
	t.Helper()
	reply := must(s.Do(append([]string{"EXISTS"}, keys...)...))(t)
	n := must(reply.Int())(t)
	return n
}

// awaitKey waits until a key exists.
func awaitKey(t *testing.T, s *servers.Server, key string) {
	t.Helper()
	eventually(t, func() bool { return exist(t, s, key) == 1 })
}

// words returns the words of a command line.
func words(line string) []string {
	all := strings.Fields(line)
	for i, word := range all {
		all[i] = strings.NewReplacer("␣", " ", "␤", "\n").Replace(word)
	}
	return all
}
