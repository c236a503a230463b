package main

import (
	"io"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// runVet is "luagen vet": it checks scripts, and leaves out what matters for their Go files only.
func runVet(stdout, stderr io.Writer, args []string) int {
	j := newJob("luagen vet", stderr)
	j.jsonFlag()
	j.vetOnly = true
	if code, ok := j.start(args); !ok {
		return code
	}
	return j.report(stdout, stderr, j.load(func(*parse.Script, string) error { return nil }))
}
