package main

import (
	"io"

	"github.com/hasp-go/hasp/luagen/internal/emit"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// runDoc is "luagen doc": it writes a reference of scripts in Markdown.
func runDoc(stdout, stderr io.Writer, args []string) int {
	j := newJob("luagen doc")
	out := j.flags.String("o", "", "write to this `file`, not to standard output")
	title := j.flags.String("title", "Scripts", "the `text` of the reference's first line")
	checkOnly := j.flags.Bool("check", false, "write nothing; print how the file of -o differs,\n"+
		"exit 1 if it does")
	if code, ok := j.start(stdout, stderr, args); !ok {
		return code
	}
	if *checkOnly && *out == "" {
		return j.report(stdout, stderr, j.exit(usagef("-check compares with the file of -o")))
	}
	reference := emit.NewReference(*title)
	code := j.load(func(s *parse.Script, _ string) error {
		reference.Add(s)
		return nil
	})
	if code != 0 {
		return j.report(stdout, stderr, code)
	}
	f := file{*out, reference.Bytes()}
	var err error
	switch {
	case *out == "":
		_, err = stdout.Write(f.content)
	case *checkOnly:
		err = j.compareFile(stdout, f)
	default:
		err = f.write()
	}
	return j.report(stdout, stderr, j.exit(err))
}
