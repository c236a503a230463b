package hasp_test

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// modules returns the folders of all modules, "." first.
func modules(t *testing.T) []string {
	t.Helper()
	var dirs []string
	walk(t, func(name string) {
		if path.Base(name) == "go.mod" {
			dirs = append(dirs, path.Dir(name))
		}
	})
	slices.Sort(dirs)
	return dirs
}

// directive returns what a go.mod or go.work says under a verb, line by line, in blocks or not.
func directive(t *testing.T, name, verb string) []string {
	t.Helper()
	var out []string
	inBlock := false
	for line := range strings.Lines(read(t, name)) {
		line, _, _ = strings.Cut(line, "//")
		line = strings.TrimSpace(line)
		rest, found := strings.CutPrefix(line, verb+" ")
		switch {
		case inBlock && line == ")":
			inBlock = false
		case inBlock && line != "":
			out = append(out, line)
		case found && rest == "(":
			inBlock = true
		case found:
			out = append(out, rest)
		}
	}
	return out
}

// requires returns the versions of the modules that a go.mod requires.
func requires(t *testing.T, name string) map[string]string {
	t.Helper()
	versions := map[string]string{}
	for _, line := range directive(t, name, "require") {
		required, version, _ := strings.Cut(line, " ")
		versions[required] = version
	}
	return versions
}

// TestVersionsOfDrivers holds docs/getting-started.md to what the adapters require, and to the newest drivers, which
// the workspace has by bench. No other page names their versions, or Go's.
func TestVersionsOfDrivers(t *testing.T) {
	t.Parallel()
	page := strings.Join(strings.Fields(read(t, "docs/getting-started.md")), " ")
	newest := requires(t, "bench/go.mod")
	short := func(version string) string { return strings.TrimSuffix(strings.TrimPrefix(version, "v"), ".0") }
	var lowest, highest []string
	for _, d := range []struct{ name, adapter string }{
		{"go-redis", "backend/goredis"}, {"rueidis", "backend/rueidis"}, {"valkey-go", "backend/valkey"},
	} {
		driver := drivers[d.adapter]
		lowest = append(lowest, d.name+" "+short(requires(t, d.adapter+"/go.mod")[driver]))
		highest = append(highest, short(newest[driver]))
	}
	require.Contains(t, page, fmt.Sprintf("at least %s, %s or %s; its tests run on these and on %s, %s and %s ",
		lowest[0], lowest[1], lowest[2], highest[0], highest[1], highest[2]))
	for _, dir := range makeList(t, "PUBLISHED") {
		if dir != "bench" { // It measures other libraries' newest versions.
			require.Equal(t, []string{"1.25.0"}, directive(t, dir+"/go.mod", "go"), dir)
		}
	}
	require.Contains(t, page, "It needs Go 1.25,")
	named := regexp.MustCompile(`\bGo 1\.\d\d\b|\b(go-redis|rueidis|valkey-go) v?(9|1\.0)\.\d`)
	walk(t, func(page string) {
		users := strings.HasPrefix(page, "docs/") && !strings.HasPrefix(page, "docs/internals/") || page == "README.md"
		if users && path.Ext(page) == ".md" && page != "docs/getting-started.md" {
			require.NotRegexp(t, named, read(t, page), page)
		}
	})
}

// TestPagesSayHowBeforeTheRelease finds a page with "go get" or "@latest" that does not lead to the lines that work now.
func TestPagesSayHowBeforeTheRelease(t *testing.T) {
	t.Parallel()
	found := 0
	walk(t, func(page string) {
		if path.Ext(page) != ".md" || page == "docs/getting-started.md" || !gets.MatchString(read(t, page)) {
			return
		}
		require.Contains(t, read(t, page), "getting-started.md#until-the-first-release)", page)
		found++
	})
	require.GreaterOrEqual(t, found, 7)
}

// gets is what works once a version is tagged.
var gets = regexp.MustCompile(`go get (-tool |-t )?github\.com/hasp-go|hasp-go/hasp\S*@latest`)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

func TestModulesAreListed(t *testing.T) {
	t.Parallel()
	want := modules(t)
	require.Contains(t, want, "luagen")

	var inWork []string
	for _, dir := range directive(t, "go.work", "use") {
		inWork = append(inWork, path.Clean(dir))
	}
	require.ElementsMatch(t, want, inWork, "go.work")

	require.ElementsMatch(t, want, makeList(t, "MODULES"), "Makefile")
}

// makeList returns the words of a variable of the Makefile.
func makeList(t *testing.T, name string) []string {
	t.Helper()
	variable := regexp.MustCompile(`(?m)^` + name + ` := ((?:.*\\\n)*.*)$`)
	list := variable.FindStringSubmatch(read(t, "Makefile"))
	require.NotNil(t, list)
	return strings.Fields(strings.ReplaceAll(list[1], "\\", " "))
}

// TestPublishedModules: all modules require each other at one version, and those that a release tags
// require no module that it does not tag.
func TestPublishedModules(t *testing.T) {
	t.Parallel()
	published := makeList(t, "PUBLISHED")
	require.Subset(t, modules(t), published)
	versions := map[string]bool{}
	for _, dir := range modules(t) {
		for _, line := range directive(t, dir+"/go.mod", "require") {
			name, version, _ := strings.Cut(line, " ")
			folder, ours := strings.CutPrefix(name+"/", module+"/")
			if !ours {
				continue
			}
			versions[version] = true
			if slices.Contains(published, dir) {
				require.Contains(t, published, path.Clean(folder), "go.mod of %s", dir)
			}
		}
	}
	require.Len(t, versions, 1, "%v", versions)
}

// TestReplace: a replace directive is ignored for importers, but makes "go install
// .../luagen@latest" fail, and the root's would hide that a user's build lacks something.
func TestReplace(t *testing.T) {
	t.Parallel()
	require.Empty(t, directive(t, "go.mod", "replace"))
	require.Empty(t, directive(t, "luagen/go.mod", "replace"))
	for _, dir := range modules(t) {
		for _, line := range directive(t, dir+"/go.mod", "replace") {
			replaced, by, found := strings.Cut(line, " => ")
			require.True(t, found, line)
			require.Equal(t, replaced, path.Join(module, dir, by), "%s: only ours, by path", dir)
		}
	}
}

func TestPackagesHaveOneDocEach(t *testing.T) {
	t.Parallel()
	docs, code := map[string][]string{}, map[string]bool{}
	for _, f := range sources(t) {
		code[f.dir] = code[f.dir] || !f.test
		if f.doc {
			docs[f.dir] = append(docs[f.dir], f.name)
		}
	}
	for dir := range code {
		require.Len(t, docs[dir], 1, "package comments of %s: %v", dir, docs[dir])
	}
}
