package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

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
	j.failure = failure
	switch {
	case errors.As(failure, new(usageError)):
		code = 2
	case failure != nil || len(j.findings) > 0 || j.differs:
		code = 1
	}
	if j.json || j.sarif {
		report := any(j.asJSON())
		if j.sarif {
			report = j.asSARIF()
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
	if j.failure != nil {
		fmt.Fprintf(stderr, "luagen: %v\n", j.failure)
	}
	return code
}

func (j *job) asJSON() jsonReport {
	report := jsonReport{Findings: append([]parse.Finding{}, j.findings...), Notes: j.notes}
	if j.failure != nil {
		report.Error = j.failure.Error()
	}
	return report
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

// object is an object of JSON.
type object map[string]any

// asSARIF returns what -sarif prints: the part of SARIF 2.1.0 that a viewer of findings needs.
func (j *job) asSARIF() object {
	known, results, notices := []object{}, []object{}, []object{}
	for _, r := range rules() {
		text := object{"text": r.help}
		known = append(known, object{"id": r.name, "shortDescription": object{"text": r.line}, "fullDescription": text, "help": text})
	}
	for _, f := range j.findings {
		place := object{
			"artifactLocation": object{"uri": filepath.ToSlash(f.File)},
			"region":           object{"startLine": f.Pos.Line, "startColumn": f.Pos.Col},
		}
		results = append(results, object{
			"ruleId": f.Rule, "level": "warning", "message": object{"text": f.Msg},
			"locations": []object{{"physicalLocation": place}},
		})
	}
	for _, note := range j.notes {
		notices = append(notices, object{"level": "note", "message": object{"text": note}})
	}
	if j.failure != nil {
		notices = append(notices, object{"level": "error", "message": object{"text": j.failure.Error()}})
	}
	return object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{
			"tool": object{"driver": object{
				"name": "luagen", "informationUri": "https://pkg.go.dev/github.com/hasp-go/hasp/luagen", "rules": known,
			}},
			"invocations": []object{{"executionSuccessful": j.failure == nil, "toolExecutionNotifications": notices}},
			"results":     results,
		}},
	}
}
