package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFuzzTargets builds targets of scripts with all kinds of keys and arguments, and runs their first inputs: they pass
// for sound scripts, and find planted bugs that luagen does not.
func TestFuzzTargets(t *testing.T) {
	t.Parallel()
	root := must(filepath.Abs(".."))(t)
	dir := t.TempDir()
	mod := "module example.test/user\n\ngo 1.25.0\n"
	for _, module := range []string{"", "/backend/embedded", "/hasptest"} {
		mod += "\nrequire github.com/hasp-go/hasp" + module + " v0.0.0\nreplace github.com/hasp-go/hasp" + module + " => " + root + module + "\n"
	}
	write(t, dir, "go.mod", mod)
	take := read(t, "..", "examples", "ownscript", "take.lua")
	write(t, dir, "take.lua", take)
	for from, to := range map[string]string{
		"math.floor(level / 1000), 0}":         "math.floor(level / 1000) - 1, 0}",
		"math.ceil((full - level) / rate))\nr": "math.ceil((full - level) / (rate - 1)))\nr",
	} {
		require.Contains(t, take, from)
		write(t, dir, []string{"late.lua", "early.lua"}[strings.Count(from, "\n")], strings.Replace(take, from, to, 1))
	}
	for _, name := range []string{"kinds", "lists", "only_list", "optional", "times", "notify"} {
		write(t, dir, name+".lua", read(t, "testdata", "user", name+".lua"))
	}
	for _, name := range []string{"board", "choose", "fields", "move", "note"} {
		write(t, dir, name+".lua", read(t, "testdata", "replies", name+".lua"))
	}
	write(t, dir, "grow.lua", "---@key k string\n---@arg ttl milliseconds\n---@arg by int\n"+
		"redis.call('set', k, '9223372036854775807', 'px', ttl)\nredis.call('incrby', k, by)\n")
	code, _, errs := luagen("-fuzz", "-p", "user", dir)
	require.Equal(t, 0, code, errs)
	code, out, errs := luagen("-fuzz", "-p", "user", "-check", dir)
	require.Equal(t, 0, code, out+errs)
	require.Empty(t, goTool(t, dir, "vet", "."))
	goTool(t, dir, "test", "-skip", "Early|Late", ".")
	for name, want := range map[string]string{
		"Early": "script early.lua:29: ERR value is not an integer", "Late": "script late: left: unexpected reply: -1 is not in 0..1000000",
	} {
		cmd := exec.Command("go", "test", "-run", name, ".")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOPROXY=off", "GOFLAGS=-mod=mod")
		found, err := cmd.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(found), want)
		require.Regexp(t, `keys \["\{fuzz\}:bucket:[abc]"\], arguments \["1?\d+`, string(found))
	}
	write(t, dir, "take_fuzz_test.go", "package user\n")
	code, _, errs = luagen("-fuzz", "-p", "user", filepath.Join(dir, "take.lua"))
	require.Equal(t, 1, code)
	require.Contains(t, errs, "luagen did not write this file")
}
