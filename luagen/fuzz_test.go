package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/luagen/internal/emit"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// FuzzTool runs all of luagen on a script: it has findings, or becomes Go code that parses, and the
// shipped text has the script's own words on their own lines.
func FuzzTool(f *testing.F) {
	scripts := must(filepath.Glob("testdata/*/*/*.lua"))(f)
	for _, path := range scripts {
		src := must(os.ReadFile(path))(f)
		f.Add(string(src))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, src string) { whole(t, filepath.Join(dir, "in.lua"), src) })
}

func whole(t *testing.T, path, src string) {
	t.Helper()
	s, findings := examine(path, []byte(src))
	require.NotContains(t, path, "\n")
	for _, f := range findings {
		require.Positive(t, f.Pos.Line)
		require.Positive(t, f.Pos.Col)
		require.NotEmpty(t, f.Msg)
		require.NotEmpty(t, f.Rule)
	}
	if len(findings) > 0 || s.Header.Library {
		return
	}
	content, err := emit.File(s, emit.Source(s), "p")
	require.NoError(t, err)
	_, err = parser.ParseFile(token.NewFileSet(), "in.lua.go", content, parser.SkipObjectResolution)
	require.NoError(t, err)
	text := emit.Source(s)
	again, _ := parse.Parse("shipped.lua", []byte(strings.TrimPrefix(text, emit.Flags(s))), parse.Options{})
	require.NotNil(t, again.Body, text)
	require.Empty(t, again.Comments, text)
	sameLines(t, s, again, text)
}

// sameLines requires that the tokens of s end those of what is shipped, each on its line.
func sameLines(t *testing.T, s, again *parse.Script, text string) {
	t.Helper()
	bound := len(again.Tokens) - len(s.Tokens)
	require.GreaterOrEqual(t, bound, 0)
	last := len(s.Tokens) - 1 // the end of the file, which may move: what follows the code is cut off
	for i, tok := range s.Tokens[:last] {
		shipped := again.Tokens[bound+i]
		require.Equal(t, tok.Text, shipped.Text, text)
		require.Equal(t, tok.Pos.Line, shipped.Pos.Line, "%s\n%s", tok.Text, text)
	}
	for _, b := range s.Header.Bindings {
		if emit.Flags(s) != "" && b.Pos.Line <= 2 {
			continue // the first two lines have the flags, and then these names
		}
		line := strings.Split(text, "\n")[b.Pos.Line-1]
		require.True(t, strings.HasPrefix(line, "local "+b.Name+" = "), "%q", line)
	}
}
