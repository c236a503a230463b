package conformance_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// leastMutants is how many broken backends the suite is judged by, at least.
const leastMutants = 25

// TestMutants judges the suite by broken backends, and prints how many it killed. They are in
// ./matrix, which may import the adapters that they break.
func TestMutants(t *testing.T) { //nolint:paralleltest // The cases have bounds; the seeds take both cores.
	args := []string{"test", "-count=1", "-v", "-timeout=15m", "-run=^TestMutants$"}
	if builtWithRace() {
		args = append(args, "-race")
	}
	cmd := exec.CommandContext(t.Context(), "go", append(args, ".")...) //nolint:gosec // Ours.
	cmd.Dir = "matrix"
	cmd.Env = append(os.Environ(), "HASP_MUTANTS=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	tally := regexp.MustCompile(`(?m)^killed (\d+) of (\d+)$`).FindSubmatch(out)
	require.NotNil(t, tally, "%s", out)
	n, err := strconv.Atoi(string(tally[2]))
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, leastMutants)
	require.Equal(t, string(tally[2]), string(tally[1]), "%s", out)
	fmt.Printf("%s\n", tally[0])
}

// builtWithRace reports whether this test looks for data races.
func builtWithRace() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
