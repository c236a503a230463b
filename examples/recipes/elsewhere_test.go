package recipes_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/examples/recipes"
	"github.com/hasp-go/hasp/primitives"
)

// TestLockHereUnlockThere: the process that locks has ended before another one unlocks.
func TestLockHereUnlockThere(t *testing.T) {
	if addr := os.Getenv("LOCK_HERE"); addr != "" {
		owner, err := recipes.Begin(t.Context(), onRedis(t, addr)(), "upload")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(os.Getenv("OWNER"), []byte(owner), 0o600))
		return
	}
	t.Parallel()
	addr, file := servers.Start(t, servers.Redis, nil).Addr(), t.TempDir()+"/owner"
	here := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$") //nolint:gosec // This test.
	here.Env = append(os.Environ(), "LOCK_HERE="+addr, "OWNER="+file)
	out, err := here.CombinedOutput()
	require.NoError(t, err, string(out))
	owner, err := os.ReadFile(file)
	require.NoError(t, err)

	there := onRedis(t, addr)()
	_, err = recipes.Begin(t.Context(), there, "upload")
	require.ErrorIs(t, err, primitives.ErrNotAcquired)
	for _, end := range []struct {
		owner string
		ended bool
	}{{"nobody", false}, {string(owner), true}, {string(owner), false}} {
		ended, err := recipes.End(t.Context(), there, "upload", end.owner)
		require.NoError(t, err)
		require.Equal(t, end.ended, ended)
	}
	_, err = recipes.Begin(t.Context(), there, "upload")
	require.NoError(t, err)
}
