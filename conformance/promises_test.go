package conformance_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
)

func TestDeclarationsAreValid(t *testing.T) {
	t.Parallel()
	for _, p := range conformance.Primitives() {
		require.NoError(t, p.Validate())
	}
}

func TestEveryCaseHasAClause(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, c := range conformance.Cases() {
		require.NotEmpty(t, c.Text, c.Name)
		require.False(t, names[c.Name], "two cases are named %s", c.Name)
		names[c.Name] = true
	}
}
