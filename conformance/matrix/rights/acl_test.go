// Package rights has tests of what a server's user needs: the commands that our scripts call, and the
// keys and channels that they touch.
package rights

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// scripts returns the texts of the primitives' scripts, by name.
func scripts(t *testing.T) map[string]string {
	t.Helper()
	paths := cells.Got(filepath.Glob("../../../primitives/internal/script/*.lua"))(t)
	require.NotEmpty(t, paths)
	all := map[string]string{}
	for _, path := range paths {
		text := cells.Got(os.ReadFile(path))(t)
		all[strings.TrimSuffix(filepath.Base(path), ".lua")] = string(text)
	}
	return all
}

// locker is a kind of lock.
type locker interface {
	Lock(ctx context.Context) (*primitives.Lease, error)
	TryLock(ctx context.Context) (*primitives.Lease, error)
}

// slot is a counting semaphore of which one has the only slot, as a lock.
type slot struct{ *primitives.CountingSemaphore }

// Lock implements locker.
func (s slot) Lock(ctx context.Context) (*primitives.Lease, error) { return s.Acquire(ctx) }

// TryLock implements locker.
func (s slot) TryLock(ctx context.Context) (*primitives.Lease, error) { return s.TryAcquire(ctx) }

// TestOldServerRefusesAtOnce: the first call of each kind whose scripts ask for permissions is refused, and has written
// nothing, on Redis 6.2, which "make test-oldest" has, and on a miniredis that lacks a command like it.
func TestOldServerRefusesAtOnce(t *testing.T) {
	t.Parallel()
	old := miniredis.RunT(t)
	old.Server().SetPreHook(func(p *server.Peer, command string, _ ...string) bool {
		if command == "PEXPIRETIME" {
			p.WriteError("ERR unknown command")
		}
		return command == "PEXPIRETIME"
	})
	t.Run("Miniredis", func(t *testing.T) { refusesAtOnce(t, old.Addr()) })
	t.Run("Redis6", func(t *testing.T) {
		if _, version, _ := servers.Find(servers.Redis); !strings.HasPrefix(version, "6.") {
			t.Skipf("make test-oldest runs it: HASP_REDIS_SERVER is Redis %s", version)
		}
		s := servers.Start(t, servers.Redis, &servers.Options{Config: map[string]string{"enable-debug-command": ""}})
		refusesAtOnce(t, s.Addr())
	})
}

func refusesAtOnce(t *testing.T, addr string) {
	t.Helper()
	conn, ran := redis.NewClient(&redis.Options{Addr: addr}), []string{}
	defer func() { _ = conn.Close() }()
	c := cells.Named("GoRedis").Primitives(t, cells.At(addr), nil)
	for kind, o := range objects(t.Context(), c, "x") {
		if err := act(t.Context(), kind, o); err == nil {
			ran = append(ran, kind)
			require.NoError(t, conn.FlushAll(t.Context()).Err())
		} else {
			require.ErrorIs(t, err, primitives.ErrNotSupported, kind)
		}
		require.Zero(t, conn.DBSize(t.Context()).Val(), kind)
		require.ErrorIs(t, cells.Err(o.MissingRights(t.Context())), primitives.ErrNotSupported, kind)
	}
	// The adders only open, and the latch is only set.
	require.ElementsMatch(t, []string{"long", "double", "throttle", "latch", "long adder", "double adder"}, ran)
	latch := c.NewCountDownLatch("x")
	cells.Want(t, true)(latch.InitCount(t.Context(), 2))
	require.ErrorIs(t, cells.Err(latch.CountDown(t.Context())), primitives.ErrNotSupported)
	cells.Want(t, int64(2))(latch.Count(t.Context()))
}

// spy is put before a script: every command is written to the key luagen-spy, with its first
// argument. It stays on the first line, so no line moves.
const spy = `local real = redis; local redis = {}; for k, v in pairs(real) do redis[k] = v end; ` +
	`local function spied(by) return function(...) local name, key = ...; ` +
	`real.call('rpush', 'luagen-spy', string.lower(name), key or ''); return real[by](...) end end; ` +
	`redis.call = spied('call'); redis.pcall = spied('pcall'); `

