package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/emit"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

const badScript = "---@key k string\nreturn x\n"

// TestVet: findings alone, under the names as they were given; nothing is written, and nothing of Go
// is asked for.
func TestVet(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "no-package")
	write(t, dir, "get-it.lua", goodScript)
	out, errs := exits(t, 0, "vet", dir)
	require.Empty(t, out+errs)
	write(t, dir, "bad.lua", badScript)
	given := dir + "/../no-package/bad.lua"
	out, errs = exits(t, 1, "vet", given, filepath.Join(dir, "get-it.lua"))
	require.Empty(t, out)
	require.Equal(t, given+":1:9: k is declared and never used [unused]\n"+
		given+":2:8: x is not declared [undeclared]\n", errs)
	write(t, dir, "a.lua", badScript) // findings are sorted, whatever the order of the paths
	_, _, one := luagen("vet", filepath.Join(dir, "bad.lua"), filepath.Join(dir, "a.lua"))
	_, _, all := luagen("vet", dir)
	require.Equal(t, all, one)
	require.Len(t, must(os.ReadDir(dir))(t), 3)
}

// TestUnseen: with -unseen=fail a script for a client that vet cannot read is a finding, but not what only may be a script,
// nor one that a comment accepts.
func TestUnseen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "[p]")
	const head = "package p\n\nimport \"github.com/redis/go-redis/v9\"\n\n"
	write(t, dir, "a.go", head+"func a(c redis.Cmdable, text string) {\n\tc.Eval(ctx, text, nil)\n}\n")
	write(t, dir, "help.go", "package p\n\nconst help = `Write redis.call('get', KEYS[1]).\nIt gets.`\n")
	write(t, dir, "lib.lua", "#!lua name=lib\nredis.register_function('f', f)\n")
	write(t, dir, "other.lua", "print(1)\n")
	_, errs := exits(t, 0, "vet", dir)
	require.Equal(t, 4, strings.Count(errs, "not seen: "), errs)
	_, errs = exits(t, 1, "vet", "-unseen=fail", dir)
	require.Contains(t, errs, filepath.Join(dir, "a.go")+":6:14: not seen: the script is no constant text [unseen]\n"+
		filepath.Join(dir, "lib.lua")+":1:1: not seen: libraries for FUNCTION LOAD [unseen]\n")
	require.Equal(t, 2, strings.Count(errs, "[unseen]"), errs)
	write(t, dir, "a.go", head+"func a(c redis.Cmdable, text string) {\n\tc.Eval(ctx, text, nil) //luagen:unseen the tests have it\n}\n")
	write(t, dir, "lib.lua", "#!lua name=lib\n-- luagen:unseen the tests load it\nredis.register_function('f', f)\n")
	_, errs = exits(t, 0, "vet", "-unseen=fail", dir)
	require.Equal(t, 2, strings.Count(errs, "not seen: "), errs)
}

// TestTextFiles: files of other languages are read with -text only, by name or in a folder, and exit codes are those of vet.
func TestTextFiles(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "[p]")
	path, bad := filepath.Join(dir, "a.ts"), filepath.Join(dir, "b.py")
	write(t, dir, "a.ts", "const a = `return redis.call('incr', KEYS[1])`;\n")
	write(t, dir, "b.py", "B = \"return redis.call('incr')\"\n")
	write(t, dir, "node_modules/c.js", "const c = `return redis.call('incr')`;\n")
	for want, args := range map[string][]string{
		"0 ":                   {"-text", path},
		"1 " + bad + ":1:24: ": {"-text", dir},
		"1 " + bad + ":1:24:":  {"-text", path, bad},
		"2 luagen: " + path + " is read with -text only\n":    {path},
		"0 luagen: nothing to check: no .lua file and no .go": {dir},
		"2 luagen: " + bad + "x is no .lua file":              {"-text", bad + "x"},
	} {
		write(t, dir, "b.pyx", "")
		code, _, errs := luagen(append([]string{"vet"}, args...)...)
		require.True(t, strings.HasPrefix(fmt.Sprint(code, " ", errs), want), "%s: %d %s", want, code, errs)
	}
	exits(t, 0, "vet", "-unseen=fail", "-text", path)
	write(t, dir, "a.ts", "const a = `return redis.call('incr', ${key})`;\n")
	_, errs := exits(t, 1, "vet", "-unseen=fail", "-text", path)
	require.Equal(t, path+":1:12: not seen: the script is no constant text [unseen]\n", errs)
}

