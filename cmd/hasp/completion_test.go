//go:build unix

package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCompletionScripts: each shell reads the script that is made for it; a shell that is missing is not asked.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for shell, must := range map[string]bool{"bash": true, "zsh": false, "fish": false} {
		h := start(t, nil, "completion", shell)
		require.Zero(t, h.code(t), "%s", h.errors)
		require.Contains(t, h.output.String(), "__complete", shell)
		path, err := exec.LookPath(shell)
		if err != nil && !must {
			continue
		}
		require.NoError(t, err)
		c := exec.CommandContext(t.Context(), path, "-n")
		c.Stdin = strings.NewReader(h.output.String())
		said, err := c.CombinedOutput()
		require.NoError(t, err, "%s: %s", shell, said)
	}
}

// TestCompletionOffersValues: the shell completes the values of flags, and no files.
func TestCompletionOffersValues(t *testing.T) {
	t.Parallel()
	for line, values := range map[string]string{
		"lock --kind":         "lock mutex fair",
		"force-unlock --kind": "lock mutex fair read write",
		"check --output":      "text json",
		"inspect --output":    "text json",
		"watch --output":      "text json",
	} {
		h := start(t, nil, append(append([]string{"__complete"}, words(line)...), "")...)
		require.Zero(t, h.code(t), "%s", h.errors)
		require.Equal(t, values+" :4", strings.Join(strings.Fields(h.output.String()), " "), line)
	}
	h := start(t, nil, "__complete", "check", "--kind", "r")
	require.Zero(t, h.code(t), "%s", h.errors)
	require.Contains(t, h.output.String(), "rate\nread\n")
}
