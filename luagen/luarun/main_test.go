package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

// luarun runs the command with arguments that have no spaces, and returns its exit code and outputs.
func luarun(args string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(&out, &errs, strings.Fields(args))
	return code, out.String(), errs.String()
}

// TestRaw: all servers print the same calls, with the lines where they stand, also those of another name and those that
// are returned; and the errors.
func TestRaw(t *testing.T) {
	t.Parallel()
	onServer(t, "")
	onServer(t, "-url redis://"+servers.Start(t, servers.Redis, nil).Addr()+" ")
	onServer(t, "-url redis://"+servers.Start(t, servers.Valkey, nil).Addr()+" ")
}

func onServer(t *testing.T, url string) {
	t.Helper()
	const file = "testdata/raw.lua"
	for way, want := range map[string]string{
		"range": `19: "lrange" "range" "0" "-1" -> ["v" "1.5"]` + "\n" + `["v" "1.5"]`,
		"raise": file + ": MINE raised",
		"lua":   "11: ",
		"call": `12: "incr" "call" -> error WRONGTYPE Operation against a key holding the wrong kind of value` + "\n" +
			file + ":12: WRONGTYPE Operation against a key holding the wrong kind of value",
		"caught":  `13: "incr" "caught" -> error WRONGTYPE Operation against a key holding the wrong kind of value` + "\nnil",
		"reply":   "MINE replied",
		"nil":     "nil",
		"changed": `18: "lrange" "changed" "0" "0" -> ["v"]` + "\n" + `["w"]`,
		"text":    `"return redis.call("`,
		"global":  "Script attempted to access nonexistent global variable 'none'",
	} {
		code, out, errs := luarun(url + file + " k " + way + " , " + way + " v")
		for line, call := range []string{2: `"set" "k" "1.5" -> "OK"`,
			3: `"incr" "k" -> error ERR value is not an integer or out of range`,
			5: `"get" "k" -> "1.5"`, 8: `"lpush" "` + way + `" "1.5" "v" -> 2`} {
			if call != "" {
				begin := strings.Join([]string{file, string(rune('0' + line)), " " + call + "\n"}, ":")
				require.True(t, strings.HasPrefix(out, begin), "%s: %s", way, out)
				out = out[len(begin):]
			}
		}
		require.Contains(t, out+errs, want, way)
		failed := map[string]int{"raise": 1, "lua": 1, "call": 1, "reply": 1, "global": 1}
		require.Equal(t, failed[way], code, way)
		if way == "lua" {
			require.Regexp(t, `^testdata/raw.lua:11: attempt to index`, errs)
		}
	}
}

