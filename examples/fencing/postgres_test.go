//go:build unix

package fencing_test

import (
	"database/sql"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"github.com/stretchr/testify/require"
)

func TestPostgreSQL(t *testing.T) {
	t.Parallel()
	db := table(t, "pgx", startPostgres(t))
	checksTokens(t, inSQL(t, db))
	changesAllOrNone(t, db)
	addsWithoutReading(t, db)
}

// startPostgres starts a PostgreSQL server of the test's own on loopback, and returns how to reach it.
func startPostgres(t *testing.T) (source string) {
	t.Helper()
	initdb, postgres := program(t, "initdb"), program(t, "postgres")
	home, err := os.MkdirTemp("", "hasp-postgres-") //nolint:usetesting // The parents of t.TempDir are its owner's alone.
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(home)) })
	as := unprivileged(t, home)
	data := filepath.Join(home, "data")
	output, err := as(exec.CommandContext(t.Context(), initdb, "-D", data, "-U", "hasp", "-A", "trust", "-N")).CombinedOutput()
	require.NoError(t, err, string(output))
	port := freePort(t)
	server := as(exec.Command(postgres, "-D", data, "-h", "127.0.0.1", "-p", port, "-k", "", "-F")) //nolint:noctx // It is ended below.
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		require.NoError(t, server.Process.Signal(os.Interrupt)) // a fast shutdown
		_ = server.Wait()
	})
	source = fmt.Sprintf("postgres://hasp@127.0.0.1:%s/postgres?sslmode=disable", port)
	awaitAnswer(t, source)
	return source
}

// awaitAnswer waits until the server takes queries: it listens before that, and refuses them.
func awaitAnswer(t *testing.T, source string) {
	t.Helper()
	db, err := sql.Open("pgx", source)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	require.Eventually(t, func() bool { return db.PingContext(t.Context()) == nil }, time.Minute, 50*time.Millisecond)
}

// program returns the path of one of the server's programs, which Debian does not put on PATH.
func program(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	paths, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	require.NoError(t, err)
	if len(paths) == 0 {
		t.Skipf("PostgreSQL's %s is not installed", name)
	}
	return slices.Max(paths)
}

// unprivileged makes commands run as another user if this one is root, which PostgreSQL refuses.
func unprivileged(t *testing.T, home string) func(*exec.Cmd) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		return func(c *exec.Cmd) *exec.Cmd { return c }
	}
	nobody, err := user.Lookup("nobody")
	require.NoError(t, err)
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	require.NoError(t, err)
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	require.NoError(t, err)
	require.NoError(t, os.Chown(home, int(uid), int(gid)))
	return func(c *exec.Cmd) *exec.Cmd {
		c.Dir = home
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		return c
	}
}

// freePort returns a port that nobody listened on a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // It returns at once.
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}
