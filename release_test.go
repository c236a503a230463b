package hasp_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPackagesRefuse gives .ci/release what it cannot make packages of, in a checkout of its own: it says so in one line,
// and leaves nothing.
func TestPackagesRefuse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ version, out, path, says string }{
		"no version":      {version: "", says: "'' is no version: v1.2.3"},
		"another version": {version: "1.2", says: "'1.2' is no version: v1.2.3"},
		"no folder":       {version: "v1.2.3", says: "OUT is missing: make packages VERSION=v1.2.3 OUT=DIR"},
		"a folder":        {version: "v1.2.3", out: ".ci", says: ".ci exists: remove it, or name another folder"},
		"dirty":           {version: "v1.2.3", out: "new", says: "the work tree has changes that are not committed: commit them, or take a clone"},
		"no tool":         {version: "v1.2.3", out: "new", path: "few", says: "there is no go here: install it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := dirtyCheckout(t)
			cmd := exec.CommandContext(t.Context(), "bash", ".ci/release", "packages", c.version, c.out)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "PUBLISHED=.", "LINT=true", "TMPDIR="+filepath.Join(dir, "tmp"))
			if c.path != "" {
				cmd.Env = append(cmd.Env, "PATH="+filepath.Join(dir, c.path))
			}
			said, err := cmd.CombinedOutput()
			require.Error(t, err)
			require.Equal(t, "release: "+c.says+"\n", string(said))
			require.NoFileExists(t, filepath.Join(dir, "new"))
			left, err := os.ReadDir(filepath.Join(dir, "tmp"))
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// dirtyCheckout returns a repository that has the scripts, and a change that is not committed. Its folder few has few
// programs.
func dirtyCheckout(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, made := range []string{".ci", "few", "tmp"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, made), 0o755))
	}
	for _, script := range []string{".ci/release", ".ci/packages"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, script), []byte(read(t, script)), 0o600))
	}
	for _, tool := range []string{"bash", "dirname", "git", "mktemp", "rm"} {
		path, err := exec.LookPath(tool)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(dir, "few", tool)))
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."}, {"-c", "user.name=x", "-c", "user.email=x@localhost", "commit", "-qm", "scripts"},
	} {
		said, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		require.NoError(t, err, string(said))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".ci/packages"), []byte(read(t, ".ci/packages")+"# more\n"), 0o600))
	return dir
}
