package main

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// vet is "luagen vet": it checks scripts, and leaves out what matters for their Go files only.
func vet(j *job) func() error {
	j.scriptFlags()
	j.jsonFlag()
	j.flags.BoolVar(&j.sarif, "sarif", false, "print findings as SARIF 2.1.0, to standard output")
	j.vetOnly, j.goScript = true, j.vetGo
	return func() error {
		if j.json && j.sarif {
			j.json, j.sarif = false, false
			return usagef("choose -json or -sarif")
		}
		return j.load(func(*parse.Script, string) error { return nil })
	}
}

// walk adds the scripts of a folder. Vet also reads Go files, and the folders below it, but for those that the go command
// leaves out.
func (j *job) walk(root string) error {
	return filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			j.notRead(err)
		case e.IsDir() && path != root && (!j.vetOnly || leftOut(e.Name())):
			return fs.SkipDir
		case e.IsDir(), e.Name()[0] == '.': // such as the link that an editor makes for a file
		case filepath.Ext(path) == ".go" && j.vetOnly:
			j.goFolders[filepath.Dir(path)] = nil
		case filepath.Ext(path) == ".lua" && !j.given[filepath.Clean(path)]:
			j.walked[path] = j.vetOnly
			j.source(path)
		}
		return nil
	})
}

// notRead says that a file in a folder cannot be read. The others can.
func (j *job) notRead(err error) { j.note([]string{"not seen: " + err.Error()}) }

// noteUnseen says once for each reason which files vet has left out.
func (j *job) noteUnseen() {
	for _, why := range slices.Sorted(maps.Keys(j.unseen)) {
		paths, more := j.unseen[why], ""
		if len(paths) > maxNamed {
			paths, more = paths[:maxNamed], fmt.Sprintf(" and %d more", len(paths)-maxNamed)
		}
		j.note([]string{fmt.Sprintf("not seen: %s: %s%s", why, strings.Join(paths, ", "), more)})
	}
}

// maxNamed is how many of such files are named.
const maxNamed = 3

// leftOut reports whether a folder of this name holds code of others, or data of tests.
func leftOut(name string) bool {
	return name[0] == '.' || name[0] == '_' ||
		slices.Contains([]string{"node_modules", "testdata", "vendor"}, name)
}

// open reads a file; src is nil if vet leaves it out.
func (j *job) open(path string) (src []byte, err error) {
	if path == "-" {
		return io.ReadAll(os.Stdin)
	}
	src, err = parse.ReadFile(path)
	if err != nil && j.walked[path] {
		j.notRead(err)
		return nil, nil
	}
	if why := j.notSeen(path, src); why != "" {
		j.unseen[why] = append(j.unseen[why], path)
		return nil, nil
	}
	return src, err
}

var libraryHead = regexp.MustCompile(`^#!lua .*\bname=`)

// notSeen says why vet leaves a file out, or returns "". A folder may have Lua for other programs.
func (j *job) notSeen(path string, src []byte) string {
	switch {
	case j.vetOnly && libraryHead.Match(src):
		return "libraries for FUNCTION LOAD"
	case j.walked[path] && !parse.ForServer(src):
		return "Lua without a call of a command"
	}
	return ""
}
