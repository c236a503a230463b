package locks

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/http"
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
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/hasp-go/hasp/conformance/anylock"
)

// etcdRows are etcd's lock with a session for each hold, and with one for all holds of a process.
func etcdRows() (all []*row) {
	return []*row{
		{title: "etcd", module: "go.etcd.io/etcd/client/v3", subject: etcdSubject(sessionOfHold), missing: lacks("etcd")},
		{
			title: "etcd", how: "a session for each process", module: "go.etcd.io/etcd/client/v3",
			subject: etcdSubject(sessionOfProcess), missing: lacks("etcd"),
		},
	}
}

// session is one, with what ends it.
type session func(env anylock.Env) (s *concurrency.Session, end func() error, err error)

func sessionOfHold(env anylock.Env) (s *concurrency.Session, end func() error, err error) {
	client := anylock.Open(env, func() (*clientv3.Client, error) { return clientv3.New(clientv3.Config{Endpoints: env.Addrs}) })
	if s, err = concurrency.NewSession(client, concurrency.WithTTL(int(env.Lease/time.Second))); err != nil {
		return nil, nil, err
	}
	return s, s.Close, nil
}

func sessionOfProcess(env anylock.Env) (s *concurrency.Session, end func() error, err error) {
	return anylock.Open(env, func() (*concurrency.Session, error) {
		client, err := clientv3.New(clientv3.Config{Endpoints: env.Addrs})
		if err != nil {
			return nil, err
		}
		return concurrency.NewSession(client, concurrency.WithTTL(int(env.Lease/time.Second)))
	}), func() error { return nil }, nil
}

func etcdSubject(session session) anylock.Subject {
	take := func(env anylock.Env, lock func(m *concurrency.Mutex) error) (anylock.Hold, error) {
		s, end, err := session(env)
		if err != nil {
			return anylock.Hold{}, err
		}
		mutex := concurrency.NewMutex(s, env.Name)
		if err := lock(mutex); err != nil {
			return anylock.Hold{}, errors.Join(err, end())
		}
		unlock := func(ctx context.Context) error { return errors.Join(mutex.Unlock(ctx), end()) }
		return anylock.Hold{Unlock: unlock, Token: mutex.Header().GetRevision(), Context: s.Ctx()}, nil
	}
	return anylock.Subject{
		Serve:   serveEtcd,
		InOrder: true,
		Lock: func(ctx context.Context, env anylock.Env) (anylock.Hold, error) {
			return take(env, func(m *concurrency.Mutex) error { return m.Lock(ctx) })
		},
		TryLock: func(ctx context.Context, env anylock.Env) (anylock.Hold, error) {
			return take(env, func(m *concurrency.Mutex) error { return m.TryLock(ctx) })
		},
	}
}

func postgresRow() *row {
	return &row{title: "PostgreSQL's advisory lock", subject: postgresSubject, missing: lacks("postgres")}
}

// postgresSubject is a lock of a connection, which has no lease.
var postgresSubject = anylock.Subject{
	Serve: servePostgres,
	Lock: func(ctx context.Context, env anylock.Env) (anylock.Hold, error) {
		return lockPostgres(ctx, env, "pg_advisory_lock", "pg_advisory_unlock")
	},
	RLock: func(ctx context.Context, env anylock.Env) (anylock.Hold, error) {
		return lockPostgres(ctx, env, "pg_advisory_lock_shared", "pg_advisory_unlock_shared")
	},
	UnlockName: func(ctx context.Context, env anylock.Env) error {
		_, err := database(env).ExecContext(ctx, "SELECT pg_advisory_unlock(hashtext($1))", env.Name)
		return err
	},
}

func lockPostgres(ctx context.Context, env anylock.Env, lock, unlock string) (anylock.Hold, error) {
	conn, err := database(env).Conn(ctx)
	if err != nil {
		return anylock.Hold{}, err
	}
	if _, err := conn.ExecContext(ctx, "SELECT "+lock+"(hashtext($1))", env.Name); err != nil {
		return anylock.Hold{}, errors.Join(err, conn.Close())
	}
	return anylock.Hold{Unlock: func(ctx context.Context) error {
		_, err := conn.ExecContext(ctx, "SELECT "+unlock+"(hashtext($1))", env.Name)
		return errors.Join(err, conn.Close())
	}}, nil
}

