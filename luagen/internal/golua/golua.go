// Package golua finds the scripts in files of other languages: constant texts that call commands of a server, wherever
// they stand, and those that are passed to functions which take Lua.
package golua

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
)

// Folder is what files say about scripts.
type Folder struct {
	Scripts []*Script
	Files   []string // that are scripts, and embedded
	Unseen  []Unseen
}

// Unseen is a script of which the text is not known, or a text that may be one.
type Unseen struct {
	At   token.Position
	In   []string // the files where it stands, or where a function gets it
	Why  string
	Rule string // of what is wrong there, whatever the script is
	Sent bool   // a client gets it
}

// Script is one script.
type Script struct {
	At       token.Position // where it begins
	In       []string       // the files where it stands, or where a function gets it
	Name     string         // what the script, its text or the function around is called
	Doc      string         // the comment on that name
	Text     []byte         // every end of line is "\n"
	ReadOnly bool           // it is sent by EVAL_RO or the like
	Calls    []Call         // those of which the keys are written out
	Of       []string       // the embedded files that are a part of it
	at       []token.Pos    // the place of each byte
	set      *token.FileSet
}

// Position returns the place of a byte of the script in the file that has it.
func (s *Script) Position(offset int) token.Position {
	return s.set.PositionFor(s.at[min(offset, len(s.at)-1)], false)
}

// Line returns the line of the file that has a line of the script.
func (s *Script) Line(n int) int {
	lines := bytes.SplitN(s.Text, []byte("\n"), n)
	return s.Position(len(s.Text) - len(lines[len(lines)-1])).Line
}

// reader reads the files of one folder.
type reader struct {
	Folder
	types.Info // which constant or variable each name is, and types
	set        *token.FileSet
	sources    map[string][]byte               // by path, also of other folders
	found      []*candidate                    // in the order of their places
	of         map[ast.Expr]*candidate         // the same by where they stand
	values     map[types.Object][]ast.Expr     // all that each name, field, parameter or function is given; nil for what is not known
	grown      map[types.Object]bool           // names to which the code adds texts
	embeds     map[types.Object]*ast.ValueSpec // those of go:embed
	asked      map[types.Object]bool           // those whose value is looked for
}

func newReader() *reader {
	return &reader{
		Info: types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}},
		set:  token.NewFileSet(), sources: map[string][]byte{}, of: map[ast.Expr]*candidate{},
		values: map[types.Object][]ast.Expr{}, grown: map[types.Object]bool{}, embeds: map[types.Object]*ast.ValueSpec{},
		asked: map[types.Object]bool{},
	}
}

// Read finds the scripts in Go files of one folder, which it gets by read. Those that are no Go are left out: other tools
// say so.
func Read(paths []string, read func(path string) []byte) *Folder {
	r := newReader()
	packages := r.parse(paths, read)
	config := types.Config{FakeImportC: true, Importer: known(), Error: func(error) {}} // Faults do not matter: few imports are known.
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		files := packages[name]
		_, _ = config.Check("", r.set, files, &r.Info)
		for _, f := range files {
			ast.Inspect(f, r.note)
		}
		for _, f := range files {
			ast.Inspect(f, func(n ast.Node) bool { return !r.take(n) })
		}
		for _, f := range files {
			r.calls(f)
		}
	}
	r.decide()
	return &r.Folder
}

// marks are the words without which a file neither has scripts nor passes them.
var marks = []string{"redis.", "server.call", "server.pcall", "Eval", "EVAL", "NewScript", "LuaScript", "ScriptLoad"}

// parse reads the packages of Go files, if one of the files may have scripts.
func (r *reader) parse(paths []string, read func(path string) []byte) map[string][]*ast.File {
	found, packages := false, map[string][]*ast.File{}
	for _, path := range paths {
		src := read(path)
		r.sources[path] = src
		found = found || slices.ContainsFunc(marks, func(word string) bool { return bytes.Contains(src, []byte(word)) })
	}
	for i := 0; found && i < len(paths); i++ {
		if f, err := parser.ParseFile(r.set, paths[i], r.sources[paths[i]], parser.ParseComments|parser.SkipObjectResolution); err == nil {
			packages[f.Name.Name] = append(packages[f.Name.Name], f)
		}
	}
	return packages
}

// position returns a place as users know it.
func (r *reader) position(at token.Pos) token.Position { return r.set.PositionFor(at, false) }

func (r *reader) file(at token.Pos) string { return r.position(at).Filename }
