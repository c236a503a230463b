package primitives_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
)

// TestMain writes which lines of the scripts run, for "make luacover".
func TestMain(m *testing.M) {
	os.Exit(embedded.CoverLua(m.Run, "../../primitives/internal/script", os.Getenv("LUACOVER")))
}

// TestExamples runs the examples of package primitives, whose module has no server.
func TestExamples(t *testing.T) {
	t.Parallel()
	examples := must(filepath.Glob("../../primitives/example*_test.go"))(t)
	require.NotEmpty(t, examples)
	folder, err := filepath.Abs("testdata/examples")
	require.NoError(t, err)
	replace := map[string]string{}
	for _, example := range examples {
		if name := filepath.Base(example); name != "example_server_test.go" {
			replace[filepath.Join(folder, name)], err = filepath.Abs(example)
			require.NoError(t, err)
		}
	}
	text := must(json.Marshal(map[string]any{"Replace": replace}))(t)
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(overlay, text, 0o600))
	//nolint:gosec // Ours.
	out, err := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-overlay="+overlay, "-v", "./testdata/examples").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: ExampleLock_Do")
}
