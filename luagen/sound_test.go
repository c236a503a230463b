package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSoundScriptsRun: the scripts that luagen must not refuse are sound. Each line of a case's
// calls.txt is a call, with its reply behind "->", where "*" is any: "|" stands between keys and
// arguments. A line that begins with "!" is a command of somebody else.
func TestSoundScriptsRun(t *testing.T) {
	t.Parallel()
	cases := must(filepath.Glob("testdata/cases/sound_*/calls.txt"))(t)
	require.GreaterOrEqual(t, len(cases), 30)
	onServers(t, func(t *testing.T, c *client) {
		for _, path := range cases {
			dir := filepath.Dir(path)
			text := shipped(t, dir, read(t, dir, "in.lua"))
			require.NoError(t, errOf(c.do("FLUSHALL")))
			for line := range strings.Lines(read(t, path)) {
				if other, ok := strings.CutPrefix(line, "! "); ok {
					require.NoError(t, errOf(c.do(strings.Fields(other)...)), "%s: %s", path, line)
					continue
				}
				words, want, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " -> ")
				require.True(t, ok, "%s: %s", path, line)
				if got := evaluated(c, text, words); want != "*" {
					require.Equal(t, want, got, "%s: %s", path, line)
				}
			}
		}
	})
}

// evaluated runs a script, and returns its reply or its error as a text.
func evaluated(c *client, text, words string) string {
	keys, args, _ := strings.Cut(words, "|")
	call := append([]string{"EVAL", text, strconv.Itoa(len(strings.Fields(keys)))},
		strings.Fields(keys+args)...)
	reply, err := c.do(call...)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(reply)
}
