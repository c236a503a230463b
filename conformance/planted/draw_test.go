package planted_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// product matches the folders whose code is mutated, but for those that notProduct matches: of generators "make verify" judges.
var (
	product    = regexp.MustCompile(`^(backend|primitives|hasptest|integration|cmd/hasp|luagen)(/|$)`)
	notProduct = regexp.MustCompile(`(^|/)(testdata|browser|gen|pages)(/|$)`)
	generated  = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
)

const scripts = "primitives/internal/script"

// classes are kinds of mutants, and how many of each are drawn for a hundred in all.
var classes = []struct {
	name  string
	share int
	files *regexp.Regexp
}{
	{"Go", 60, regexp.MustCompile(`^[^l].*\.go$`)},
	{"luagen", 24, regexp.MustCompile(`^luagen/.*\.go$`)},
	{"Lua", 16, regexp.MustCompile(`\.lua$`)},
}

// allMutants lists the mutants of the product.
func allMutants() (all []mutant, err error) {
	err = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		file, _ := filepath.Rel(root, path)
		if folder := filepath.Dir(file); err != nil || d.IsDir() || !product.MatchString(folder) || notProduct.MatchString(folder) {
			return err
		}
		more, err := mutantsOf(file)
		all = append(all, more...)
		return err
	})
	return all, err
}

func mutantsOf(file string) ([]mutant, error) {
	script := strings.HasSuffix(file, ".lua") && filepath.Dir(file) == scripts
	ours, _ := build.Default.MatchFile(filepath.Join(root, filepath.Dir(file)), filepath.Base(file))
	if !script && (!ours || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go")) {
		return nil, nil
	}
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil || generated.Match(text) {
		return nil, err
	}
	if script {
		return luaMutants(file, string(text)), nil
	}
	return goMutants(file, string(text))
}

// equivalents reads the keys of mutants that are as good as hasp itself, each with the reason.
func equivalents() (map[string]string, error) {
	text, err := os.ReadFile("equivalent.txt")
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if key, reason, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && !strings.HasPrefix(line, "#") {
			all[key] = reason
		}
	}
	return all, err
}

// TestEquivalents: each mutant of the list of equivalents is still drawn from a line of hasp. A change of that line takes
// its mutant off the list.
func TestEquivalents(t *testing.T) {
	t.Parallel()
	same, err := equivalents()
	require.NoError(t, err)
	all, err := allMutants()
	require.NoError(t, err)
	for _, m := range all {
		delete(same, m.key)
	}
	require.Empty(t, same, "no such mutants: take their lines out of equivalent.txt")
}

// draw draws about n mutants that compile, by the seed, and returns the files with all of them. The order is that of a
// sum of the seed and the key, so an edit moves no mutant but its own.
func draw(n int, seed uint64, dir string) (drawn []mutant, files planter, err error) {
	all, err := allMutants()
	same, errSame := equivalents()
	if err = errors.Join(err, errSame, command(root, "go", "build", "-o", filepath.Join(dir, "luagen"), "./luagen")); err != nil {
		return nil, nil, err
	}
	rank := func(m mutant) string { return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, seed, m.key))) }
	slices.SortFunc(all, func(a, b mutant) int { return strings.Compare(rank(a), rank(b)) })
	all = slices.DeleteFunc(all, func(m mutant) bool { return same[m.key] != "" })
	some := planter{}
	for _, class := range classes { // More than asked for, since some will not compile.
		drawn = append(drawn, some.first(n*class.share/100*3/2+3, all, class.files, dir)...)
	}
	wrong, err := some.wrong()
	drawn = slices.DeleteFunc(drawn, func(m mutant) bool { return wrong[m.id()] != nil })
	all, drawn, files = drawn, nil, planter{}
	for _, class := range classes {
		drawn = append(drawn, files.first((n*class.share+99)/100, all, class.files, "")...)
	}
	return drawn, files, err
}

// first plants the first n of all whose files match, and that can be planted.
func (p planter) first(n int, all []mutant, files *regexp.Regexp, dir string) (planted []mutant) {
	for _, m := range all {
		if len(planted) == n {
			break
		}
		if !files.MatchString(m.file) || m.bad == nil && m.apply(dir) != nil {
			continue
		}
		err := error(nil)
		for path, bad := range m.bad {
			err = errors.Join(err, p.plant(m.id(), path, bad))
		}
		if err == nil {
			planted = append(planted, m)
		}
	}
	return planted
}

