// Package peers runs the tests of other locks and limiters over hasp: testdata has shims that give hasp's objects their
// API. "make peers" fetches each module, copies its tests beside the shim into a temporary folder, runs them, and writes
// the table of testdata/peers.md, which docs/migration.md has, too. Nothing of theirs is kept.
package peers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

const (
	root  = "../.."
	table = "testdata/peers.md"
)

// TestTableIsOfTheseSuites finds a suite that was changed after the last run.
func TestTableIsOfTheseSuites(t *testing.T) {
	t.Parallel()
	rows := read(t, table)
	for i := range suites {
		require.Contains(t, rows, "|"+suites[i].name()+"|", "run make peers")
		require.Contains(t, rows, "|"+suites[i].reasons()+"|\n", "run make peers")
	}
}

// TestPeers runs all suites, and writes the table.
func TestPeers(t *testing.T) {
	if os.Getenv("HASP_PEERS") == "" {
		t.Skip("make peers runs the tests of other modules")
	}
	rows, ran := "|module|tests|passed|left out or changed|\n|---|---|---|---|\n", 0
	for i := range suites {
		t.Run(suites[i].name(), func(t *testing.T) { rows += suites[i].run(t); ran++ })
	}
	if t.Failed() || ran < len(suites) {
		return
	}
	page := root + "/docs/migration.md"
	text := strings.Replace(read(t, page), read(t, table), rows, 1)
	require.Contains(t, text, rows)
	write(t, page, text)
	write(t, table, rows)
	t.Log("\n" + rows)
}

// name is the module's, with its version, as the table has it.
func (s *suite) name() string {
	return regexp.MustCompile(`^github\.com/|/v\d+$`).ReplaceAllString(s.module, "") + " " + s.version
}

// reasons is the last cell of the row.
func (s *suite) reasons() string {
	all := slices.Clone(s.changed)
	for _, l := range s.left {
		all = append(all, l.why)
	}
	return cmp.Or(strings.Join(all, "; "), "none")
}

// run returns the suite's row. It fails if a test fails, or if one neither runs nor is left out.
func (s *suite) run(t *testing.T) string {
	t.Helper()
	folder, server := t.TempDir(), servers.Start(t, servers.Redis, nil).Addr()
	all, left := s.copy(t, folder, server)
	passed := s.test(t, folder, server)
	require.ElementsMatch(t, all, slices.Concat(passed, left))
	return fmt.Sprintf("|%s|%d|%d|%s|\n", s.name(), len(all), len(passed), s.reasons())
}

// copy writes the module's files, and the shims. It returns the names of all tests, and of those that are left out.
func (s *suite) copy(t *testing.T, folder, server string) (all, left []string) {
	t.Helper()
	files := s.files(t)
	s.fits(t, files)
	for name, text := range files {
		tests := testsOf(name, text)
		all = append(all, tests...)
		if s.leaves(path.Base(name)) {
			left = append(left, tests...)
			continue
		}
		left = append(left, slices.DeleteFunc(tests, func(test string) bool { return !s.leaves(test) })...)
		write(t, filepath.Join(folder, name), s.edit(name, text, server))
	}
	for from, to := range s.shims {
		write(t, filepath.Join(folder, to), language+read(t, "testdata/"+from))
	}
	return all, left
}

// fits fails if the files have not what is left out, cut or edited.
func (s *suite) fits(t *testing.T, files map[string]string) {
	t.Helper()
	all := fmt.Sprint(files)
	for _, l := range s.left {
		for _, name := range l.tests {
			require.Contains(t, all, name)
		}
	}
	for _, name := range s.cut {
		require.Contains(t, all, "func "+name+"(")
	}
	for i := 0; i < len(s.edits); i += 2 {
		require.Contains(t, all, s.edits[i])
	}
}

// language lets a shim have today's language in an old module.
const language = "//go:build go1.25\n\n"

