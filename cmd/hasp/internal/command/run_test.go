package command

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// TestShortGrace: a lease that ends leaves a tenth of it, unless the caller gives more.
func TestShortGrace(t *testing.T) {
	t.Parallel()
	for flags, short := range map[string]time.Duration{
		"": 3 * time.Second, "--lease 5m": 10 * time.Second, "--grace 1s": time.Second, "--grace 10s": 10 * time.Second,
	} {
		c := &cobra.Command{}
		r := (&program{}).addRunner(c)
		require.NoError(t, c.ParseFlags(append(strings.Fields(flags), "name", "--", "true")))
		require.NoError(t, c.Args(c, c.Flags().Args()))
		require.Equal(t, short, r.short, flags)
	}
}
