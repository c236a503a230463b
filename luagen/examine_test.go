package main

import (
	"github.com/hasp-go/hasp/luagen/internal/check"
	"github.com/hasp-go/hasp/luagen/internal/emit"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// examine parses and checks one script with the committed tables.
func examine(path string, src []byte) (*parse.Script, []parse.Finding) {
	s, _, findings := (&job{tables: check.Builtin()}).examine(path, src)
	return s, findings
}

// reference returns the reference of one script.
func reference(s *parse.Script) string {
	r := emit.NewReference("Scripts")
	r.Add(s)
	return string(r.Bytes())
}
