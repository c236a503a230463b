package main

import (
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/luagen/internal/check"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// flagsByCommand returns the flags that each command declares, by its name.
func flagsByCommand() map[string]map[string]*flag.Flag {
	all := map[string]map[string]*flag.Flag{}
	declare := func(name string, prepare func(j *job) func() error) {
		j := newJob(io.Discard, name)
		prepare(j)
		all[name] = map[string]*flag.Flag{}
		j.flags.VisitAll(func(f *flag.Flag) { all[name][f.Name] = f })
	}
	declare("luagen", generate)
	for name, prepare := range subcommands {
		declare("luagen "+name, prepare)
	}
	return all
}

// TestCommandFlags: the usage names the flags of each command, and a command refuses those of the others, and one without its value.
func TestCommandFlags(t *testing.T) {
	t.Parallel()
	all := flagsByCommand()
	for name, flags := range all {
		usage := regexp.MustCompile(`(?m)^    (` + name + ` \[.*)$`).FindString(manual)
		for other := range all {
			for _, f := range all[other] {
				args := append(strings.Fields(name)[1:], "-"+f.Name)
				_, own := flags[f.Name]
				require.Equal(t, own, regexp.MustCompile(`[\[ ]-`+f.Name+`[ \]]`).MatchString(usage), "%s -%s", name, f.Name)
				want := "flag provided but not defined: -" + f.Name
				if isBool, ok := f.Value.(interface{ IsBoolFlag() bool }); own && ok && isBool.IsBoolFlag() {
					args[len(args)-1] += "=x"
					want = `invalid boolean value "x" for -` + f.Name
				} else if own {
					want = "flag needs an argument: -" + f.Name
				}
				code, out, errs := luagen(args...)
				require.Equal(t, []any{2, ""}, []any{code, out}, args)
				require.Contains(t, errs, name+": "+want)
			}
		}
	}
}

// TestExitCodes: each command that reads scripts exits with 0, 1 or 2, as its documentation says.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for name := range flagsByCommand() {
		if name == "luagen commands" || name == "luagen rules" { // They read none: TestCommandsWithoutServer, TestRules.
			continue
		}
		dir := folder(t, "good.lua", goodScript, "bad.lua", badScript)
		write(t, dir, "raw.lua", "return redis.call('incr', KEYS[1])\n")
		write(t, dir, "wrong.lua", "return redis.call('incrr', KEYS[1])\n")
		files := []string{"good.lua", "bad.lua", "gone.lua"}
		if name == "luagen import" {
			files = []string{"raw.lua", "wrong.lua", "gone.lua"}
		}
		for want, file := range files {
			exits(t, want, append(strings.Fields(name)[1:], filepath.Join(dir, file))...)
		}
	}
}

// TestWrongUsage: each mistake of a caller has an exit code, and an error of one line that names it.
func TestWrongUsage(t *testing.T) {
	t.Parallel()
	dir := folder(t, "notes.txt", "")
	in := func(name string) string { return filepath.Join(dir, name) }
	for text, args := range map[string][]string{
		"luagen: flag provided but not defined: -nonsense; \"luagen help\" has the flags":                          {"-nonsense"},
		"luagen: stat " + in("missing") + ": no such file or directory":                                            {in("missing")},
		"luagen: " + in("notes.txt") + " is no .lua file":                                                          {in("notes.txt")},
		"luagen: no .lua file in " + dir:                                                                           {dir},
		"luagen: commands takes no argument extra":                                                                 {"commands", "extra"},
		"luagen vet: invalid value \"no\" for flag -unseen: it takes the word fail; \"luagen help\" has the flags": {"vet", "-unseen=no", dir},
		"luagen: choose -json or -sarif":                                                                           {"vet", "-json", "-sarif", dir},
		"luagen: -check compares with the file of -o":                                                              {"doc", "-check", dir},
		"luagen: -o takes a folder, and " + in("a.go") + " is a file":                                              {"-o", in("a.go"), dir},
		"luagen: -o takes a folder, and " + in("notes.txt") + " is a file":                                         {"-o", in("notes.txt"), dir},
		"luagen: there is no command, file or folder vett; \"luagen help\" has the commands":                       {"vett", "x.lua"},
		"luagen: there is no command, file or folder nosuch; \"luagen help\" has the commands":                     {"nosuch"},
		"luagen: luagen runs no script: go run github.com/hasp-go/hasp/luagen/luarun@latest does":                  {"run", "x.lua"},
	} {
		code, out, errs := luagen(args...)
		require.Equal(t, []any{2, "", text + "\n"}, []any{code, out, errs}, args)
	}
	for _, url := range []string{"redis://u:secret@127.0.0.1", "unix:///secret"} {
		code, out, errs := luagen("commands", "-url", url)
		require.Equal(t, []any{2, "", 1}, []any{code, out, strings.Count(errs, "\n")})
		require.NotContains(t, errs, "secret")
	}
}

