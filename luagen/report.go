package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"text/template"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// jsonReport is what -json prints, on one line. Fields may be added, never changed or removed.
type jsonReport struct {
	Findings []parse.Finding `json:"findings"`
	Notes    []string        `json:"notes,omitempty"` // remarks that are no faults of a script
	Error    string          `json:"error,omitempty"` // why the run ended early
}

// report prints the findings and what ended the run, and returns the exit code.
func (j *job) report(stderr io.Writer, failure error) (code int) {
	ended := "" // why
	if failure != nil {
		ended = failure.Error()
	}
	switch {
	case errors.As(failure, new(usageError)):
		code = 2
	case failure != nil || len(j.findings) > 0 || j.differs:
		code = 1
	}
	if j.json || j.sarif {
		report := any(jsonReport{append([]parse.Finding{}, j.findings...), j.notes, ended})
		if j.sarif {
			report = asSARIF(report)
		}
		if err := json.NewEncoder(j.stdout).Encode(report); err != nil {
			fmt.Fprintf(stderr, "luagen: %v\n", err)
			return 1
		}
		return code
	}
	for _, note := range j.notes {
		fmt.Fprintf(stderr, "luagen: %s\n", note)
	}
	for _, f := range j.findings {
		fmt.Fprintln(stderr, f)
	}
	if failure != nil {
		fmt.Fprintf(stderr, "luagen: %s\n", ended)
	}
	return code
}

// differ reports that a file is not as it should be: in words, or among the findings for JSON.
func (j *job) differ(path, state, diff string) {
	j.differs = true
	if !j.json {
		fmt.Fprint(j.stdout, diff)
		return
	}
	j.findings = append(j.findings, atTop(path, "generated", "the file is "+state))
}

// atTop returns a finding of a whole file.
func atTop(path, rule, msg string) parse.Finding {
	return parse.Finding{File: path, Pos: parse.Pos{Line: 1, Col: 1}, Msg: msg, Rule: rule}
}

//go:embed sarif.tmpl
var sarifText string

// asSARIF returns what -sarif prints of a report. What the template fails in is no JSON, which its encoder refuses.
func asSARIF(report any) json.RawMessage {
	write := func(v any) (string, error) { text, err := json.Marshal(v); return string(text), err }
	functions := template.FuncMap{"json": write, "rules": rules, "slash": filepath.ToSlash}
	var b bytes.Buffer
	_ = template.Must(template.New("").Funcs(functions).Parse(sarifText)).Execute(&b, report)
	return b.Bytes()
}
