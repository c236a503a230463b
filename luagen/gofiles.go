package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/golua"
)

// goFile adds a Go file: the scripts in it are meant, and the constants of its folder.
func (j *job) goFile(path string) {
	dir := filepath.Dir(path)
	if named, ok := j.goFolders[dir]; !ok || named != nil {
		j.goFolders[dir] = append(named, filepath.Clean(path))
	}
}

// goFiles checks the scripts in Go files.
func (j *job) goFiles() error {
	for _, dir := range slices.Sorted(maps.Keys(j.goFolders)) {
		paths, err := filepath.Glob(filepath.Join(dir, "[^._]*.go"))
		if err != nil {
			return err
		}
		paths = slices.DeleteFunc(paths, func(path string) bool { return strings.HasSuffix(path, ".lua"+suffix) })
		folder := golua.Read(paths)
		if err := j.goFolder(folder, j.goFolders[dir]); err != nil {
			return err
		}
	}
	return nil
}

// goFolder checks the scripts of a folder's Go files, or of those that are meant.
func (j *job) goFolder(folder *golua.Folder, meant []string) error {
	isMeant := func(path string) bool { return meant == nil || slices.Contains(meant, filepath.Clean(path)) }
	for _, err := range folder.Unread {
		j.notRead(err)
	}
	for _, at := range folder.Unseen {
		if isMeant(at.Filename) {
			j.note([]string{fmt.Sprintf("%s: not seen: the script is no constant text of this package", at)})
		}
	}
	for _, path := range folder.Files {
		j.source(path)
	}
	for _, s := range folder.Scripts {
		for _, path := range s.Of {
			j.parts[path] = true
		}
		if !isMeant(s.Call.Filename) {
			continue
		}
		if err := j.goScript(s); err != nil {
			return err
		}
	}
	return nil
}

var lineOfScript = regexp.MustCompile(`\bline (\d+)`)

// vetGo checks one script. Findings are at the places that the Go files have.
func (j *job) vetGo(s *golua.Script) error {
	j.readOnly = s.ReadOnly
	_, _, findings := j.examine(s.Call.Filename, s.Text)
	j.readOnly = false
	for _, f := range findings {
		if f.File == s.Call.Filename {
			at := s.Position(f.Pos.Offset)
			f.File, f.Pos.Offset, f.Pos.Line, f.Pos.Col = at.Filename, at.Offset, at.Line, at.Column
			f.Msg = lineOfScript.ReplaceAllStringFunc(f.Msg, func(text string) string {
				n, _ := strconv.Atoi(text[len("line "):])
				return "line " + strconv.Itoa(s.Line(n))
			})
		}
		j.findings = append(j.findings, f)
	}
	return nil
}
