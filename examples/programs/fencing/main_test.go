package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/examples/programs/internal/process"
	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(process.Main(main, m.Run)) }

// table is a database with the row, and its file.
func table(t *testing.T) (db *sql.DB, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "report.db")
	file += "?_pragma=busy_timeout(60000)"
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err = db.ExecContext(t.Context(), "CREATE TABLE report (id INTEGER PRIMARY KEY, text TEXT, fence INTEGER)")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "INSERT INTO report VALUES (1, '', 0)")
	require.NoError(t, err)
	return db, file
}

func requireText(t *testing.T, db *sql.DB, want string) {
	t.Helper()
	var text string
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT text FROM report").Scan(&text))
	require.Equal(t, want, text)
}

// TestLostLock takes the lock away from a process that is paused while it reads its input. Before the process could
// learn of the loss, another one has the lock, and reads its own input. Then the first writes, and after it the second.
func TestLostLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := hasptest.New(t)
		db, _ := table(t)
		first := startStore(t, server.Client(nil), db)
		server.Lose("report:1")
		second := startStore(t, server.Client(nil), db)
		err := first("first")
		require.ErrorIs(t, err, sql.ErrNoRows, "the row refuses it: the second has claimed the row")
		require.ErrorIs(t, err, primitives.ErrLost)
		require.NoError(t, second("second"))
		requireText(t, db, "second")
	})
}

// startStore returns when store has the lock, and waits for its input.
func startStore(t *testing.T, client *primitives.Client, db *sql.DB) (finish func(input string) error) {
	t.Helper()
	input, writer := io.Pipe()
	stored := make(chan error, 1)
	go func() { stored <- store(t.Context(), client, db, input) }()
	synctest.Wait()
	return func(text string) error {
		_, err := io.WriteString(writer, text)
		return errors.Join(err, writer.Close(), <-stored)
	}
}

// TestRedis does the same with two processes on a real server.
func TestRedis(t *testing.T) {
	t.Parallel()
	addr := servers.Start(t, servers.Redis, nil).Addr()
	db, file := table(t)
	first, err := process.Command(t.Context(), addr, "DATABASE="+file)
	require.NoError(t, err)
	input, err := first.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, first.Start())
	takeAway(t, addr)

	second, err := process.Command(t.Context(), addr, "DATABASE="+file)
	require.NoError(t, err)
	second.Stdin = strings.NewReader("second")
	require.NoError(t, second.Run())
	_, err = io.WriteString(input, "first")
	require.NoError(t, err)
	require.NoError(t, input.Close())
	require.Error(t, first.Wait())
	requireText(t, db, "second")
}

// takeAway waits until a process has the lock, and takes it away.
func takeAway(t *testing.T, addr string) {
	t.Helper()
	conn := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { require.NoError(t, conn.Close()) }()
	client, err := goredisbackend.NewClient(conn, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close(context.Background())) }()
	lock := client.NewFencedLock("report:1", nil)
	for {
		taken, err := lock.ForceUnlock(t.Context())
		require.NoError(t, err)
		if taken {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
