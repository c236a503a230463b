package main

import (
	"path/filepath"

	"github.com/hasp-go/hasp/luagen/internal/check"
)

// The part of SARIF 2.1.0 that a viewer of findings needs.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID string `json:"id"`
	}
	sarifInvocation struct {
		Successful    bool          `json:"executionSuccessful"`
		Notifications []sarifNotice `json:"toolExecutionNotifications"`
	}
	sarifNotice struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Place sarifPlace `json:"physicalLocation"`
	}
	sarifPlace struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn"`
	}
)

// asSARIF returns what -sarif prints.
func (j *job) asSARIF() sarifLog {
	driver := sarifDriver{Name: "luagen", InformationURI: "https://pkg.go.dev/github.com/hasp-go/hasp/luagen"}
	for _, rule := range check.Rules {
		driver.Rules = append(driver.Rules, sarifRule{rule})
	}
	run := sarifRun{Tool: sarifTool{driver}, Invocations: []sarifInvocation{j.sarifNotices()}, Results: []sarifResult{}}
	for _, f := range j.findings {
		place := sarifPlace{sarifArtifact{filepath.ToSlash(f.File)}, sarifRegion{f.Pos.Line, f.Pos.Col}}
		run.Results = append(run.Results, sarifResult{
			RuleID: f.Rule, Level: "warning", Message: sarifText{f.Msg}, Locations: []sarifLocation{{place}},
		})
	}
	return sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}}
}

// sarifNotices returns the run's remarks, and what ended it.
func (j *job) sarifNotices() sarifInvocation {
	all := sarifInvocation{Successful: j.failure == nil, Notifications: []sarifNotice{}}
	for _, note := range j.notes {
		all.Notifications = append(all.Notifications, sarifNotice{"note", sarifText{note}})
	}
	if j.failure != nil {
		all.Notifications = append(all.Notifications, sarifNotice{"error", sarifText{j.failure.Error()}})
	}
	return all
}
