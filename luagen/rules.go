package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// manual has the annotations, the servers, and the rules with an example each, which has such a finding.
//
//go:embed reference.md
var manual string

// rule is a kind of finding.
type rule struct{ name, line, help string }

// rules returns all rules, as the reference has them.
func rules() (all []rule) {
	sections := strings.Split(manual, "\n### ")
	for _, section := range sections[1:] {
		name, help, _ := strings.Cut(section, "\n\n")
		line, _, _ := strings.Cut(help, "\n\n")
		line, _, _ = strings.Cut(strings.ReplaceAll(line, "\n", " "), ";")
		line, _, _ = strings.Cut(line, ". ")
		all = append(all, rule{name, strings.TrimSpace(line), strings.TrimSpace(help) + "\n"})
	}
	return all
}

// listRules is "luagen rules": it lists the rules, or explains one.
func listRules(j *job) func() error {
	return func() error {
		all := rules()
		for _, name := range j.flags.Args() {
			i := slices.IndexFunc(all, func(r rule) bool { return r.name == name })
			if i < 0 {
				return usagef("there is no rule %s; \"luagen rules\" lists them", name)
			}
			fmt.Fprintf(j.stdout, "%s: %s", name, all[i].help)
		}
		for _, r := range all {
			if j.flags.NArg() == 0 {
				fmt.Fprintf(j.stdout, "%-12s %s\n", r.name, r.line)
			}
		}
		return nil
	}
}
