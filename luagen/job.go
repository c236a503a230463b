package main

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check"
	"github.com/hasp-go/hasp/luagen/internal/emit"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// suffix is what a script's file name gets for its Go file: x.lua.go.
const suffix = ".go"

// job is one run of the command.
type job struct {
	out string // folder to write to; "": beside each script
	pkg string // package of the files; "": found out

	tables *check.Tables

	folders  []string // that were given whole
	sources  []string // the scripts, in the order given, each once
	findings []parse.Finding
	files    []file
}

// file is one Go file as it should be.
type file struct {
	path    string
	content []byte
}

func (f file) current() bool {
	content, err := os.ReadFile(f.path)
	return err == nil && bytes.Equal(content, f.content)
}

// load reads and checks the scripts, and generates their files if there are no findings.
func (j *job) load(paths []string) error {
	for _, path := range paths {
		if err := j.add(path); err != nil {
			return err
		}
	}
	scripts, err := j.read()
	if err != nil {
		return err
	}
	j.clashes(scripts)
	j.findings = parse.Sort(j.findings)
	if len(j.findings) > 0 {
		return nil
	}
	for _, s := range scripts {
		if err := j.generate(s); err != nil {
			return err
		}
	}
	return nil
}

// add adds a file, or the scripts of a folder.
func (j *job) add(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return usageError{err}
	case !info.IsDir() && filepath.Ext(path) != ".lua":
		return usagef("%s is no .lua file", path)
	case !info.IsDir():
		j.source(path)
		return nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	j.folders = append(j.folders, path)
	for _, e := range entries {
		if !e.IsDir() && filepath.Ext(e.Name()) == ".lua" {
			j.source(filepath.Join(path, e.Name()))
		}
	}
	return nil
}

func (j *job) source(path string) {
	if !slices.Contains(j.sources, path) {
		j.sources = append(j.sources, path)
	}
}

// read parses and checks every script, and returns those that get a file.
func (j *job) read() ([]*parse.Script, error) {
	if len(j.sources) == 0 {
		return nil, usagef("no .lua file in %s", strings.Join(j.folders, ", "))
	}
	var scripts []*parse.Script
	for _, path := range j.sources {
		src, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		s, findings := j.examine(path, src)
		j.findings = append(j.findings, findings...)
		if !s.Header.Library {
			scripts = append(scripts, s)
		}
		j.libraries(s, map[string]bool{path: true})
	}
	return scripts, nil
}

// libraries checks the files that a script includes, which may not be among the run's own.
func (j *job) libraries(s *parse.Script, seen map[string]bool) {
	for _, inc := range s.Header.Includes {
		path := filepath.Join(filepath.Dir(s.File), inc.File)
		src, err := os.ReadFile(path)
		if err != nil || seen[path] {
			continue // what cannot be read is found where it is included
		}
		seen[path] = true
		library, findings := j.examine(path, src)
		if library.Header.Library {
			j.findings = append(j.findings, findings...)
			j.libraries(library, seen)
		}
	}
}

// examine parses and checks one script.
func (j *job) examine(path string, src []byte) (*parse.Script, []parse.Finding) {
	s, findings := parse.Parse(path, src, parse.Options{Include: os.ReadFile, Rules: check.Rules})
	if why := badFileName(s.Name); why != "" {
		findings = append(findings, parse.Finding{
			File: path, Pos: parse.Pos{Line: 1, Col: 1}, Msg: why, Rule: parse.RuleName,
		})
	}
	if s.Body != nil {
		findings = append(findings, check.Script(s, j.tables)...)
	}
	if len(findings) == 0 && !s.Header.Library {
		// What is shipped holds more than what was parsed: the bindings and the included code.
		if f := parse.Check([]byte(emit.Source(s))); f != nil {
			f.File, f.Msg = path, "as shipped: "+f.Msg
			findings = append(findings, *f)
		}
	}
	return s, findings
}

var scriptShape = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// platforms are those by which Go's tools leave a file out if its name ends in one of them.
var platforms = strings.Fields(`aix android darwin dragonfly freebsd hurd illumos ios js linux nacl
	netbsd openbsd plan9 solaris wasip1 windows zos 386 amd64 amd64p32 arm armbe arm64 arm64be
	loong64 mips mipsle mips64 mips64le mips64p32 mips64p32le ppc ppc64 ppc64le riscv riscv64 s390
	s390x sparc sparc64 wasm`)

// badFileName says why a script of this name cannot have a Go file, or returns "".
func badFileName(name string) string {
	if !scriptShape.MatchString(name) {
		return "the file's name becomes the function's: small letters, digits and _, such as " +
			"lock_acquire.lua"
	}
	last := name[strings.LastIndexByte(name, '_')+1:]
	if last != name && slices.Contains(platforms, last) {
		return "Go would build " + name + ".lua.go on " + last + " only: choose another name"
	}
	return ""
}

// clashes finds scripts whose Go files would declare the same name, or be the same file.
func (j *job) clashes(scripts []*parse.Script) {
	declared := map[string]*parse.Script{}
	for _, s := range scripts {
		for _, name := range emit.Identifiers(s) {
			id := filepath.Dir(j.target(s)) + " " + name
			if first := declared[id]; first != nil {
				j.findings = append(j.findings, parse.Finding{
					File: s.File, Pos: parse.Pos{Line: 1, Col: 1}, Rule: parse.RuleName,
					Msg: fmt.Sprintf("%s declares %s in Go too", filepath.Base(first.File), name),
				})
				break
			}
			declared[id] = s
		}
	}
}

// target returns the path of a script's Go file.
func (j *job) target(s *parse.Script) string {
	dir := j.out
	if dir == "" {
		dir = filepath.Dir(s.File)
	}
	return filepath.Join(dir, s.Name+".lua"+suffix)
}

func (j *job) generate(s *parse.Script) error {
	target := j.target(s)
	pkg := j.pkg
	if pkg == "" {
		var err error
		if pkg, err = packageOf(filepath.Dir(target)); err != nil {
			return err
		}
	}
	if !token.IsIdentifier(pkg) {
		return usagef("%q is no package name: give one with -p", pkg)
	}
	content, err := emit.File(s, pkg)
	if err != nil {
		return err
	}
	j.files = append(j.files, file{target, content})
	return nil
}

// packageOf returns the package of the Go files in a folder that are not generated here, else the
// folder's name.
func packageOf(dir string) (string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return "", err
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, ".lua"+suffix) {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly)
		if err == nil {
			return f.Name.Name, nil
		}
	}
	absolute, err := filepath.Abs(dir)
	return filepath.Base(absolute), err
}
