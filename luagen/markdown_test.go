package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const docScript = `--- Moves what is due.
---
---@key queue list       a|b
---@key side hash prefix level: int, at: unixmilli?   its state
---@arg limit int(1..9)?
---@arg ids string...
---@channel moved prefix
---@arg mode read|write
---@command publish publish|spublish
---@return int[] moved    how many
---@return int n
---@return nil  the queue is empty
---@error FULL there is no room
---@since redis 7.0, embedded
`

// TestReference: a reference has what the header says.
func TestReference(t *testing.T) {
	t.Parallel()
	s, _ := examine("in.lua", []byte(strings.Replace(docScript, "---@arg ids string...\n", "", 1)+
		"---@arg ids string...\nreturn {}"))
	require.NotNil(t, s.Body)
	expect(t, "testdata/reference.md", []byte(reference(s)))
}

func TestDocCommand(t *testing.T) {
	t.Parallel()
	dir := folder(t, "a.lua", goodScript, "lib.lua", "---@library\nlocal function f(x) return x end\n")
	out := filepath.Join(dir, "docs", "scripts.md")
	text, _ := exits(t, 0, "doc", dir)
	require.Contains(t, text, "\n# Scripts\n\n## a\n\nGets.\n")
	require.NotContains(t, text, "## lib")
	diff, _ := exits(t, 1, "doc", "-check", "-o", out, dir)
	require.Contains(t, diff, "(missing)")
	exits(t, 0, "doc", "-o", out, "-title", "Mine", dir)
	require.Equal(t, strings.Replace(text, "# Scripts", "# Mine", 1), read(t, out))
	diff, _ = exits(t, 1, "doc", "-check", "-o", out, dir)
	require.Contains(t, diff, "-# Mine\n+# Scripts\n")
	exits(t, 0, "doc", "-check", "-title", "Mine", "-o", out, dir)
	exits(t, 2, "doc", "-check", dir)
	write(t, dir, "bad.lua", badScript)
	text, errs := exits(t, 1, "doc", dir)
	require.Empty(t, text)
	require.Contains(t, errs, "[undeclared]")
}
