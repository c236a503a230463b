package main

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/golua"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// goFile adds a Go file: the scripts in it are meant, and the constants of its folder.
func (j *job) goFile(path string) {
	dir := filepath.Dir(path)
	if meant, ok := j.goFolders[dir]; !ok || meant != nil {
		j.goFolders[dir] = append(meant, filepath.Clean(path))
	}
}

// others checks the scripts in files that are no Lua.
func (j *job) others(folders string) error {
	if len(j.sources)+len(j.goFolders)+len(j.texts) == 0 {
		j.note([]string{"nothing to check: no .lua file and no .go file in " + folders +
			"; -text reads TypeScript, JavaScript, Python, Ruby and PHP, too"})
	}
	for _, dir := range slices.Sorted(maps.Keys(j.goFolders)) {
		if err := j.scripts(golua.Read(glob(dir, "[^._]*.go")), j.goFolders[dir]); err != nil {
			return err
		}
	}
	for _, path := range slices.Sorted(maps.Values(j.texts)) {
		src, err := parse.ReadFile(path)
		if err != nil {
			j.notRead(err)
		} else if err := j.scripts(golua.ReadText(path, src), nil); err != nil {
			return err
		}
	}
	return nil
}

// scripts checks the scripts in a folder's Go files, or in those that are meant.
func (j *job) scripts(folder *golua.Folder, meant []string) error {
	isMeant := func(paths []string) bool {
		return meant == nil || slices.ContainsFunc(paths, func(path string) bool { return slices.Contains(meant, filepath.Clean(path)) })
	}
	for _, err := range folder.Unread {
		j.notRead(err)
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
	j.readOnly = s.ReadOnly
	_, _, findings := j.examine(s.At.Filename, s.Text)
	j.readOnly = false
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
	return nil
}
