// Package golua finds the scripts in the Go files of a folder: constant texts that are passed to functions which take Lua.
package golua

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// Folder is what the Go files of a folder say about scripts.
type Folder struct {
	Scripts []*Script
	Files   []string         // that are scripts, and embedded
	Unseen  []token.Position // scripts of which the text is not known
	Unread  []error          // why files cannot be read
}

// Script is one script that a function gets.
type Script struct {
	Call     token.Position // where it gets it
	Name     string         // what the script, its text or the function around is called
	Doc      string         // the comment on that name
	Text     []byte         // every end of line is "\n"
	ReadOnly bool           // it is sent by EVAL_RO or the like
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
	offset := 0
	for ; n > 1; n-- {
		offset += bytes.IndexByte(s.Text[offset:], '\n') + 1
	}
	return s.Position(offset).Line
}

// relevant are the files without which a folder has no scripts.
var relevant = regexp.MustCompile(`(?i)redis|valkey|rueidis`)

// Read reads Go files of one folder. Those that are no Go are left out: other tools say so.
func Read(paths []string) *Folder {
	folder, sources, found := &Folder{}, map[string][]byte{}, false
	for _, path := range paths {
		src, err := parse.ReadFile(path)
		if err != nil {
			folder.Unread = append(folder.Unread, err)
			continue
		}
		sources[path] = src
		found = found || relevant.Match(src)
	}
	if !found {
		return folder
	}
	set, packages := token.NewFileSet(), map[string]*pack{}
	for _, path := range paths {
		f, err := parser.ParseFile(set, path, sources[path], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		p := packages[f.Name.Name]
		if p == nil {
			p = &pack{set: set, sources: sources, labels: map[ast.Expr]string{}}
			packages[f.Name.Name] = p
		}
		p.files = append(p.files, f)
	}
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		packages[name].scan(folder)
	}
	return folder
}
