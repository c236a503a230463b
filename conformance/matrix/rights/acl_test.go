// Package rights has tests of what a server's user needs: the commands that our scripts call, and the
// keys and channels that they touch.
package rights

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
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

// recorder sees which keys each script touches on the embedded server.
type recorder struct {
	cells.Runner
	server *embedded.Server

	mu     sync.Mutex
	joint  bool // a writer was released together with others, with a reader of its own
	faults []string
	names  map[string]bool // the keys as ~key, and the channels as &channel

	// before, unless it is nil, is called before a script. What it returns is called after it, with the commands
	// that the script called.
	before func(c backend.Call) (after func(calls []string))
}

// run runs the script with the spy, and alone among all.
func (r *recorder) run(ctx context.Context, c backend.Call) (backend.Reply, error) {
	if c.Script.Name == "read_release_all" {
		time.Sleep(time.Second) // Virtual: writers of the same locks go first.
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	script := c.Script
	c.Script = backend.NewScript(script.Name, spy+script.Source, script.Keys, script.Retry)
	if script.Retry == backend.RetryReadOnly {
		c.Script.Retry = backend.RetryNever // the spy itself writes
	}
	after := func([]string) {}
	if r.before != nil {
		after = r.before(backend.Call{Script: script, Keys: c.Keys, Args: c.Args})
	}
	reply, err := r.Good(ctx, c)
	if spyErr := must.Catch(func() { after(r.note(script, c.Keys)) }); spyErr != nil {
		r.faults = append(r.faults, spyErr.Error())
	}
	if strings.HasSuffix(script.Name, "_acquire") && strings.HasPrefix(c.Keys[0], lostReply) {
		return backend.Reply{}, backend.Indeterminate(errors.New("EOF"))
	}
	return reply, err
}

// note notes what was touched, and a fault if it is no key that was given, and returns which commands were called. The first
// argument of a command is a key, but for TIME and PUBLISH.
func (r *recorder) note(script *backend.Script, keys []string) (calls []string) {
	words := must.Get(must.Get(r.server.Do("LRANGE", "luagen-spy", "0", "-1")).Items())
	must.Get(r.server.Do("DEL", "luagen-spy"))
	for pair := range slices.Chunk(words, 2) {
		name, key := must.Get(pair[0].Text()), must.Get(pair[1].Text())
		calls = append(calls, name)
		given := func(declared string) bool { // What begins with a key may be declared, too.
			return key == declared || strings.HasPrefix(key, declared+":")
		}
		switch {
		case strings.HasSuffix(name, "publish"):
			r.names["&"+key] = true
		case name == "time":
		case !slices.ContainsFunc(keys, given):
			r.faults = append(r.faults, script.Name+": "+name+" of "+key)
		default:
			r.names["~"+key] = true
			r.joint = r.joint || script.Name == "write_release_all" && strings.HasPrefix(key, keys[1])
		}
	}
	return calls
}

// newRecorder returns a client on an embedded server, and what sees its scripts.
func newRecorder(t *testing.T) (*recorder, *primitives.Client) {
	t.Helper()
	server := embedded.NewServer()
	b := must.Get(embedded.New(server, nil))
	r := &recorder{server: server, names: map[string]bool{}}
	r.Backend, r.Instead = b, r.run
	return r, cells.Over(t, r, nil)
}

// useAll makes the client run each script of some kinds, or of all, and closes it. Whether Close's releases of writers with
// readers of their own are sent together, the scheduler decides: other clients follow until they were.
func (r *recorder) useAll(t *testing.T, client *primitives.Client, kinds []string) {
	t.Helper()
	use := func(ctx context.Context, c *primitives.Client) { use(ctx, c, kinds...) }
	if len(kinds) == 0 {
		use = useAll
		require.NoError(t, must.Catch(func() { useAdopt(t.Context(), cells.Over(t, r, nil)) }))
	}
	for ; !r.joint; client, use = cells.Over(t, r, nil), useJointReleases {
		require.NoError(t, must.Catch(func() { use(t.Context(), client) }))
		require.NoError(t, client.Close(t.Context()))
		r.joint = r.joint || len(kinds) > 0
	}
	require.Empty(t, r.faults)
}