// TestVetNothing: a project without scripts has no fault. It sets os.Stdin, so it is not parallel.
func TestVetNothing(t *testing.T) {
	dir := t.TempDir()
	_, errs := exits(t, 0, "vet", dir)
	require.Equal(t, "luagen: nothing to check: no .lua file and no .go file in "+dir+"; -text reads TypeScript, JavaScript, Python, Ruby and PHP, too\n", errs)
	write(t, dir, "in", badScript)
	before := os.Stdin
	os.Stdin = must(os.Open(filepath.Join(dir, "in")))(t)
	t.Cleanup(func() { os.Stdin = before })
	_, errs = exits(t, 1, "vet", "-")
	require.Contains(t, errs, "-:2:8: x is not declared [undeclared]\n")
}

// TestJSON: the shape that editors read is one for all commands and outcomes.
func TestJSON(t *testing.T) {
	t.Parallel()
	dir := folder(t, "a.lua", badScript)
	path := filepath.Join(dir, "a.lua")
	quoted := must(json.Marshal(path))(t)
	want := `{"findings":[` +
		`{"file":` + string(quoted) + `,"line":1,"column":9,"rule":"unused",` +
		`"message":"k is declared and never used"},` +
		`{"file":` + string(quoted) + `,"line":2,"column":8,"rule":"undeclared",` +
		`"message":"x is not declared"}]}` + "\n"
	for _, args := range [][]string{{"-json", dir}, {"vet", "-json", dir}, {"-check", "-json", dir}} {
		out, errs := exits(t, 1, args...)
		require.Equal(t, want, out)
		require.Empty(t, errs)
	}
	write(t, dir, "a.lua", goodScript)
	out, errs := exits(t, 0, "vet", "-json", dir)
	require.Equal(t, `{"findings":[]}`+"\n", out+errs)
	out, errs = exits(t, 1, "-check", "-json", dir)
	require.Equal(t, `{"findings":[{"file":`+strings.Replace(string(quoted), "a.lua", "a.lua.go", 1)+
		`,"line":1,"column":1,"rule":"generated","message":"the file is missing"}]}`+"\n", out+errs)
	out, _ = exits(t, 2, "vet", "-json", filepath.Join(dir, "missing"))
	var report jsonReport
	require.NoError(t, json.Unmarshal([]byte(out), &report))
	require.Contains(t, report.Error, "missing")
	require.Empty(t, report.Findings)
}

// TestEmbeddedIsATargetWhereNamed: what the embedded server lacks is found by "---@since embedded"
// alone.
func TestEmbeddedIsATargetWhereNamed(t *testing.T) {
	t.Parallel()
	const body = "---@key k string\n---@channel c\n" +
		"redis.call('spublish', c, cjson.encode_max_depth(9))\nredis.call('set', k, redis.sha1hex(k))\n"
	path := filepath.Join(t.TempDir(), "in.lua")
	_, findings := examine(path, []byte(body))
	require.Empty(t, findings)
	_, findings = examine(path, []byte("---@since redis 7.0, valkey 8.0, embedded\n"+body))
	var got []string
	for _, f := range findings {
		got = append(got, strings.TrimPrefix(f.String(), path))
	}
	require.ElementsMatch(t, []string{
		":4:33: Embedded miniredis 2.40.0 has no cjson.encode_max_depth [undeclared]",
		":4:12: Embedded miniredis 2.40.0 does not know the command SPUBLISH [command]",
	}, got)
}

// TestNewerServer: a script for a server that is newer than any table is checked by the newest, and
// the run says so once.
func TestNewerServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const head = "---@since redis 99.1, valkey 9.1, embedded\n---@key k hash\n"
	write(t, dir, "a.lua", head+"redis.call('hsett', k, 'undeclared')\n")
	write(t, dir, "b.lua", head+"return redis.call('hincrby', k, 'f', 1)\n")
	const note = "---@since redis 99.1 is checked by the commands of Redis 8.2.3, the newest that luagen " +
		"knows; -commands takes those of a newer server"
	_, errs := exits(t, 1, "vet", dir)
	require.Equal(t, "luagen: "+note+"\n"+filepath.Join(dir, "a.lua")+
		":3:12: there is no command HSETT: did you mean hset? [command]\n", errs)
	_, errs = exits(t, 0, "vet", filepath.Join(dir, "b.lua"))
	require.Equal(t, "luagen: "+note+"\n", errs)
	out, _ := exits(t, 0, "vet", "-json", filepath.Join(dir, "b.lua"))
	require.Equal(t, `{"findings":[],"notes":["`+note+`"]}`+"\n", out)
	// A table of that server is not behind it.
	write(t, dir, "mine.txt", "# redis 99.1.7\nhincrby 4 write,hash index,1:range,0,1,0\n")
	_, errs = exits(t, 0, "vet", "-commands", filepath.Join(dir, "mine.txt"), filepath.Join(dir, "b.lua"))
	require.Empty(t, errs)
}

