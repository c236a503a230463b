package planted_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/backend"
)

// All bugs are in one program, each behind a switch: plantedVariable names the bug that the program has, and
// without it the program has none. A function that a bug changes is there as it should be, and once more as the
// bug's variant; the good one begins with a switch that calls the variant. A script that a bug changes is replaced
// when its package is initialized. To the file of reachedVariable each process adds the bugs whose switches it meets.
const (
	plantedVariable = "HASP_PLANTED"
	reachedVariable = "HASP_REACHED"
	switchFile      = "plantedbug.go"
	switchText      = `package %s

import (
	"os"
	"sync"
)

var (
	plantedBug, plantedReached = os.Getenv(%q), os.Getenv(%q)
	plantedMet                 sync.Map
)

func planted(bug string) bool {
	if plantedReached != "" {
		plantedMeet(bug)
	}
	return plantedBug == bug
}

func plantedMeet(bug string) {
	if _, met := plantedMet.LoadOrStore(bug, true); met {
		return
	}
	if file, err := os.OpenFile(plantedReached, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_, _ = file.WriteString(bug + "\n")
		_ = file.Close()
	}
}

func init() {
%s}
`
)

// source is a file with the declarations in it.
type source struct {
	text string
	tree *ast.File
}

func parse(text string) (*source, error) {
	tree, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	return &source{text, tree}, err
}

// between returns the text from one position to another.
func (s *source) between(from, to token.Pos) string {
	return s.text[from-s.tree.FileStart : to-s.tree.FileStart]
}

// switched is a good file, and what the bugs add to it.
type switched struct {
	*source
	switches map[token.Pos]string // at the heads of functions, by the positions of their bodies
	named    map[token.Pos]string // new names of unnamed parameters, which a switch passes on
	variants string               // of functions
	scripts  string               // statements that replace scripts
}

func open(path string) (*switched, error) {
	text, err := os.ReadFile(path) //nolint:gosec // Ours.
	if err != nil {
		return nil, err
	}
	good, err := parse(string(text))
	return &switched{source: good, switches: map[token.Pos]string{}, named: map[token.Pos]string{}}, err
}

// plant adds the bug of that name, with which the file has the text bad.
func (s *switched) plant(bug, bad string) error {
	changed, err := parse(bad)
	if err != nil {
		return err
	}
	if len(changed.tree.Decls) != len(s.tree.Decls) {
		return fmt.Errorf("there are %d declarations, not %d", len(changed.tree.Decls), len(s.tree.Decls))
	}
	err = errors.New("the bug changes no declaration")
	for i, was := range s.tree.Decls {
		is := changed.tree.Decls[i]
		if changed.between(is.Pos(), is.End()) == s.between(was.Pos(), was.End()) {
			continue
		}
		if err = s.change(bug, was, is, changed); err != nil {
			return err
		}
	}
	return err
}

// change puts a changed declaration behind a switch.
func (s *switched) change(bug string, was, is ast.Decl, changed *source) error {
	good, _ := was.(*ast.FuncDecl)
	if bad, ok := is.(*ast.FuncDecl); ok && good != nil {
		return s.vary(bug, good, bad, changed)
	}
	if script, text, ok := scriptOf(is); ok {
		for _, d := range s.tree.Decls {
			if f, isFunc := d.(*ast.FuncDecl); isFunc {
				s.switches[f.Body.Lbrace] += fmt.Sprintf(" _ = planted(%q);", bug)
			}
		}
		s.scripts += fmt.Sprintf("\tif plantedBug == %q {\n\t\t%s.Source, %[2]s.SHA1, %[2]s.Command = %[3]q, %q, \"\"\n\t}\n",
			bug, script, text, backend.NewScript("", text, 0, backend.RetryNever).SHA1)
		return nil
	}
	return fmt.Errorf("no switch can change %.80q: only functions and scripts", s.between(was.Pos(), was.End()))
}

// vary adds a function's variant, and the switch that calls it. Its name is none that tests find which call all methods.
func (s *switched) vary(bug string, good, bad *ast.FuncDecl, changed *source) error {
	if s.between(good.Pos(), good.Body.Lbrace) != changed.between(bad.Pos(), bad.Body.Lbrace) {
		return fmt.Errorf("no switch can change what %s takes and returns", good.Name.Name)
	}
	s.switches[good.Body.Lbrace] += fmt.Sprintf(" if planted(%q) { %s };", bug, s.callOf(good, "_"+bug))
	s.variants += "\n" + changed.between(bad.Pos(), bad.Name.Pos()) + "planted" + bad.Name.Name + "_" + bug +
		changed.between(bad.Name.End(), bad.End()) + "\n"
	return nil
}

