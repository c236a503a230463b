package hasp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pages are the pages whose code is from files of a folder, and how many blocks of code each has.
var pages = []struct {
	page, dir string
	blocks    int
}{
	{"docs/other-languages.md", "bench/polyglot", 7},
	{"docs/internals/adding-a-backend.md", "examples/ownbackend", 5},
	{"docs/internals/adding-a-primitive.md", "examples/ownprimitive", 2},
	{"docs/getting-started.md", "examples/start", 6},
	{"docs/integrations.md", "examples", 3},
	{"docs/judge-your-own-lock.md", "bench/peers/locks", 1},
	{"docs/migration.md", "examples/recipes", 1},
	{"docs/operate/monitoring.md", "examples", 1},
	{"docs/recipes.md", "examples/recipes", 11},
	{"docs/redisson.md", "examples/recipes", 1},
	{"docs/testing-your-code.md", "hasptest", 3},
}

// codeBlock is a code block of a page that names the file that it is from.
var codeBlock = regexp.MustCompile("(?ms)^```(?:go|python|js|php) ([^\n]+)\n(.*?)^```$")

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

// TestPeersAreCurrent compares pages with the tables of the last runs of other libraries.
func TestPeersAreCurrent(t *testing.T) {
	t.Parallel()
	require.Contains(t, read(t, "docs/migration.md"), read(t, "conformance/peers/testdata/peers.md"), "run make peers")
	require.Contains(t, read(t, "docs/comparison.md"), read(t, "bench/peers/idempotency/testdata/table.md"))
	require.Contains(t, read(t, "docs/comparison.md"), read(t, "bench/peers/locks/testdata/locks.md"), "run make locks")
	for _, table := range []string{"shares", "costs"} {
		rows := read(t, "bench/polyglot/testdata/"+table+".md")
		require.Contains(t, read(t, "docs/other-languages.md"), rows, "run make polyglot")
	}
}

// TestPicturesAreCurrent compares the pictures with what their script draws.
func TestPicturesAreCurrent(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"lease", "pause", "failover", "choice", "rates", "replicas_former", "redlock_restart"} {
		drawn, err := exec.CommandContext(t.Context(), "docs/pictures/draw", name).Output()
		require.NoError(t, err)
		require.Equal(t, read(t, "docs/pictures/"+name+".svg"), string(drawn), "run docs/pictures/draw all")
	}
}

// TestEveryRecipeIsOnAPage finds recipes that no page has.
func TestEveryRecipeIsOnAPage(t *testing.T) {
	t.Parallel()
	all := read(t, "docs/recipes.md") + read(t, "docs/migration.md") + read(t, "docs/redisson.md")
	files, err := filepath.Glob("examples/recipes/*.go")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name := filepath.Base(file)
		if name != "doc.go" && !strings.HasSuffix(name, "_test.go") {
			require.Contains(t, all, "```go "+name+"\n")
		}
	}
}

// TestKeysAndMessagesAreListed finds names of side keys and channels that their page does not have, and those on any
// page that the package does not have.
func TestKeysAndMessagesAreListed(t *testing.T) {
	t.Parallel()
	page := read(t, "docs/internals/keys-and-messages.md")
	names := regexp.MustCompile(`= "([^"]+)"`).FindAllStringSubmatch(read(t, "primitives/names.go"), -1)
	require.NotEmpty(t, names)
	for _, name := range names {
		require.Contains(t, page, name[1])
	}
	walk(t, func(page string) {
		if !strings.HasPrefix(page, "docs/") || path.Ext(page) != ".md" {
			return
		}
		for _, found := range regexp.MustCompile(`\b((?:redisson|hasp)_\w+):`).FindAllStringSubmatch(read(t, page), -1) {
			require.True(t, slices.ContainsFunc(names, func(name []string) bool {
				return found[1] == name[1] || strings.HasSuffix(name[1], "__") && strings.HasPrefix(found[1], name[1])
			}), "%s: %s", page, found[0])
		}
	})
}

// errorTexts returns what tests have found errors to say.
func errorTexts(t *testing.T) string {
	t.Helper()
	return read(t, "hasptest/testdata/errors.txt") + read(t, "hasptest/primitives/testdata/bounds.txt")
}