func database(env anylock.Env) *sql.DB {
	return anylock.Open(env, func() (*sql.DB, error) { return openPostgres(env.Addr) })
}

func openPostgres(addr string) (*sql.DB, error) {
	return sql.Open("pgx", "postgres://hasp@"+addr+"/postgres?sslmode=disable")
}

// serveEtcd starts an etcd server whose shortest lease is a second, as the judge's is.
func serveEtcd(tb testing.TB) anylock.Server {
	tb.Helper()
	addr, data := "127.0.0.1:"+freePort(tb), tb.TempDir()+"/data"
	client, peer := "http://"+addr, "http://127.0.0.1:"+freePort(tb)
	return (&daemon{
		command: func() *exec.Cmd {
			_ = os.RemoveAll(data)
			return exec.Command(find("etcd"), "--data-dir", data, "--listen-client-urls", client, "--advertise-client-urls", client,
				"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer,
				"--heartbeat-interval", "50", "--election-timeout", "500")
		},
		answers: func() error {
			answer, err := http.Get(client + "/health")
			if err != nil {
				return err
			}
			defer func() { _ = answer.Body.Close() }()
			if answer.StatusCode != http.StatusOK {
				return errors.New(answer.Status)
			}
			return nil
		},
	}).serve(tb, addr)
}

// servePostgres starts a PostgreSQL server, which keeps its locks in memory alone.
func servePostgres(tb testing.TB) anylock.Server {
	tb.Helper()
	home, err := os.MkdirTemp("", "hasp-postgres-") //nolint:usetesting // The parents of tb.TempDir are its owner's alone.
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, os.RemoveAll(home)) })
	as, data, port := unprivileged(tb, home), filepath.Join(home, "data"), freePort(tb)
	output, err := as(exec.Command(find("initdb"), "-D", data, "-U", "hasp", "-A", "trust", "-N")).CombinedOutput()
	require.NoError(tb, err, string(output))
	db, err := openPostgres("127.0.0.1:" + port)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	return (&daemon{
		command: func() *exec.Cmd {
			return as(exec.Command(find("postgres"), "-D", data, "-h", "127.0.0.1", "-p", port, "-k", "", "-F"))
		},
		answers: db.Ping,
	}).serve(tb, "127.0.0.1:"+port)
}

// daemon is a server that package servers does not start.
type daemon struct {
	command func() *exec.Cmd
	answers func() error
	process *exec.Cmd
}

func (d *daemon) serve(tb testing.TB, addr string) anylock.Server {
	tb.Helper()
	require.NoError(tb, d.start())
	tb.Cleanup(d.stop)
	return anylock.Server{Addr: addr, Restart: func() error { d.stop(); return d.start() }}
}

func (d *daemon) start() error {
	d.process = d.command()
	if err := d.process.Start(); err != nil {
		return err
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if err := d.answers(); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// stop ends the server at once, with its processes.
func (d *daemon) stop() {
	_ = d.process.Process.Signal(syscall.SIGQUIT)
	_ = d.process.Wait()
}

// find returns the path of a program, which Debian may not have put on PATH; "" without one.
func find(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	paths, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	return slices.Max(append(paths, ""))
}

func lacks(program string) string {
	if find(program) == "" {
		return fmt.Sprintf("no %s is installed", program)
	}
	return ""
}

// unprivileged makes commands run as another user if this one is root, which PostgreSQL refuses.
func unprivileged(tb testing.TB, home string) func(*exec.Cmd) *exec.Cmd {
	tb.Helper()
	if os.Getuid() != 0 {
		return func(c *exec.Cmd) *exec.Cmd { return c }
	}
	nobody, err := user.Lookup("nobody")
	require.NoError(tb, err)
	uid, err := strconv.Atoi(nobody.Uid)
	require.NoError(tb, err)
	gid, err := strconv.Atoi(nobody.Gid)
	require.NoError(tb, err)
	require.NoError(tb, os.Chown(home, uid, gid))
	return func(c *exec.Cmd) *exec.Cmd {
		c.Dir = home
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
		return c
	}
}

// freePort returns a port that nobody listened on a moment ago.
func freePort(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(tb, err)
	defer func() { require.NoError(tb, l.Close()) }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(tb, err)
	return port
}