// apply learns what Go files have with the mutant, by their paths. An error is luagen's, or that nothing changes.
func (m *mutant) apply(dir string) error {
	path, err := filepath.Abs(filepath.Join(root, m.file))
	text, errRead := os.ReadFile(path) //nolint:gosec // Ours.
	if err = errors.Join(err, errRead); err != nil {
		return err
	}
	bad := string(text[:m.from]) + m.is + string(text[m.to:])
	if strings.HasSuffix(path, ".go") {
		m.bad = map[string]string{path: bad}
		return nil
	}
	return m.generate(dir, filepath.Dir(path), bad)
}

// generate has luagen make the Go files of the bad script.
func (m *mutant) generate(dir, folder, bad string) error {
	all, err := os.MkdirTemp(dir, "scripts")
	if err == nil {
		err = os.CopyFS(all, os.DirFS(folder))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(all, filepath.Base(m.file)), []byte(bad), 0o600)
	}
	if err == nil {
		err = command(all, filepath.Join(dir, "luagen"), ".")
	}
	if err != nil {
		return err
	}
	bads := map[string]string{}
	made, err := filepath.Glob(filepath.Join(all, "*.lua.go"))
	for _, path := range made {
		is, errIs := os.ReadFile(path) //nolint:gosec // Ours.
		was, errWas := os.ReadFile(filepath.Join(folder, filepath.Base(path)))
		err = errors.Join(err, errIs, errWas)
		if !bytes.Equal(is, was) {
			bads[filepath.Join(folder, filepath.Base(path))] = string(is)
		}
	}
	if m.bad = bads; len(bads) == 0 {
		return errors.New("the scripts stay as they are")
	}
	return err
}

// wrong returns the bugs that do not compile, by their ids.
func (p planter) wrong() (map[string]error, error) {
	exports, files, err := p.list()
	if err != nil {
		return nil, err
	}
	set, all := token.NewFileSet(), map[string]error{}
	imports := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	texts := p.texts()
	for dir, names := range files {
		var trees []*ast.File
		for _, path := range names {
			tree, errParse := parser.ParseFile(set, path, textOf(texts, path), parser.SkipObjectResolution)
			trees, err = append(trees, tree), errors.Join(err, errParse)
		}
		note := func(found error) {
			if id := variantAt(trees, found.(types.Error).Pos); id != "" { //nolint:errorlint,forcetypeassert // So it says.
				all[id] = found
			} else {
				err = errors.Join(err, found)
			}
		}
		_, _ = (&types.Config{Importer: imports, Error: note}).Check(dir, set, trees, nil)
	}
	return all, err
}

// variantAt returns the bug whose variant of a function has the place.
func variantAt(trees []*ast.File, at token.Pos) string {
	for _, tree := range trees {
		for _, d := range tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Pos() <= at && at <= f.End() {
				return f.Name.Name[strings.LastIndex(f.Name.Name, "_")+1:]
			}
		}
	}
	return ""
}

// textOf returns what the parser reads: nil means the file itself.
func textOf(texts map[string]string, path string) any {
	if text, ok := texts[path]; ok {
		return text
	}
	return nil
}

// list returns where the compiled packages are that the planted ones import, and the planted ones' files by folder.
func (p planter) list() (exports map[string]string, files map[string][]string, err error) {
	exports, files = map[string]string{}, map[string][]string{}
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}\t{{.Dir}}\t{{join .GoFiles \" \"}}"}
	for path := range p {
		dir := filepath.Dir(path)
		files[dir], args = []string{filepath.Join(dir, switchFile)}, append(args, dir)
	}
	list := exec.Command("go", args...) //nolint:gosec,noctx // Ours; all waits for it.
	list.Dir, list.Stderr = root, os.Stderr
	out, err := list.Output()
	for line := range strings.Lines(string(out)) {
		parts := strings.Split(strings.TrimSpace(line), "\t")
		exports[parts[0]] = parts[1]
		for _, name := range strings.Fields(parts[len(parts)-1]) {
			if dir := parts[2]; len(files[dir]) > 0 {
				files[dir] = append(files[dir], filepath.Join(dir, name))
			}
		}
	}
	return exports, files, err
}

// command runs a command in a folder.
func command(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...) //nolint:gosec,noctx // Ours; all waits for it.
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return err
}
