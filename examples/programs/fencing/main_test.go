package main

import (
	"context"
	"database/sql"
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

// TestLostLock takes the lock away from a process that is paused while it reads its input. Before it could learn
// of the loss, another process has the lock, and writes.
func TestLostLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := hasptest.New(t)
		db, _ := table(t)
		input, writer := io.Pipe()
		client, first := server.Client(nil), make(chan error, 1)
		go func() { first <- store(t.Context(), client, db, input) }()
		synctest.Wait() // It has the lock, and reads.
		server.Lose("report:1")
		require.NoError(t, store(t.Context(), server.Client(nil), db, strings.NewReader("second")))
		_, err := io.WriteString(writer, "first")
		require.NoError(t, err)
		require.NoError(t, writer.Close())
		err = <-first
		require.ErrorIs(t, err, sql.ErrNoRows, "the row refuses it")
		require.ErrorIs(t, err, primitives.ErrLost)
		requireText(t, db, "second")
	})
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
