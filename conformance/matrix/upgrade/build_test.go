package upgrade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// from is the variable that names the other version, a commit. The default is the last tag; firstCommit before there
// is one.
const (
	from        = "HASP_UPGRADE_FROM"
	firstCommit = "1fc0c1e"
)

// build compiles the peer of the other version, in a work tree of its own, and returns the program.
func build(t *testing.T) (program string) {
	t.Helper()
	tag, _ := exec.Command("git", "describe", "--tags", "--abbrev=0", "--match=v*").Output()
	version, changed := cmp.Or(os.Getenv(from), strings.TrimSpace(string(tag)), firstCommit), "changed_test.go"
	tree := filepath.Join(t.TempDir(), "tree")
	run(t, ".", "git", "worktree", "add", "--quiet", "--detach", tree, version)
	t.Cleanup(func() { run(t, ".", "git", "worktree", "remove", "--force", tree) })
	folder := filepath.Join(tree, "conformance", "matrix", "upgradepeer")
	require.NoError(t, os.Mkdir(folder, 0o700))
	run(t, ".", "cp", "peer_test.go", "kinds_test.go", folder)
	if version == firstCommit {
		changed = "testdata/changed_since_1fc0c1e.go"
	}
	run(t, ".", "cp", changed, filepath.Join(folder, "changed_test.go"))
	program = filepath.Join(t.TempDir(), "peer")
	run(t, folder, "go", "test", "-c", "-vet=off", "-o", program, ".")
	t.Logf("mixed with %s", version)
	return program
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...) //nolint:gosec,noctx // Git, go and cp.
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %s: %s", name, args, out)
}

func tryRate(ctx context.Context, c *primitives.Client, name string) string {
	l := c.NewRateLimiter(name, primitives.Rate{}, &primitives.RateLimiterOptions{Unavailable: primitives.Refuse()})
	_, err := l.InitRate(ctx, primitives.Rate{Permits: 2, Interval: time.Hour})
	d, allowErr := l.Allow(ctx, 1)
	return said(map[bool]string{true: "granted", false: "refused"}[d.Allowed], errors.Join(err, allowErr))
}

func tryJob(ctx context.Context, c *primitives.Client, name string) string {
	work := func(context.Context, primitives.JobRun) error { return nil }
	ran, err := c.NewPeriodicJob(name, time.Hour, nil).TryDo(ctx, time.Now().Truncate(24*time.Hour), work)
	return said(fmt.Sprint(ran), err)
}
