package main

import (
	"github.com/hasp-go/hasp/luagen/internal/emit"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// doc is "luagen doc": it writes a reference of scripts in Markdown.
func doc(j *job) func() error {
	j.scriptFlags()
	out := j.flags.String("o", "", "write to this `file`, not to standard output")
	title := j.flags.String("title", "Scripts", "the `text` of the reference's first line")
	checkOnly := j.flags.Bool("check", false, "write nothing; print how the file of -o differs,\n"+
		"exit 1 if it does")
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
