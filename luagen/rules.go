package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/emit"
	"github.com/hasp-go/hasp/luagen/internal/parse"
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

// doc is "luagen doc": it writes a reference of scripts in Markdown.
func doc(j *job) func() error {
	j.scriptFlags()
	out := j.flags.String("o", "", "write to this `file`, not to standard output")
	title := j.flags.String("title", "Scripts", "the `text` of the reference's first line")
	checkOnly := j.flags.Bool("check", false, "write nothing; print how the file of -o differs,\nexit 1 if it does")
	return func() error {
		if *checkOnly && *out == "" {
			return usagef("-check compares with the file of -o")
		}
		f := file{*out, []byte(emit.Title(*title))}
		err := j.load(func(s *parse.Script, _ string) error {
			section, err := emit.Describe(s)
			f.content = append(f.content, section...)
			return err
		})
		switch {
		case err != nil || len(j.findings) > 0:
		case *out == "":
			_, err = j.stdout.Write(f.content)
		case *checkOnly:
			err = j.compareFile(f)
		default:
			err = f.write()
		}
		return err
	}
}
