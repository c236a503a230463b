package main

import (
	"fmt"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/golua"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// vetter is what vet and import need to read what others wrote.
type vetter struct {
	vets   bool // else the run is for the user's own scripts with annotations
	text   bool // read the texts of other languages than Go
	unseen bool // a script that is not seen is a finding

	script  func(s *golua.Script) error // takes each script in files that are no Lua
	sent    *golua.Script               // the one in a file that is no Lua which is examined
	others  map[string]string           // files of other languages, by their clean paths
	walked  map[string]bool             // the files that were found in a folder
	leftOut map[string][]string         // those that are left out, by the reason
	parts   map[string]bool             // those that Go code joins to a script, which is checked whole
}

// vet is "luagen vet": it checks scripts, and leaves out what matters for their Go files only.
func vet(j *job) func() error {
	j.scriptFlags()
	j.jsonFlag()
	j.vets, j.script = true, j.vetScript
	j.flags.BoolVar(&j.sarif, "sarif", false, "print findings as SARIF 2.1.0, to standard output")
	j.flags.BoolVar(&j.text, "text", false, "read also the texts of TypeScript, JavaScript, Python, Ruby and PHP")
	j.flags.Func("unseen", "with `fail` a script for a client that vet cannot read is a finding: rule unseen", func(value string) error {
		if j.unseen = value == "fail"; !j.unseen {
			return usagef("it takes the word fail")
		}
		return nil
	})
	return func() error {
		if j.json && j.sarif {
			j.json, j.sarif = false, false
			return usagef("choose -json or -sarif")
		}
		return j.load(func(*parse.Script, string) error { return nil })
	}
}

// walk adds the scripts of a folder. Vet also reads files that are no Lua, and the folders below it, but for those that the
// go command leaves out.
func (j *job) walk(root string) error {
	return filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			j.notRead(err)
		case e.IsDir() && path != root && (!j.vets || othersFolder.MatchString(e.Name())):
			return fs.SkipDir
		case e.IsDir(), e.Name()[0] == '.': // such as the link that an editor makes for a file
		case j.vets && (filepath.Ext(path) == ".go" || j.text && golua.IsText(path)):
			j.others[filepath.Clean(path)] = path
		case filepath.Ext(path) == ".lua" && !j.given[filepath.Clean(path)]:
			j.walked[path] = true
			j.source(path)
		}
		return nil
	})
}

// notRead says that a file in a folder cannot be read. The others can.
func (j *job) notRead(err error) { j.note([]string{"not seen: " + err.Error()}) }

// inFolder reads a file in a folder; src is nil if it cannot.
func (j *job) inFolder(path string) (src []byte) {
	src, err := parse.ReadFile(path)
	if err != nil {
		j.notRead(err)
	}
	return src
}

func (j *job) notSeen(u golua.Unseen) {
	switch {
	case u.Rule != "":
		j.findAt(u.At, u.Rule, u.Why)
	case j.unseen && u.Sent:
		j.findAt(u.At, "unseen", "not seen: "+u.Why)
	default:
		j.note([]string{fmt.Sprintf("%s: not seen: %s", u.At, u.Why)})
	}
}

// findAt adds a finding at a place in a file that is no Lua.
func (j *job) findAt(at token.Position, rule, msg string) {
	pos := parse.Pos{Offset: at.Offset, Line: at.Line, Col: at.Column}
	j.findings = append(j.findings, parse.Finding{File: at.Filename, Pos: pos, Msg: msg, Rule: rule})
}

// noteUnseen says once for each reason which files vet has left out, three of them by name.
func (j *job) noteUnseen() {
	for _, why := range slices.Sorted(maps.Keys(j.leftOut)) {
		paths, more := j.leftOut[why], ""
		if n := len(paths) - 3; n > 0 {
			paths, more = paths[:3], fmt.Sprintf(" and %d more", n)
		}
		j.note([]string{fmt.Sprintf("not seen: %s: %s%s", why, strings.Join(paths, ", "), more)})
	}
}