// TestErrorsAndWarningsExist finds texts on the pages of errors and of the log that no error has, and no warning. What
// varies in them does not count.
func TestErrorsAndWarningsExist(t *testing.T) {
	t.Parallel()
	varies := regexp.MustCompile(`"[^"]*"|[\d.]+[mnµ]?s?\b`)
	errors, code, found := varies.ReplaceAllString(errorTexts(t), "_"), "", 0
	walk(t, func(name string) {
		if strings.HasSuffix(name, ".go") && (strings.HasPrefix(name, "primitives/") || strings.HasPrefix(name, "backend/")) {
			code += read(t, name)
		}
	})
	for _, heading := range regexp.MustCompile("(?m)^### .*$").FindAllString(read(t, "docs/errors.md"), -1) {
		for _, text := range regexp.MustCompile("`([a-z0-9][^.`]+|[A-Z]\\w+: [^`]+)`").FindAllStringSubmatch(heading, -1) {
			said := varies.ReplaceAllString(text[1], "_")
			begin, _, _ := strings.Cut(said, ": ")
			require.True(t, strings.Contains(errors, said) || strings.Contains(code, `"`+begin), heading)
			found++
		}
	}
	_, log, _ := strings.Cut(read(t, "docs/operate/monitoring.md"), "\n## The log\n")
	for _, warning := range regexp.MustCompile("(?m)^\\| `([^`]+?)(?:\\.\\.\\.)?`").FindAllStringSubmatch(log, -1) {
		require.Contains(t, code, `"`+warning[1], "docs/operate/monitoring.md")
		found++
	}
	require.Greater(t, found, 35)
}

// TestNamesForOpenTelemetryAreListed compares the metrics and attributes in the package comment with those of the module.
func TestNamesForOpenTelemetryAreListed(t *testing.T) {
	t.Parallel()
	names := func(quote, text string) (all []string) {
		for _, name := range regexp.MustCompile(quote+`(hasp(?:\.[a-z_]+)+)`+quote).FindAllStringSubmatch(text, -1) {
			all = append(all, name[1])
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	code := read(t, "integration/otel/tracer.go")
	require.Equal(t, names(`"`, code), names("", read(t, "integration/otel/doc.go")))
}

// TestTablesAreWhole finds a row of a table that has not as many cells as the header, or goes on in the next line:
// GitHub shows the rest as a row of its own.
func TestTablesAreWhole(t *testing.T) {
	t.Parallel()
	walk(t, func(name string) {
		if path.Ext(name) != ".md" {
			return
		}
		text, columns := fence.ReplaceAllString(read(t, name), ""), 0
		for line := range strings.Lines(text) {
			picture := strings.HasPrefix(line, "    ")
			line = strings.TrimSpace(line)
			if picture || line == "" || strings.HasPrefix(line, "- ") {
				columns = 0
			} else if cells := cellsOf(line); columns > 0 {
				require.Len(t, cells, columns, "%s: %s", name, line)
			} else {
				columns = len(cells)
			}
		}
	})
}

// fence is a block of code.
var fence = regexp.MustCompile("(?ms)^ *```.*?^ *```$")

// cellsOf returns the cells of a row of a table; none, if the line is no row.
func cellsOf(line string) []string {
	if len(line) < 2 || line[0] != '|' || line[len(line)-1] != '|' {
		return nil
	}
	return strings.Split(strings.ReplaceAll(line[1:len(line)-1], `\|`, ""), "|")
}

// TestPromisesAreChecked finds a row of a table of docs/guarantees.md that names no configuration of docs/spec.
func TestPromisesAreChecked(t *testing.T) {
	t.Parallel()
	tables := regexp.MustCompile(`(?m)^\|[-|]+\|\n((?:\|.*\n)+)`).FindAllStringSubmatch(read(t, "docs/guarantees.md"), -1)
	require.Len(t, tables, 3)
	for _, rows := range tables {
		for row := range strings.Lines(rows[1]) {
			require.Regexp(t, `\]\(spec/\w+\.cfg\)`, row)
		}
	}
}

// TestReadmeIsShort counts the words of the README without code and the targets of links, and those of each cell.
func TestReadmeIsShort(t *testing.T) {
	t.Parallel()
	text := target.ReplaceAllString(fence.ReplaceAllString(read(t, "README.md"), ""), "")
	require.LessOrEqual(t, words(text), 700)
	for line := range strings.Lines(text) {
		for _, cell := range cellsOf(strings.TrimSpace(line)) {
			require.LessOrEqual(t, words(cell), 8, cell)
		}
	}
}

// TestPagesAreShort counts the words of the pages, those of the figures' comments too, for users and for maintainers, and
// those of the changes that no release has. A change that makes pages shorter lowers the limits: merges have brought
// back what was deleted.
func TestPagesAreShort(t *testing.T) {
	t.Parallel()
	users, maintainers, shell := len(strings.Fields(read(t, "README.md"))), 0, 0
	walk(t, func(page string) {
		switch count := len(strings.Fields(read(t, page))); {
		case path.Ext(page) != ".md":
		case page == "docs/command.md": // Its readers need no other page, and others not this one.
			shell = count
		case page == "docs/command-reference.md": // It is generated, and only looked up.
		case strings.HasPrefix(page, "docs/internals/"):
			maintainers += count
		case strings.HasPrefix(page, "docs/"):
			users += count
		}
	})
	changes := len(strings.Fields(read(t, "CHANGELOG.md")))
	for _, pages := range []struct{ words, least, most int }{
		{users, 21000, 24000}, {maintainers, 12000, 13000}, {changes, 400, 700}, {shell, 600, 1200},
	} {
		require.LessOrEqual(t, pages.words, pages.most)
		require.Greater(t, pages.words, pages.least, "lower the limits")
	}
}

// target is where a link leads: behind its text, or in a line of its own.
var target = regexp.MustCompile(`(?m)\]\([^)]*\)|^\[[^\]]*\]: .*$`)

// words counts what has a letter, a digit or a tick.
func words(text string) int {
	return len(regexp.MustCompile(`\S*[\pL\pN✓]\S*`).FindAllString(text, -1))
}

// packageName is a name of one of our packages, as pages have it.
var packageName = regexp.MustCompile(`\b(\w+)\.([A-Z]\w*)`)

// TestPagesNameWhatThereIs finds names of our packages on pages that no package declares.
func TestPagesNameWhatThereIs(t *testing.T) {
	t.Parallel()
	declared := map[string][]string{}
	for _, dir := range []string{
		"backend", "backend/embedded", "backend/evalsha", "backend/fanout", "conformance", "conformance/engine",
		"conformance/anylock", "conformance/harness", "conformance/servers", "hasptest", "primitives", "primitives/extend", "primitives/trace",
	} {
		declared[path.Base(dir)] = exported(t, dir)
	}
	found := 0
	walk(t, func(page string) {
		if path.Ext(page) != ".md" || page == "CHANGELOG.md" { // It has former names.
			return
		}
		for _, name := range packageName.FindAllStringSubmatch(read(t, page), -1) {
			if names := declared[name[1]]; names != nil {
				require.True(t, slices.Contains(names, name[2]), "%s: %s", page, name[0])
				found++
			}
		}
	})
	require.Greater(t, found, 100)
}

// TestPagesNameTestsThatThereAre finds tests that pages for maintainers name, and that no file declares.
func TestPagesNameTestsThatThereAre(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	named := map[string]string{}
	walk(t, func(name string) {
		switch text := read(t, name); {
		case strings.HasSuffix(name, "_test.go"):
			code.WriteString(text)
		case strings.HasPrefix(name, "docs/internals/"):
			for _, test := range regexp.MustCompile("`(Test[A-Z0-9]\\w*)`").FindAllStringSubmatch(text, -1) {
				named[test[1]] = name
			}
		}
	})
	for test, page := range named {
		require.True(t, test == "TestOnBorrow" || strings.Contains(code.String(), "func "+test+"("), "%s: %s", page, test)
	}
	require.Greater(t, len(named), 20)
}

// exported returns the names that a package declares, and maybe exports.
func exported(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(dir + "/*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range tree.Decls {
			names = append(names, namesOf(d)...)
		}
	}
	return names
}

// namesOf returns the names that a declaration declares in its package.
func namesOf(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, spec.Name.Name)
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}