const ownTable = `# redis 8.2.1
get 2 string index,1:range,0,1,0
hgetdel -5 write,hash index,1:range,0,1,0
json.set -4 write,module index,1:range,0,1,0
set -3 write,string index,1:range,0,1,0
`

// TestOwnTable: a table of the user's own server takes the place of ours, and makes that server the
// one that scripts are for.
func TestOwnTable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	table := filepath.Join(dir, "mine.txt")
	write(t, dir, "mine.txt", ownTable)
	write(t, dir, "new.lua", "---@key k hash\nreturn redis.call('hgetdel', k, 'fields', 1, 'f')\n")
	write(t, dir, "json.lua", "---@key k string\nredis.call('json.set', k)\n")
	path := filepath.Join(dir, "new.lua")
	_, errs := exits(t, 1, "vet", path)
	require.Contains(t, errs, ":2:19: ")
	exits(t, 0, "vet", "-commands", table, path)
	exits(t, 0, "-p", "p", "-o", t.TempDir(), "-commands", table, path)
	_, errs = exits(t, 1, "vet", "-commands", table, filepath.Join(dir, "json.lua"))
	require.Contains(t, errs, ":2:12: wrong number of arguments for JSON.SET: 1, it takes at least 3")
	// What is required of Valkey holds where Valkey is named.
	write(t, dir, "new.lua", "---@since redis 7.0, valkey 8.0\n"+read(t, path))
	_, errs = exits(t, 1, "vet", "-commands", table, path)
	require.Contains(t, errs, "Valkey 8.0.1 does not know the command HGETDEL")
}

func TestOwnTableThatIsNone(t *testing.T) {
	t.Parallel()
	dir := folder(t, "a.lua", goodScript)
	for text, want := range map[string]string{
		"":                             "line 1: a table begins with a server",
		"{}":                           "line 1: a table begins with a server",
		"# keydb 6.3":                  "line 1: unknown server keydb",
		"# redis 8.0\nget":             "line 2: not a name, an arity",
		"# redis 8.0\nget 2 - index:x": "line 2: malformed key place",
		"# redis 8.0\nacl|cat 2 - -":   "line 2: acl|cat stands before acl",
		"# redis 8.0\nget 99999999999999999999 - -": "line 2: strconv.Atoi",
	} {
		write(t, dir, "table.txt", text)
		_, errs := exits(t, 2, "vet", "-commands", filepath.Join(dir, "table.txt"), dir)
		require.Contains(t, errs, want)
	}
	write(t, dir, "table.txt", ownTable)
	table := filepath.Join(dir, "table.txt")
	_, errs := exits(t, 2, "vet", "-commands", table, "-commands", table, dir)
	require.Contains(t, errs, "a second table of redis")
	exits(t, 2, "vet", "-commands", filepath.Join(dir, "missing.txt"), dir)
}

// TestSARIF: what code scanners read has the findings of JSON, and the remarks.
func TestSARIF(t *testing.T) {
	t.Parallel()
	dir := folder(t, "a.lua", "---@since redis 99.1\n"+badScript)
	out, errs := exits(t, 1, "vet", "-sarif", dir)
	require.Empty(t, errs)
	quoted := must(json.Marshal(filepath.ToSlash(filepath.Join(dir, "a.lua"))))(t)
	log := sarifOf(t, out)
	require.Equal(t, "2.1.0", log.Version)
	known := log.Runs[0].Tool.Driver.Rules
	require.Len(t, known, len(rules()))
	for _, r := range known {
		require.Greater(t, len(r.ShortDescription.Text), 10, r.ID)
		require.Equal(t, r.Help.Text, r.FullDescription.Text)
		require.Contains(t, r.Help.Text, r.ShortDescription.Text[:10])
	}
	require.Len(t, log.Runs[0].Results, 2)
	require.JSONEq(t, `{"ruleId":"undeclared","level":"warning","message":{"text":"x is not declared"},
		"locations":[{"physicalLocation":{"artifactLocation":{"uri":`+string(quoted)+`},
			"region":{"startLine":3,"startColumn":8}}}]}`, string(log.Runs[0].Results[1]))
	invocation := log.Runs[0].Invocations[0]
	require.True(t, invocation.Successful)
	require.Contains(t, string(invocation.Notifications[0]), "redis 99.1")
	out, _ = exits(t, 2, "vet", "-sarif", filepath.Join(dir, "missing"))
	invocation = sarifOf(t, out).Runs[0].Invocations[0]
	require.False(t, invocation.Successful)
	require.Contains(t, string(invocation.Notifications[0]), "missing")
}

type sarif struct {
	Version string
	Runs    []struct {
		Tool struct {
			Driver struct {
				Rules []struct {
					ID                                      string
					ShortDescription, FullDescription, Help struct{ Text string }
				}
			}
		}
		Results     []json.RawMessage
		Invocations []struct {
			Successful    bool              `json:"executionSuccessful"`
			Notifications []json.RawMessage `json:"toolExecutionNotifications"`
		}
	}
}

