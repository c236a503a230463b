package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/luagen/internal/check"
)

// TestRulesAreDocumented: what "---@allow" may name is documented where a user looks.
func TestRulesAreDocumented(t *testing.T) {
	t.Parallel()
	command, tutorial := read(t, "doc.go"), read(t, "..", "docs", "luagen.md")
	for _, rule := range check.Rules {
		require.Regexp(t, `(?m)^//\t([a-z]+, )?`+rule+`(,| )`, command)
		require.Regexp(t, `(?m)^- ([a-z]+, )?`+rule+`(,|:)`, tutorial)
	}
}
