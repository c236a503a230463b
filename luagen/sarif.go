package main

import (
	"path/filepath"

	"github.com/hasp-go/hasp/luagen/internal/check"
)

// object is an object of JSON.
type object map[string]any

// asSARIF returns what -sarif prints: the part of SARIF 2.1.0 that a viewer of findings needs.
func (j *job) asSARIF() object {
	rules, results, notices := []object{}, []object{}, []object{}
	for _, rule := range check.Rules {
		rules = append(rules, object{"id": rule})
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
				"name": "luagen", "informationUri": "https://pkg.go.dev/github.com/hasp-go/hasp/luagen", "rules": rules,
			}},
			"invocations": []object{{"executionSuccessful": j.failure == nil, "toolExecutionNotifications": notices}},
			"results":     results,
		}},
	}
}
