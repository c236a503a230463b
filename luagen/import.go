package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check"
	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/draft"
	"github.com/hasp-go/hasp/luagen/internal/golua"
	"github.com/hasp-go/hasp/luagen/internal/parse"
	"github.com/hasp-go/hasp/luagen/internal/units"
)

// importDrafts is "luagen import": it writes annotated drafts of scripts without annotations, and checks these.
func importDrafts(j *job) func() error {
	j.scriptFlags()
	j.jsonFlag()
	j.vets, j.script = true, func(s *golua.Script) error {
		path := filepath.Join(filepath.Dir(s.At.Filename), scriptName(s.Name)+".lua")
		return j.draft(path, s.At.String(), s.Text, s.Doc)
	}
	return func() error {
		return j.each(func(path string, src []byte) error {
			base := strings.TrimSuffix(filepath.Base(path), ".lua")
			return j.draft(filepath.Join(filepath.Dir(path), scriptName(base)+"_typed.lua"), path, src, "")
		})
	}
}

// draft writes the annotated form of a script, unless a file is there, and checks it.
func (j *job) draft(path, from string, src []byte, comment string) error {
	s, findings := parse.Parse(from, src, j.options())
	switch {
	case !s.Raw:
		return nil
	case s.Body == nil:
		j.findings = append(j.findings, findings...)
		return nil
	}
	facts := draft.Learn(flow.NewCode(s, j.tables).Machine())
	if facts.Part || bytes.Contains(src, []byte(golua.Hole)) {
		j.leftOut["parts of scripts"] = append(j.leftOut["parts of scripts"], from)
		return nil
	}
	text := draft.Of(s, comment, facts)
	_, _, findings = j.examine(path, text)
	facts.ReadOnly = slices.ContainsFunc(findings, func(f parse.Finding) bool { return f.Rule == check.ReadOnly })
	if facts.ReadOnly {
		text = draft.Of(s, comment, facts)
		_, _, findings = j.examine(path, text)
	}
	if _, err := os.Lstat(path); err == nil {
		j.note([]string{path + " exists: not written for " + from})
		return nil
	}
	j.findings = append(j.findings, findings...)
	if wrote := path + ": from " + from; j.json {
		j.note([]string{wrote})
	} else {
		fmt.Fprintln(j.stdout, wrote)
	}
	return os.WriteFile(path, text, 0o644)
}

var between = regexp.MustCompile(`[^a-z0-9]+`)

// scriptName makes a name for a script's file of one in Go, or of another file's.
func scriptName(name string) string {
	name = strings.Trim(between.ReplaceAllString(units.Spoken(name), "_"), "_0123456789")
	if badFileName(name) != "" {
		name += "_script"
	}
	return strings.TrimPrefix(name, "_")
}