func sarifOf(t *testing.T, text string) (log sarif) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &log))
	return log
}

// TestVetCarriageReturns: the ends of lines of a Go file change no place.
func TestVetCarriageReturns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src := read(t, "testdata", "vet", "go_strings", "calls.go")
	write(t, dir, "calls.go", src)
	_, _, want := luagen("vet", filepath.Join(dir, "calls.go"))
	write(t, dir, "calls.go", strings.ReplaceAll(src, "\n", "\r\n"))
	_, _, got := luagen("vet", filepath.Join(dir, "calls.go"))
	require.Equal(t, want, got)
	require.Greater(t, strings.Count(got, "\n"), 10)
}

// TestVetCases runs "luagen vet" on each folder of testdata/vet, and expects what its want.txt says, or nothing.
func TestVetCases(t *testing.T) {
	t.Parallel()
	cases := must(os.ReadDir("testdata/vet"))(t)
	require.NotEmpty(t, cases)
	for _, c := range cases {
		t.Run(c.Name(), func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("testdata", "vet", c.Name())
			_, out, errs := luagen("vet", dir+"/...")
			require.Empty(t, out)
			got := strings.ReplaceAll(errs, dir+string(filepath.Separator), "")
			expect(t, filepath.Join(dir, "want.txt"), []byte(got))
			for line := range strings.Lines(got) { // What a case expects can be written again in a hurry; this cannot.
				file, _, _ := strings.Cut(line, ":")
				require.False(t, strings.HasPrefix(filepath.Base(file), "sound"), line)
			}
		})
	}
}

// TestWhereScriptsStand: a script is read wherever it stands, in Go and in the texts of other languages. A line that calls EXISTS in one has
// a finding there, unless a comment says that the script is named, or is none. Other texts are not mentioned.
func TestWhereScriptsStand(t *testing.T) {
	t.Parallel()
	for dir, flags := range map[string][]string{"vet/go_forms": nil, "text": {"-text"}} {
		dir = filepath.Join("testdata", filepath.FromSlash(dir))
		_, _, errs := luagen(append(append([]string{"vet"}, flags...), dir)...)
		expect(t, filepath.Join(dir, "want.txt"), []byte(strings.ReplaceAll(errs, dir+string(filepath.Separator), "")))
		forms := 0
		for _, path := range must(filepath.Glob(filepath.Join(dir, "*")))(t) {
			forms += requireForms(t, path, errs)
		}
		for _, path := range must(filepath.Glob(filepath.Join(dir, "*", "*")))(t) {
			forms += requireForms(t, path, errs)
		}
		require.Greater(t, forms, 30)
	}
}

// requireForms returns how many scripts a file has of which the findings, or remarks, are as its comments say.
func requireForms(t *testing.T, path, errs string) (forms int) {
	t.Helper()
	if info := must(os.Stat(path))(t); info.IsDir() || filepath.Ext(path) == ".txt" {
		return 0
	}
	for i, line := range strings.Split(read(t, path), "\n") {
		at, mark := fmt.Sprintf("%s:%d:", path, i+1), named.FindStringSubmatch(line)
		want := []bool{mark != nil && mark[1] == "", mark == nil && exists.MatchString(line) && !notRead.MatchString(line)}
		got := []bool{strings.Contains(errs, "luagen: "+at), strings.Contains(errs, "\n"+at)}
		if mark != nil && mark[1] != "" {
			require.Contains(t, errs, fmt.Sprintf("luagen: %s:%d:", path, i))
		}
		if !strings.Contains(line, "redis.register_function") && !strings.Contains(line, "#!lua name") && !strings.Contains(line, "const help") {
			require.Equal(t, want, got, "%s %s", at, line)
			forms++
		}
	}
	return forms
}

var (
	named   = regexp.MustCompile(`(?://|#) named( one line above)?`)
	exists  = regexp.MustCompile(`(call|pcall)\(\\?['"]exists\\?['"]`)
	notRead = regexp.MustCompile(`no script|luagen:unseen|^\s*(//|/\*|#|""")|redis.call\('exists', KEYS\[1\]\)$|ValueError|It isn't`)
)

// examine parses and checks one script with the committed tables.
func examine(path string, src []byte) (*parse.Script, []parse.Finding) {
	s, _, findings := (&job{tables: flow.Builtin()}).examine(path, src)
	return s, findings
}

// reference returns the reference of one script.
func reference(s *parse.Script) string {
	section, err := emit.Describe(s)
	return "<!-- Code generated by luagen; DO NOT EDIT. -->\n\n# Scripts\n" + cmp.Or(section, fmt.Sprint(err))
}