// TestFilesNamePages finds pages that Go, Lua and other files name, and that are not there.
func TestFilesNamePages(t *testing.T) {
	t.Parallel()
	found := 0
	walk(t, func(name string) {
		if path.Ext(name) == ".md" {
			return
		}
		for _, page := range named.FindAllStringSubmatch(read(t, name), -1) {
			require.FileExists(t, page[1], name)
			if page[2] != "" {
				require.Contains(t, anchors(t, page[1]), page[2], "%s: %s", name, page[0])
			}
			found++
		}
	})
	require.Greater(t, found, 30)
}

// named is a page as files name it, with a heading or without.
var named = regexp.MustCompile(`\b(docs/[a-z/-]+\.md)(?:#([a-z0-9-]+))?`)

// TestLinksLead finds links of pages to files and headings that are not there.
func TestLinksLead(t *testing.T) {
	t.Parallel()
	walk(t, func(name string) {
		if path.Ext(name) != ".md" {
			return
		}
		for _, link := range link.FindAllStringSubmatch(fence.ReplaceAllString(read(t, name), ""), -1) {
			file, heading, _ := strings.Cut(link[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			file = path.Join(path.Dir(name), file)
			if link[1][0] == '#' {
				file = name
			}
			_, err := os.Stat(file)
			require.NoError(t, err, "%s: %s", name, link[1])
			if heading != "" {
				require.Contains(t, anchors(t, file), heading, "%s: %s", name, link[1])
			}
		}
	})
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// anchors returns the names by which links lead to the headings of a page, as GitHub makes them.
func anchors(t *testing.T, page string) (all []string) {
	t.Helper()
	for _, heading := range regexp.MustCompile("(?m)^#+ (.*)$").FindAllStringSubmatch(read(t, page), -1) {
		name := regexp.MustCompile(`[^\pL\pN_ -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		all = append(all, strings.ReplaceAll(name, " ", "-"))
	}
	return all
}