// othersFolder matches the names of folders that hold code of others, or data of tests.
var othersFolder = regexp.MustCompile(`^(?:[._]|(?:node_modules|testdata|vendor)$)`)

// open reads a file; src is nil if vet leaves it out. A folder may have Lua for other programs.
func (j *job) open(path string) (src []byte, err error) {
	switch {
	case path == "-":
		return io.ReadAll(os.Stdin)
	case !j.vets:
		return parse.ReadFile(path)
	case j.parts[path]:
		return nil, nil
	}
	src, err = parse.ReadFile(path)
	switch {
	case err != nil && j.walked[path]:
		j.notRead(err)
		return nil, nil
	case err != nil || golua.Library(src) && golua.Accepted.Match(src):
	case golua.Library(src) && j.unseen:
		j.notSeen(golua.Unseen{At: token.Position{Filename: path, Line: 1, Column: 1}, Why: golua.Libraries, Sent: true})
	case golua.Library(src):
		j.leftOut[golua.Libraries] = append(j.leftOut[golua.Libraries], path)
	case j.walked[path] && !parse.ForServer(src):
		const why = "Lua without a call of a command"
		j.leftOut[why] = append(j.leftOut[why], path)
	default:
		return src, nil
	}
	return nil, err
}

// inOthers checks the scripts in files that are no Lua.
func (j *job) inOthers(folders string) error {
	if len(j.sources)+len(j.others) == 0 {
		j.note([]string{"nothing to check: no .lua file and no .go file in " + folders +
			"; -text reads TypeScript, JavaScript, Python, Ruby and PHP, too"})
	}
	read := map[string]bool{} // folders of Go files
	for _, path := range slices.Sorted(maps.Values(j.others)) {
		var folder *golua.Folder
		switch dir := filepath.Dir(path); {
		case filepath.Ext(path) != ".go":
			folder = golua.ReadText(path, j.inFolder(path))
		case read[dir]:
			continue
		default: // A script may be a sum of constants in other files of the folder.
			folder, read[dir] = golua.Read(glob(dir, "[^._]*.go"), j.inFolder), true
		}
		if err := j.scripts(folder); err != nil {
			return err
		}
	}
	return nil
}

// scripts checks the scripts in a folder's files, of which some may not be meant.
func (j *job) scripts(folder *golua.Folder) error {
	isMeant := func(paths []string) bool {
		return slices.ContainsFunc(paths, func(path string) bool { return j.others[filepath.Clean(path)] != "" })
	}
	for _, u := range folder.Unseen {
		if isMeant(u.In) {
			j.notSeen(u)
		}
	}
	for _, path := range folder.Files {
		j.source(path)
	}
	for _, s := range folder.Scripts {
		for _, path := range s.Of {
			j.parts[path] = true
		}
		id := s.At.String() + string(s.Text)
		if j.given[id] || !isMeant(s.In) { // A package that uses the constant has found it, too.
			continue
		}
		j.given[id] = true
		if err := j.script(s); err != nil {
			return err
		}
	}
	return nil
}

var lineOfScript = regexp.MustCompile(`\bline (\d+)`)

// vetScript checks one script. Findings are at the places that the file has.
func (j *job) vetScript(s *golua.Script) error {
	j.sent = s
	script, _, findings := j.examine(s.At.Filename, s.Text)
	j.sent = nil
	for _, f := range findings {
		if strings.Contains(f.Msg, golua.Hole) {
			continue
		}
		if f.File == s.At.Filename {
			at := s.Position(f.Pos.Offset)
			f.File, f.Pos.Offset, f.Pos.Line, f.Pos.Col = at.Filename, at.Offset, at.Line, at.Column
			f.Msg = lineOfScript.ReplaceAllStringFunc(f.Msg, func(text string) string {
				n, _ := strconv.Atoi(text[len("line "):])
				return "line " + strconv.Itoa(s.Line(n))
			})
		}
		j.findings = append(j.findings, f)
	}
	j.passed(s, script)
	return nil
}