// files returns the texts of the files that are taken, by name.
func (s *suite) files(t *testing.T) map[string]string {
	t.Helper()
	module, texts := fetch(t, s.module+"@v"+s.version), map[string]string{}
	for _, pattern := range s.take {
		files, err := filepath.Glob(filepath.Join(module, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, file := range files {
			name, err := filepath.Rel(module, file)
			require.NoError(t, err)
			texts[name] = read(t, file)
		}
	}
	return texts
}

// fetch returns the folder of a module.
func fetch(t *testing.T, module string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	command.Dir = t.TempDir() // It is in no workspace.
	out, err := command.Output()
	var downloaded struct{ Dir, Error string }
	require.NoError(t, json.Unmarshal(out, &downloaded), "%v: %s", err, out)
	require.Empty(t, downloaded.Error)
	return downloaded.Dir
}

var testName = regexp.MustCompile(`(?m)^func (Test\w+)\(t `)

func testsOf(name, text string) (tests []string) {
	if strings.HasSuffix(name, "_test.go") {
		for _, found := range testName.FindAllStringSubmatch(text, -1) {
			tests = append(tests, found[1])
		}
	}
	return tests
}

// leaves reports whether a test, or a whole file, is left out.
func (s *suite) leaves(name string) bool {
	return slices.ContainsFunc(s.left, func(l left) bool { return slices.Contains(l.tests, name) })
}

// edit returns the text without what is cut or left out, with the edits, and without imports that nothing needs any more.
// Its server is the run's.
func (s *suite) edit(name, text, server string) string {
	if path.Ext(name) != ".go" {
		return text
	}
	text = function.ReplaceAllStringFunc(text, func(whole string) string {
		if called := function.FindStringSubmatch(whole)[1]; s.leaves(called) || slices.Contains(s.cut, called) {
			return ""
		}
		return whole
	})
	edits := append([]string{":6379", server[strings.LastIndex(server, ":"):]}, s.edits...)
	text = strings.NewReplacer(edits...).Replace(text)
	if s.virtual && testName.MatchString(text) {
		text = testName.ReplaceAllString(text, "func $1(t *testing.T) { synctest.Test(t, virtual$1) }\n\nfunc virtual$1(t ")
		text = strings.Replace(text, "\nimport (\n", "\nimport (\n\t\"testing/synctest\"\n", 1)
	}
	return imported.ReplaceAllStringFunc(text, func(line string) string {
		if regexp.MustCompile(`\b` + packageName(line) + `\.`).MatchString(text) {
			return line
		}
		return ""
	})
}

var (
	// function is a function or method, as gofmt writes it: its name, behind its receiver.
	function = regexp.MustCompile(`(?ms)^func ((?:\([^)]*\) )?\w+)\(.*?^}\n`)
	// imported is a line of an import block: a name, or none, and a path without its version.
	imported = regexp.MustCompile(`(?m)^\t(?:([\w.]+) )?"([\w./-]+?)(?:/v\d+)?"\n`)
)

// packageName returns the name of the package that a line imports, as far as its path tells; "." for such an import.
func packageName(line string) string {
	parts := imported.FindStringSubmatch(line)
	if parts[1] != "" {
		return parts[1]
	}
	return strings.TrimPrefix(path.Base(parts[2]), "go-")
}

// test runs the tests in a workspace with this repository's modules. It returns the names of those that passed.
func (s *suite) test(t *testing.T, folder, server string) (passed []string) {
	t.Helper()
	work := t.TempDir() + "/go.work"
	write(t, work, workspace(t, folder))
	write(t, work+".sum", read(t, root+"/go.work.sum"))
	command := exec.CommandContext(t.Context(), "go", "test", "-json", "-count=1", "-timeout=1h", "./...")
	command.Dir = folder
	command.Env = append(os.Environ(), "GOWORK="+work, "REDIS_URI=redis://"+server+"/0", "REDIS_HOST=none")
	out, err := command.CombinedOutput()
	said := ""
	for line := range strings.Lines(string(out)) {
		var event struct{ Action, Test, Output string }
		if json.Unmarshal([]byte(line), &event) != nil {
			event.Output = line
		}
		said += event.Output
		if event.Action == "pass" && strings.HasPrefix(event.Test, "Test") && !strings.Contains(event.Test, "/") {
			passed = append(passed, event.Test)
		}
	}
	require.NoError(t, err, said)
	return passed
}

func workspace(t *testing.T, folder string) string {
	t.Helper()
	top, err := filepath.Abs(root)
	require.NoError(t, err)
	text := "go 1.26.0\n\nuse " + folder + "\n"
	for _, module := range []string{"", "backend/embedded", "backend/goredis", "conformance", "integration/httplimit"} {
		text += "use " + filepath.Join(top, module) + "\n"
	}
	return text
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
}