// lostReply begins the names of locks whose acquires get no reply.
const lostReply = "lost reply "

// recorder sees what each script does on the embedded server.
type recorder struct {
	cells.Runner
	server *embedded.Server

	mu     sync.Mutex
	runs   []run // that differ in the script, or in what it called
	seen   map[string]bool
	faults []string
	names  map[string]bool // of what was touched: keys as ~key, and channels as &channel
}

// run runs the script with the spy, and alone among all.
func (r *recorder) run(ctx context.Context, c backend.Call) (backend.Reply, error) {
	if c.Script.Name == "read_release_all" {
		time.Sleep(time.Second) // Virtual: writers of the same locks go first.
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := run{Call: c, before: stateOf(r.server), clock: texts(r.server, "TIME")}
	c.Script = backend.NewScript(c.Script.Name, spy+c.Script.Source, c.Script.Keys, backend.RetryNever) // The spy writes.
	reply, err := r.Good(ctx, c)
	for pair := range slices.Chunk(texts(r.server, "LRANGE", "luagen-spy", "0", "-1"), 2) {
		now.calls = append(now.calls, pair[0])
		r.touched(now, pair[0], pair[1])
	}
	must.Get(r.server.Do("DEL", "luagen-spy"))
	if once := fmt.Sprint(c.Script.Name, now.calls); !r.seen[once] {
		r.seen[once], r.runs = true, append(r.runs, now)
	}
	if strings.HasSuffix(c.Script.Name, "_acquire") && strings.HasPrefix(c.Keys[0], lostReply) {
		return backend.Reply{}, backend.Indeterminate(errors.New("EOF"))
	}
	return reply, err
}

// touched notes what a command of a run touches, and a fault if it is no key that was given. The first argument is a key,
// but for TIME and PUBLISH.
func (r *recorder) touched(now run, command, key string) {
	given := func(declared string) bool { // What begins with a key may be declared, too.
		return key == declared || strings.HasPrefix(key, declared+":")
	}
	switch {
	case strings.HasSuffix(command, "publish"):
		r.names["&"+key] = true
	case command == "time":
	case !slices.ContainsFunc(now.Keys, given):
		r.faults = append(r.faults, now.Script.Name+": "+command+" of "+key)
	default:
		r.names["~"+key] = true
	}
}

// record has a client do something in virtual time, and close, and returns what it ran and touched.
func record(t *testing.T, do func(ctx context.Context, c *primitives.Client)) (runs []run, names map[string]bool) {
	t.Helper()
	later := time.Now().Add(time.Hour)
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(later)) // Virtual. Times of the bubble are still to come for real servers.
		r := &recorder{server: embedded.NewServer(), seen: map[string]bool{}, names: map[string]bool{}}
		r.Backend, r.Instead = must.Get(embedded.New(r.server, nil)), r.run
		c := cells.Over(t, r, nil)
		require.NoError(t, must.Catch(func() { do(t.Context(), c) }))
		require.NoError(t, c.Close(t.Context()))
		require.Empty(t, r.faults)
		runs, names = r.runs, r.names
	})
	return runs, names
}

// recordAll has clients run each script, through all of its branches that touch a key. Whether Close sends the releases of
// writers with readers of their own together, the scheduler decides: clients close until it has.
func recordAll(t *testing.T) (all []run) {
	t.Helper()
	all, _ = record(t, useOthers)
	for _, kinds := range users {
		runs, _ := record(t, func(ctx context.Context, c *primitives.Client) { use(ctx, c, kinds...) })
		all = append(all, runs...)
	}
	joint := func(r run) bool { return r.Script.Name == "write_release_all" && slices.Contains(r.calls, "hset") }
	for !slices.ContainsFunc(all, joint) {
		runs, _ := record(t, useJointReleases)
		all = append(all, runs...)
	}
	return all
}
