package hasp_test

import (
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pages are the pages whose code is from files of a folder, and how many blocks of code each has.
var pages = []struct {
	page, dir string
	blocks    int
}{
	{"README.md", ".", 1},
	{"docs/adding-a-backend.md", "examples/ownbackend", 6},
	{"docs/integrations.md", "examples", 2},
	{"docs/migration.md", "examples/recipes", 1},
	{"docs/observability.md", "examples", 2},
	{"docs/recipes.md", "examples/recipes", 12},
	{"docs/testing-your-code.md", "hasptest", 7},
}

// codeBlock is a code block of a page that names the file that it is from.
var codeBlock = regexp.MustCompile("(?ms)^```go ([^\n]+)\n(.*?)^```$")

// TestPagesHaveTheCodeOfFiles holds the code of pages to files, which have tests.
func TestPagesHaveTheCodeOfFiles(t *testing.T) {
	t.Parallel()
	for _, p := range pages {
		blocks := codeBlock.FindAllStringSubmatch(read(t, p.page), -1)
		require.Len(t, blocks, p.blocks, p.page)
		for _, b := range blocks {
			file := path.Join(p.dir, b[1])
			require.True(t, strings.Contains(read(t, file), b[2]), "%s: not in %s:\n%s", p.page, file, b[2])
		}
	}
}

// TestPicturesAreCurrent compares the pictures with what their script draws.
func TestPicturesAreCurrent(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"lease", "pause", "failover", "choice"} {
		drawn, err := exec.CommandContext(t.Context(), "docs/pictures/draw", name).Output()
		require.NoError(t, err)
		require.Equal(t, read(t, "docs/pictures/"+name+".svg"), string(drawn), "run docs/pictures/draw all")
	}
}

// TestEveryRecipeIsOnAPage finds recipes that no page has.
func TestEveryRecipeIsOnAPage(t *testing.T) {
	t.Parallel()
	all := read(t, "docs/recipes.md") + read(t, "docs/migration.md")
	files, err := filepath.Glob("examples/recipes/*.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := filepath.Base(file)
		if name != "doc.go" && (!strings.HasSuffix(name, "_test.go") || name == "lost_test.go") {
			require.Contains(t, all, "```go "+name+"\n")
		}
	}
}
