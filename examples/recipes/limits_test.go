package recipes_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/examples/recipes"
)

// TestAllowRequest: a user who has no permits is refused, which costs the tenant nothing.
func TestAllowRequest(t *testing.T) {
	onServers(t, func(t *testing.T, process processes) {
		t.Helper()
		client := process()
		for range 60 {
			d, err := recipes.AllowRequest(t.Context(), client, "ann", "acme")
			require.NoError(t, err)
			require.True(t, d.Allowed)
		}
		d, err := recipes.AllowRequest(t.Context(), client, "ann", "acme")
		require.NoError(t, err)
		require.False(t, d.Allowed)
		require.Equal(t, "{shop}:user:ann", d.Throttle.Name())
		require.LessOrEqual(t, d.RetryAfter, time.Minute)
		d, err = recipes.AllowRequest(t.Context(), process(), "bob", "acme")
		require.NoError(t, err)
		require.True(t, d.Allowed)
		require.GreaterOrEqual(t, d.Each[1].Remaining, 600-61)
	})
}