// TestAnnotated: arguments by their names and types, and results as luagen's functions return them.
func TestAnnotated(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"replies/board board=b take=true":                                          `:6: "zpopmin" "b" "1" -> []` + "\ntop []scriptcall.Scored = []",
		"replies/bucket bucket=b":                                                  "state BucketState = nil",
		"replies/fields user=u":                                                    "fields []*string = [nil nil]",
		"replies/level bucket=b":                                                   "state LevelState = nil",
		"replies/choose lock=l mode=a unit=ms-1":                                   `mode: bad argument: "a" is not read|write`,
		"replies/due jobs=j now=2026-01-31T12:00:00Z":                              `"1769860800000" "byscore"`,
		"replies/due jobs=j now=2026-01-31T12:00:01Z":                              "\nok bool = false\n",
		"replies/due jobs=j now=noon":                                              "bad argument: now=noon is no unixmilli: write it as in 2026-01-31T12:00:00Z",
		"user/times k=k a=1000 b=2s":                                               "bad argument: a=1000 is no milliseconds: write its unit, as in 500ms, 30s or 1h30m",
		"user/times k=k a=2s b=2":                                                  "bad argument: b=2 is no seconds(1..86400): write its unit, as in 30s or 1h30m",
		"replies/move from=a from=b to=c done=e done=f":                            "bad argument: 1 for 2 of from",
		"replies/move":                                                             "from: bad argument: no key",
		"replies/move from=a to=c done=d ids=1 flags=x":                            "flags=x is no bool",
		"user/times k=k a=1500ms b=2s d=3s d=4s":                                   `"rpush" "k" "1500" "2" "" "2" -> 4`,
		"user/times k=k a=-1s b=2s":                                                "bad argument: -1s is not in 1.. milliseconds",
		"user/times k=k a=1s b=2":                                                  "b=2 is no seconds(1..86400)",
		"user/lists counter=c locks=a locks=b n=3 owners=x owners=y ids=1 flags=1": `"rpush" "c" "3" "2" "2" "1" "1"`,
		"user/lists counter=c locks=a n=3.5 owners=x":                              "n=3.5 is no int",
		"user/notify lock=l side={a} publish=get released=r":                       `publish: bad argument: "get" is not publish|spublish`,
		"user/notify lock=l side=a publish=publish released=r":                     `side: bad argument: no hash tag in "a"`,
		"user/notify lock=l side={a} publish=publish released=r":                   "GONE no lock",
		"replies/jobs side={a} first=true":                                         "ok bool = false",
		"replies/jobs side={a} first=false":                                        "level: level: unexpected reply: want integer, got nil",
		"user/result k=k":                                                          "a int64 = 1\nb int64 = nil\nc string = nil\nd []float64 = []\ne bool = true\n",
		"user/optional k=k a=1 b=.5 e=2026-01-31T12:00:00.5Z":                      "wait time.Duration = 5ms",
		"user/optional k=k a=1 a=2":                                                "write a=value once, of type int?",
		"user/optional k=k z=1":                                                    "declares no z",
		"user/optional k":                                                          `"k" is not name=value`,
		"user/optional":                                                            "write k=value once",
		"cases/keys_of_library/keys":                                               "has functions for other scripts",
		"cases/bad_bounds/in":                                                      "bad_bounds/in.lua:",
		"cases/flags_readonly/in counter=c":                                        `:5: "get" "c" -> nil`,
		"none":                                                                     "no such file",
	} {
		name, rest, _ := strings.Cut(args, " ")
		code, out, errs := luarun("../testdata/" + name + ".lua " + rest)
		require.Contains(t, out+errs, want, args)
		require.Equal(t, errs == "", code == 0, args)
		require.Equal(t, strings.Contains(errs, "luarun: "), code == 2, args)
	}
}

// TestHash: luarun prints a hash field by field, even if another script wrote it. It sets HASP_URL, so it is not parallel.
func TestHash(t *testing.T) {
	addr := servers.Start(t, servers.Redis, nil).Addr()
	t.Setenv("HASP_URL", "redis://default:@"+addr)
	dir := t.TempDir()
	set, shared := filepath.Join(dir, "set.lua"), filepath.Join(t.TempDir(), "shared.lua")
	require.NoError(t, os.WriteFile(set, []byte("---@key k hash\n---@include shared.lua\nmake(k)\n"), 0o600))
	require.NoError(t, os.WriteFile(shared, []byte("---@library\nlocal function make(k)\n"+
		"  redis.call('hset', k, 'level', 7, 'owner', 'ann')\nend\n"), 0o600))
	code, out, errs := luarun("-url HASP_URL -I " + filepath.Dir(shared) + " " + set + " k=b")
	require.Equal(t, 0, code, errs)
	require.Contains(t, out, `"hset" "b" "level" "7" "owner" "ann" -> 2`)
	_, out, errs = luarun("-url HASP_URL ../testdata/replies/bucket.lua bucket=b")
	require.Contains(t, out, "state BucketState = {level: 7, at: nil, owner: \"ann\"}\n", errs)
	const file = " testdata/raw.lua"
	t.Setenv("HASP_URL", "")
	for args, want := range map[string]string{
		"-url redis://:secret@" + addr + file: "-url has a password", "-url http://x" + file: "the URL is none of",
		"-url redis://127.0.0.1:1" + file + " k": "refused", "-url HASP_URL" + file: "HASP_URL is not set",
		file + " , v": "at least one key", "-none" + file: "not defined: -none", "": "no script",
	} {
		code, _, errs = luarun(args)
		require.NotZero(t, code)
		require.Contains(t, errs, want)
		require.NotContains(t, errs, "secret")
	}
	code, out, _ = luarun("-h")
	require.Zero(t, code)
	require.Contains(t, out, "Usage of luarun")
}