// callOf returns statements that call f's variant with what f was called with, and return what that returns.
func (s *switched) callOf(f *ast.FuncDecl, suffix string) string {
	name := "planted" + f.Name.Name + suffix
	if receiver := s.namesOf(f.Recv); receiver != "" {
		name = receiver + "." + name
	}
	if types := s.namesOf(f.Type.TypeParams); types != "" {
		name += "[" + types + "]"
	}
	call := name + "(" + s.namesOf(f.Type.Params) + ")"
	if f.Type.Results == nil {
		return call + "; return"
	}
	return "return " + call
}

// namesOf returns the names of fields as a call lists them. What has no name gets one.
func (s *switched) namesOf(fields *ast.FieldList) string {
	if fields == nil {
		return ""
	}
	var names []string
	for _, f := range fields.List {
		for _, name := range f.Names {
			if name.Name == "_" {
				s.named[name.End()] = fmt.Sprintf("planted%d", name.End()) // After the "_".
			}
			names = append(names, name.Name+s.named[name.End()])
		}
		if at := f.Type.Pos(); len(f.Names) == 0 {
			names = append(names, fmt.Sprintf("planted%d", at))
			s.named[at] = names[len(names)-1] + " "
		}
		if _, ok := f.Type.(*ast.Ellipsis); ok {
			names[len(names)-1] += "..."
		}
	}
	return strings.Join(names, ", ")
}

// scriptOf returns the variable that is declared by d and holds a script, as luagen writes it, and its source.
func scriptOf(d ast.Decl) (script, text string, ok bool) {
	variable, _ := d.(*ast.GenDecl)
	if variable == nil || variable.Tok != token.VAR || len(variable.Specs) != 1 {
		return "", "", false
	}
	spec := variable.Specs[0].(*ast.ValueSpec) //nolint:forcetypeassert // Variables have no other.
	ast.Inspect(spec, func(n ast.Node) bool {
		if field, _ := n.(*ast.KeyValueExpr); field != nil && fmt.Sprint(field.Key) == "Source" {
			text, ok = constantText(field.Value)
		}
		return true
	})
	return spec.Names[0].Name, text, ok
}

// constantText returns the value of literals that are joined.
func constantText(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, ok := constantText(e.X)
		right, alsoOK := constantText(e.Y)
		return left + right, ok && alsoOK
	}
	return "", false
}

// String returns the file with all its bugs.
func (s *switched) String() string {
	insert := maps.Clone(s.named)
	for body, text := range s.switches {
		insert[body+1] = text
	}
	var b strings.Builder
	from := s.tree.FileStart
	for _, at := range slices.Sorted(maps.Keys(insert)) {
		b.WriteString(s.between(from, at) + insert[at])
		from = at
	}
	return b.String() + s.between(from, s.tree.FileEnd) + s.variants
}

// planter plants bugs in files, by their paths.
type planter map[string]*switched

func (p planter) plant(bug, path, bad string) (err error) {
	if p[path] == nil {
		if p[path], err = open(path); err != nil {
			return err
		}
	}
	return p[path].plant(bug, bad)
}

// plantAll plants all bugs.
func plantAll(all []seed) (files planter, err error) {
	files = planter{}
	for _, s := range all {
		path, bad, err := s.apply()
		if err != nil {
			return nil, err
		}
		if err = files.plant(s.id(), path, bad); err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return files, nil
}

// texts returns all files with bugs, by their paths, and those with the switches themselves.
func (p planter) texts() map[string]string {
	texts, packages, scripts := map[string]string{}, map[string]string{}, map[string]string{}
	for path, f := range p {
		texts[path] = f.String()
		packages[filepath.Dir(path)] = f.tree.Name.Name
		scripts[filepath.Dir(path)] += f.scripts
	}
	for dir, name := range packages {
		texts[filepath.Join(dir, switchFile)] = fmt.Sprintf(switchText, name, plantedVariable, reachedVariable, scripts[dir])
	}
	return texts
}
