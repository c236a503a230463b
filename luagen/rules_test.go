package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/luagen/internal/check"
)

// TestRulesAreDocumented: what "---@allow" may name is documented where a user looks.
func TestRulesAreDocumented(t *testing.T) {
	t.Parallel()
	command := read(t, "doc.go")
	for _, rule := range check.Rules {
		require.Regexp(t, `(?m)^//\t([a-z]+, )?`+rule+`(,| )`, command)
	}
}