// TestAnnotations: each annotation is documented, a sound case has it, and it is refused without its words, or with some if
// it takes none.
func TestAnnotations(t *testing.T) {
	t.Parallel()
	documented := regexp.MustCompile(`---@([a-z]+)`).FindAllStringSubmatch(manual, -1)
	cases := ""
	for _, path := range must(filepath.Glob("testdata/cases/*/*.lua"))(t) {
		if !strings.Contains(path, "bad_") {
			cases += read(t, path)
		}
	}
	for _, name := range parse.Words("annotations") {
		require.True(t, slices.ContainsFunc(documented, func(m []string) bool { return m[1] == name }), name)
		require.True(t, strings.Contains(cases, "---@"+name), "%s has no sound case", name)
		refused := func(text string) bool {
			_, found := examine("in.lua", []byte("---@key k string\n---@"+name+text+"\nreturn redis.call('get', k)\n"))
			return slices.ContainsFunc(found, func(f parse.Finding) bool { return f.Rule == parse.RuleHeader && f.Pos.Line == 2 })
		}
		require.True(t, refused("") || refused(" nothing"), name)
	}
}

// TestRules: luagen rules has each rule, and an example that has such a finding, but for three rules of which none is short.
func TestRules(t *testing.T) {
	t.Parallel()
	code, list, errs := luagen("rules")
	require.Equal(t, []any{0, ""}, []any{code, errs})
	without := []string{"limit", "generated", "unseen"}
	for _, name := range append(append([]string{"syntax", "header", "name", "allow"}, without...), check.Rules...) {
		require.Regexp(t, `(?m)^`+name+` +\S.{10,200}[^.]$`, list)
		text, _ := exits(t, 0, "rules", name)
		if slices.Contains(without, name) {
			continue
		}
		_, example, _ := strings.Cut(text, "\n\n")
		path := filepath.Join(t.TempDir(), "a.lua")
		write(t, filepath.Dir(path), "a.lua", regexp.MustCompile(`(?m)^    `).ReplaceAllString(example, ""))
		_, _, errs := luagen("vet", "-strict", path)
		require.Contains(t, errs, " ["+name+"]\n", "%s: %s", name, example)
		require.Equal(t, strings.Count(errs, "\n"), strings.Count(errs, " ["+name+"]\n"), "%s", errs)
	}
	require.Equal(t, strings.Count(list, "\n"), len(rules()))
	_, errs = exits(t, 2, "rules", "none")
	require.Contains(t, errs, "there is no rule none")
}

// TestFirstWrites: a script that asks by the reply of a write whether it was the first, by each comparison, there or by a
// name, may give the key an expiry then. One that asks something else may not.
func TestFirstWrites(t *testing.T) {
	t.Parallel()
	for condition, then := range map[string]bool{
		"n == 1": true, "n <= 1": true, "n < 2": true, "1 == n": true, "2 > n": true, "n ~= 1": false, "n > 1": false, "n >= 2": false,
	} {
		for _, form := range []string{"if %[1]s", "local is = %[1]s if is", "local is = not (%[1]s) if not is", "local is = (%[1]s) == true if is"} {
			for key, sound := range map[string]bool{"k": true, "z": false} {
				branches := " then redis.call('pexpire', k, 9) end"
				if !then {
					branches = " then return n end redis.call('pexpire', k, 9)"
				}
				src := "---@key k any\n---@key z any\n---@return int v\nlocal n = redis.call('incr', k)\n"
				if !sound {
					src += "n = redis.call('strlen', z)\n"
				}
				src += fmt.Sprintf(form, condition) + branches + "\nreturn n\n"
				_, found := examine("in.lua", []byte(src))
				fires := slices.ContainsFunc(found, func(f parse.Finding) bool { return f.Rule == check.Expire })
				require.Equal(t, !sound, fires, "%s\n%s %v", key, src, found)
			}
		}
	}
}
