package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check"
	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/emit"
	"github.com/hasp-go/hasp/luagen/internal/golua"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// suffix is what a script's file name gets for its Go file: x.lua.go.
const suffix = ".go"

// fuzzSuffix is what its name has in the place of ".lua" for its fuzz target: x_fuzz_test.go.
const fuzzSuffix = "_fuzz_test.go"

// job is one run of the command: what it reads, and what it finds.
type job struct {
	stdout io.Writer
	flags  *flag.FlagSet
	json   bool // findings are reported as JSON
	sarif  bool // findings are reported as SARIF
	strict bool // also find faults that only users with few permissions meet
	tables *flow.Tables
	paths  []string
	shared []string // folders of -I

	folders  []string        // that were given whole
	sources  []string        // the files, in the order given, each once
	given    map[string]bool // whether a file is one of sources, or a script in one is known
	examined map[string]bool // files whose findings are known

	generator // of Go files
	vetter

	findings []parse.Finding
	notes    []string // remarks for the user, each once
	differs  bool     // a file is not current
}

// generator is what luagen needs to write Go files.
type generator struct {
	fuzz     bool              // write fuzz targets, too
	out      string            // folder to write to; "": that of each script
	pkg      string            // package of the files; "": found out
	made     []file            // the Go files of scripts without findings
	declared map[string]string // in Go: folder and name, and the script of it
	packages map[string]string // by folder
}

// file is one Go file as it should be.
type file struct {
	path    string
	content []byte
}

// existing returns what a file has, with the ends of lines that luagen writes; nil if there is none.
func existing(path string) ([]byte, error) {
	content, err := parse.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return parse.Normalize(content), err
}

// load reads and checks the scripts, and makes of each without findings what it is for: the parsed script is not kept.
func (j *job) load(makes func(s *parse.Script, shipped string) error) error {
	var failed error // Findings come first.
	err := j.each(func(path string, src []byte) error {
		s, shipped := j.read(path, src, false)
		if !s.Header.Library && !j.vets {
			j.clash(s)
		}
		if shipped != "" && failed == nil {
			failed = makes(s, shipped)
		}
		return nil
	})
	if err == nil && len(j.findings) == 0 {
		err = failed
	}
	return err
}

// each passes on the scripts that are given, but for those that vet leaves out.
func (j *job) each(script func(path string, src []byte) error) error {
	if err := j.gather(); err != nil {
		return err
	}
	for _, path := range j.sources {
		src, err := j.open(path)
		if src != nil {
			err = script(path, src)
		}
		if err != nil {
			return err
		}
	}
	j.noteUnseen()
	j.findings = slices.DeleteFunc(parse.Sort(j.findings), func(f parse.Finding) bool {
		if f.Rule == check.Note {
			j.note([]string{fmt.Sprintf("%s:%d:%d: %s", f.File, f.Pos.Line, f.Pos.Col, f.Msg)})
		}
		return f.Rule == check.Note
	})
	return nil
}

// gather finds the scripts that are given. Those in Go files it passes on.
func (j *job) gather() error {
	for _, path := range j.paths {
		if err := j.add(path); err != nil {
			return err
		}
	}
	switch folders := strings.Join(j.folders, ", "); {
	case j.vets:
		return j.inOthers(folders)
	case len(j.sources) == 0:
		return usagef("no .lua file in %s", folders)
	}
	return nil
}

func (j *job) file(s *parse.Script, shipped string) error {
	target := j.target(s.File)
	pkg, err := j.packageFor(filepath.Dir(target))
	if err != nil {
		return err
	}
	content, err := emit.File(s, shipped, pkg)
	err = errors.Join(err, j.make(target, content))
	if err == nil && j.fuzz {
		content, err = emit.Fuzz(s, pkg)
		err = errors.Join(err, j.make(strings.TrimSuffix(target, ".lua"+suffix)+fuzzSuffix, content))
	}
	return err
}

// make adds a file to those that are made. One of this name that luagen did not write is a finding.
func (j *job) make(target string, content []byte) error {
	have, err := existing(target)
	if have != nil && !generated(have) {
		j.findings = append(j.findings, atTop(target, "generated", "luagen did not write this file: rename it, or the script"))
	}
	j.made = append(j.made, file{target, content})
	return err
}

// add adds a file, or the scripts of a folder.
func (j *job) add(path string) error {
	if j.vets {
		path = strings.TrimSuffix(path, "/...") // Folders below a folder are seen in any case.
	}
	info, err := os.Stat(path)
	switch text := j.vets && golua.IsText(path); {
	case path == "-" && j.vets:
		j.source(path)
	case err != nil && path == "run":
		return usagef("luagen runs no script: go run github.com/hasp-go/hasp/luagen/luarun@latest does")
	case err != nil && !strings.ContainsAny(path, "./"+string(filepath.Separator)):
		return usagef("there is no command, file or folder %s; \"luagen help\" has the commands", path)
	case err != nil:
		return usageError{err}
	case info.IsDir():
		j.folders = append(j.folders, path)
		return j.walk(path)
	case text && !j.text:
		return usagef("%s is read with -text only", path)
	case text, filepath.Ext(path) == ".go" && j.vets:
		j.others[filepath.Clean(path)] = path
	case filepath.Ext(path) != ".lua":
		return usagef("%s is no .lua file", path)
	default:
		j.source(path)
	}
	return nil
}

func (j *job) source(path string) {
	if clean := filepath.Clean(path); !j.given[clean] {
		j.given[clean] = true
		j.sources = append(j.sources, path)
	}
}

// read checks a file, and those that it includes, which may not be among the run's own.
func (j *job) read(path string, src []byte, included bool) (*parse.Script, string) {
	j.examined[path] = true
	s, shipped, findings := j.examine(path, src)
	if included && !s.Header.Library { // That is found where it is included.
		return s, shipped
	}
	j.findings = append(j.findings, findings...)
	for _, inc := range s.Header.Includes {
		if inc.Script != nil && !j.examined[inc.Script.File] {
			j.read(inc.Script.File, inc.Script.Source, true)
		}
	}
	return s, shipped
}

// examine parses and checks one script. shipped is the text that the server gets, "" with findings, or for a library.
func (j *job) examine(path string, src []byte) (s *parse.Script, shipped string, findings []parse.Finding) {
	s, findings = parse.Parse(path, src, j.options())
	if why := badFileName(s.Name); why != "" && !j.vets {
		findings = append(findings, atTop(path, parse.RuleName, why))
	}
	if j.sent != nil {
		s.Name += " " + j.sent.Name
	}
	if s.Raw {
		s.Tokens = nil // Nothing is shipped: a long script leaves this memory to its check.
	}
	if s.Body != nil {
		findings = append(findings, slices.DeleteFunc(check.Script(s, j.tables, j.strict), func(f parse.Finding) bool {
			return f.Rule == check.Note && !j.vets
		})...)
		j.note(j.tables.Behind(s.Header))
	}
	if len(findings) > 0 || s.Header.Library || s.Raw {
		return s, "", findings
	}
	shipped = emit.Source(s)
	// The shipped text has more than the parsed text: the bindings and the included code.
	if f := parse.Check([]byte(strings.TrimPrefix(shipped, emit.Flags(s)))); f != nil {
		f.File, f.Msg = path, "as shipped: "+f.Msg
		return s, "", append(findings, *f)
	}
	return s, shipped, nil
}

func (j *job) options() parse.Options {
	return parse.Options{Folders: j.shared, Rules: check.Rules, Raw: j.vets, ReadOnly: j.sent != nil && j.sent.ReadOnly}
}

// note keeps what the run says once.
func (j *job) note(texts []string) {
	for _, text := range texts {
		if !slices.Contains(j.notes, text) {
			j.notes = append(j.notes, text)
		}
	}
}

var scriptShape = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// badFileName says why a script of this name cannot have a Go file, or returns "".
func badFileName(name string) string {
	if !scriptShape.MatchString(name) {
		return "the file's name becomes the function's: small letters, digits and _, such as lock_acquire.lua"
	}
	last := name[strings.LastIndexByte(name, '_')+1:]
	if last != name && slices.Contains(parse.Words("platforms"), last) {
		return "Go would build " + name + ".lua.go on " + last + " only: choose another name"
	}
	return ""
}

// clash finds what a script's Go file would declare that an earlier one's does, the file itself included.
func (j *job) clash(s *parse.Script) {
	for _, name := range emit.Identifiers(s) {
		id := filepath.Dir(j.target(s.File)) + " " + name
		if first, ok := j.declared[id]; ok {
			msg := fmt.Sprintf("%s declares %s in Go too", filepath.Base(first), name)
			j.findings = append(j.findings, atTop(s.File, parse.RuleName, msg))
			return
		}
		j.declared[id] = s.File
	}
}

func (j *job) target(script string) string {
	return filepath.Join(cmp.Or(j.out, filepath.Dir(script)), filepath.Base(script)+suffix)
}

func (j *job) packageFor(dir string) (name string, err error) {
	pkg := cmp.Or(j.pkg, j.packages[dir])
	if pkg == "" {
		pkg, err = packageOf(dir)
	}
	if err == nil && !token.IsIdentifier(pkg) {
		err = usagef("%q is no package name: give one with -p", pkg)
	}
	j.packages[dir] = pkg
	return pkg, err
}

// packageOf returns the package of the Go files in a folder that are not generated here, else the folder's name. Next to
// another package, main is a program that go generate runs, and documentation is ignored as by the go command.
func packageOf(dir string) (name string, err error) {
	for _, path := range glob(dir, "*.go") {
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".lua"+suffix) {
			continue
		}
		src, _ := parse.ReadFile(path)
		f, err := parser.ParseFile(token.NewFileSet(), path, src, parser.PackageClauseOnly)
		if err == nil && slices.Contains([]string{"", "main", "documentation"}, name) {
			name = f.Name.Name
		}
	}
	absolute, err := filepath.Abs(dir)
	return cmp.Or(name, filepath.Base(absolute)), err
}
