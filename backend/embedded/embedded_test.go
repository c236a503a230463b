package embedded_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter/testdata/adaptertest"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/primitives"
)

var (
	setScript = backend.NewScript("set",
		"redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])\n"+
			"return redis.call('publish', ARGV[3], ARGV[1])", 1, backend.RetryNever)
	getScript = backend.NewScript("get", "return redis.call('get', KEYS[1])", 1, backend.RetryReadOnly)
)

func newBackend(t *testing.T, server *embedded.Server) *embedded.Backend {
	t.Helper()
	b := adaptertest.Must(embedded.New(server, nil))(t)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func TestNewNeedsServer(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, adaptertest.ErrOf(embedded.New(nil, nil)), "server is nil")
}

func TestNewClientClosesItsBackend(t *testing.T) {
	t.Parallel()
	server := embedded.NewServer()
	adaptertest.ClientCloses(t, func(o *primitives.Options) (*primitives.Client, error) { return embedded.NewClient(server, o) },
		func() error { return adaptertest.ErrOf(server.Do("PING")) })
}

func TestBackendsShareTheServer(t *testing.T) {
	t.Parallel()
	server := embedded.NewServer()
	one, two := newBackend(t, server), newBackend(t, server)
	require.NoError(t, adaptertest.ErrOf(one.Run(t.Context(), setScript, []string{"k"}, []string{"v", "60000", "c"})))
	require.Equal(t, backend.StringReply("v"), adaptertest.Must(two.Run(context.Background(), getScript, []string{"k"}, nil))(t))
	require.Equal(t, server, one.Server())
}

func TestAdvance(t *testing.T) {
	t.Parallel()
	server := embedded.NewServer()
	b := newBackend(t, server)
	require.NoError(t, adaptertest.ErrOf(b.Run(t.Context(), setScript, []string{"k"}, []string{"v", "3600000", "c"})))
	server.Advance(30 * time.Minute)
	reply := adaptertest.Must(server.Do("PTTL", "k"))(t)
	left := adaptertest.Must(reply.Duration(time.Millisecond))(t)
	require.LessOrEqual(t, left, 30*time.Minute)
	require.Greater(t, left, 20*time.Minute)
	server.Advance(30 * time.Minute)
	reply = adaptertest.Must(server.Do("GET", "k"))(t)
	require.True(t, reply.IsNil())

	require.NoError(t, adaptertest.ErrOf(b.Run(t.Context(), setScript, []string{"k"}, []string{"v", "3600000", "c"})))
	server.Advance(-time.Hour)
	reply = adaptertest.Must(server.Do("PTTL", "k"))(t)
	left = adaptertest.Must(reply.Duration(time.Millisecond))(t)
	require.Greater(t, left, time.Hour+50*time.Minute, "the clock is set back")
}

// virtual runs a test in virtual time, with a server.
func virtual(t *testing.T, test func(t *testing.T, server *embedded.Server)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, embedded.NewServer()) })
}

// newLock returns the lock "orders:42" as a client of its own has it.
func newLock(
	t *testing.T, server *embedded.Server, opts *primitives.LockOptions,
) *primitives.Lock {
	t.Helper()
	client := adaptertest.Must(primitives.New(newBackend(t, server), nil))(t)
	t.Cleanup(func() { require.NoError(t, client.Close(context.Background())) })
	return client.NewLock("orders:42", opts)
}

func TestRevoke(t *testing.T) {
	virtual(t, func(t *testing.T, server *embedded.Server) {
		lease := adaptertest.Must(newLock(t, server, nil).Lock(t.Context()))(t)
		work, acquired := lease.Context(t.Context()), time.Now()
		next := waitForLock(t, newLock(t, server, nil), lease)
		require.NoError(t, server.Revoke("orders:42"))
		require.NoError(t, work.Err(), "the holder does not know yet")

		<-work.Done()
		require.ErrorIs(t, context.Cause(work), primitives.ErrLost)
		require.LessOrEqual(t, time.Since(acquired), 10*time.Second, "its next renewal")
		require.ErrorIs(t, lease.Release(t.Context()), primitives.ErrLost)

		require.NoError(t, (<-next).Release(t.Context()))
		require.GreaterOrEqual(t, time.Since(acquired), 30*time.Second, "the end of the lease")
	})
}

// waitForLock begins to wait for a lock that another lease holds. When it is granted that lease has
// ended.
func waitForLock(
	t *testing.T, lock *primitives.Lock, holder *primitives.Lease,
) <-chan *primitives.Lease {
	t.Helper()
	granted := make(chan *primitives.Lease, 1)
	go func() {
		lease, err := lock.Lock(context.Background())
		if err == nil {
			err = holder.Err()
		}
		if !errors.Is(err, primitives.ErrLost) {
			t.Errorf("granted while another believed that it held: %v", err)
		}
		granted <- lease
	}()
	synctest.Wait()
	return granted
}

func TestRevokeWhatNobodyHolds(t *testing.T) {
	virtual(t, func(t *testing.T, server *embedded.Server) {
		require.EqualError(t, server.Revoke("x"), `embedded: revoke lock "x": nobody holds it`)
		require.NoError(t, adaptertest.ErrOf(newLock(t, server, nil).Lock(t.Context())))
		require.NoError(t, server.Revoke("orders:42"))
		require.NoError(t, server.Revoke("orders:42"), "again")

		require.NoError(t, adaptertest.ErrOf(server.Do("SET", "text", "x", "PX", "60000")))
		var refused *backend.ServerError
		require.ErrorAs(t, server.Revoke("text"), &refused)
		require.Equal(t, "WRONGTYPE", refused.Code)
	})
}

// TestCloseLosesALock shows what the package's doc says of a backend that is closed.
func TestCloseLosesALock(t *testing.T) {
	virtual(t, func(t *testing.T, server *embedded.Server) {
		b := newBackend(t, server)
		client := adaptertest.Must(primitives.New(b, nil))(t)
		lease := adaptertest.Must(client.NewLock("orders:42", nil).Lock(t.Context()))(t)
		next := waitForLock(t, newLock(t, server, nil), lease)
		require.NoError(t, b.Close())
		require.NoError(t, (<-next).Release(t.Context()))
		_ = client.Close(context.Background())
	})
}

func TestEachBackendIsAClient(t *testing.T) {
	t.Parallel()
	server := embedded.NewServer()
	one, two := newBackend(t, server), newBackend(t, server)
	got := map[*embedded.Backend]chan string{one: make(chan string, 9), two: make(chan string, 9)}
	for b, payloads := range got {
		for range 2 { // share the client's subscription
			require.NoError(t, adaptertest.ErrOf(b.Subscribe(t.Context(), "c", func(e backend.Event) { payloads <- e.Payload })))
		}
	}
	require.Equal(t, backend.IntegerReply(2), adaptertest.Must(server.Do("PUBLISH", "c", "x"))(t))
	for _, payloads := range got {
		require.Equal(t, []string{"x", "x"}, []string{<-payloads, <-payloads})
	}
	require.NoError(t, one.Close())
	require.Equal(t, backend.IntegerReply(1), adaptertest.Must(server.Do("PUBLISH", "c", "y"))(t))
	require.Equal(t, []string{"y", "y"}, []string{<-got[two], <-got[two]})
	require.Empty(t, got[one])
}

func TestReadOnlyScriptMayNotWrite(t *testing.T) {
	t.Parallel()
	b := newBackend(t, embedded.NewServer())
	script := backend.NewScript("liar", "return redis.call('set', KEYS[1], 1)", 1, backend.RetryReadOnly)
	require.ErrorContains(t, adaptertest.ErrOf(b.Run(t.Context(), script, []string{"k"}, nil)), "Write commands are not allowed")
}

func TestDo(t *testing.T) {
	t.Parallel()
	server := embedded.NewServer()
	require.ErrorContains(t, adaptertest.ErrOf(server.Do()), "no command")
	require.ErrorContains(t, adaptertest.ErrOf(server.Do("NOSUCH", "x")), "unknown command")
	reply := adaptertest.Must(server.Do("MULTI"))(t)
	require.Equal(t, backend.StringReply("OK"), reply)
	reply = adaptertest.Must(server.Do("PING"))(t)
	require.Equal(t, backend.StringReply("PONG"), reply, "no state from one call to the next")
}

var update = flag.Bool("update", false, "write luagen's table of this server's commands")

const luagenFolder = "../../luagen/internal/"

// TestCommandTable: the table by which luagen knows what scripts may use here is what the server
// shows. miniredis cannot list its commands, so each of Redis's is tried; arities, kinds and
// keys are Redis's.
func TestCommandTable(t *testing.T) {
	t.Parallel()
	version := regexp.MustCompile(`miniredis/v2 v(\S+)`).FindStringSubmatch(readFile(t, "go.mod"))[1]
	known := map[string]bool{}
	var lines []string
	for line := range strings.Lines(readFile(t, luagenFolder+"check/commands/redis-8.2.txt")) {
		fields := strings.Fields(line)
		container, _, sub := strings.Cut(fields[0], "|")
		if fields[0] != "#" && (!sub || known[container]) && knows(t, fields) {
			known[fields[0]] = true
			lines = append(lines, strings.Join(fields, " "))
		}
	}
	lacks := strings.Join(missingGlobals(t), " ")
	got := "# embedded " + version + " without " + lacks + "\n" + strings.Join(lines, "\n") + "\n"
	path := luagenFolder + "check/commands/embedded.txt"
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	require.Equal(t, readFile(t, path), got, "go test -run CommandTable -update")
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	return string(adaptertest.Must(os.ReadFile(path))(t))
}

var (
	unknownCommand = regexp.MustCompile(
		`(?i)unknown (redis command|subcommand)|' not supported$|a status in an array`)
	refusedInScripts = regexp.MustCompile(`not allowed from script`)
)

// knows reports whether the server knows the command of a line of Redis's table, and corrects the
// line's mark for commands that scripts may not call.
func knows(t *testing.T, fields []string) bool {
	t.Helper()
	words := strings.Split(fields[0], "|")
	arity := adaptertest.Must(strconv.Atoi(fields[1]))(t)
	for len(words) < max(arity, -arity) {
		words = append(words, "0.01") // a short timeout, where it is one
	}
	call := []string{"EVAL", "local r = redis.pcall(unpack(ARGV)) return r", "0"}
	_, err := embedded.NewServer().Do(append(call, words...)...)
	if err != nil && unknownCommand.MatchString(err.Error()) {
		// A command of subcommands only is known by them.
		return len(words) == 2 && arity == -2 && strings.Contains(err.Error(), " HELP")
	}
	marks := slices.DeleteFunc(strings.Split(fields[2], ","), func(mark string) bool {
		return mark == "noscript" || mark == "-"
	})
	if err != nil && refusedInScripts.MatchString(err.Error()) {
		marks = append(marks, "noscript")
	}
	fields[2] = strings.Join(marks, ",")
	if len(marks) == 0 {
		fields[2] = "-"
	}
	return true
}

// missingGlobals returns what Redis and Valkey give to scripts and this server does not.
func missingGlobals(t *testing.T) []string {
	t.Helper()
	var list string
	for _, words := range regexp.MustCompile(`(?m)^(?:globals:|library )(.*)`).FindAllStringSubmatch(readFile(t, luagenFolder+"parse/words.txt"), -1) {
		list += words[1] + "\n"
	}
	server := embedded.NewServer()
	missing := func(name string) bool {
		reply, err := server.Do("EVAL", "return type(rawget(_G, ARGV[1])) == 'nil' and 1 or "+
			"ARGV[2] ~= '' and type(_G[ARGV[1]][ARGV[2]]) == 'nil' and 1 or 0", "0",
			strings.Split(name+".", ".")[0], strings.Split(name+".", ".")[1])
		require.NoError(t, err, name)
		return adaptertest.Must(reply.Int())(t) == 1
	}
	all, lib := []string(nil), ""
	for _, word := range strings.Fields(list) {
		name, isLib := strings.CutSuffix(word, ":")
		if isLib {
			lib = name
		} else if lib != "" {
			name = lib + "." + name
		}
		if !slices.Contains(all, lib) && missing(name) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

const coveredScript = `---@include lib.lua
local a = ARGV[1]
if a == 'x' then
  a = a ..
    'y'
  for i = 1, 3 do a = a .. i end
else
  local function f()
    return 'no'
  end
  return f()
end
return a
`

// TestCoverLua is not parallel, since one profile at a time is written.
func TestCoverLua(t *testing.T) { //nolint:paralleltest // See above.
	folder, server := t.TempDir(), embedded.NewServer()
	const made = "local k = KEYS[1]\nreturn k"
	sha := adaptertest.Must(server.Do("EVAL", "return redis.sha1hex(ARGV[1])", "0", made))(t)
	text := adaptertest.Must(sha.Text())(t)
	for name, text := range map[string]string{
		"ran.lua": coveredScript, "idle.lua": "\nreturn 1 -- never\n", "lib.lua": "return 1\n",
		"made.lua": "---@key k\nreturn k\n", "made.lua.go": "\n\tSHA1: \"" + text + "\",\n",
		"get.lua": "return 2\n", "get.lua.go": "\n\tCommand: \"GET\",\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	profile := filepath.Join(folder, "lua.out")
	code := embedded.CoverLua(func() int {
		for range 2 {
			require.NoError(t, adaptertest.ErrOf(embedded.NewServer().Do("EVAL", coveredScript, "0", "x")))
			require.NoError(t, adaptertest.ErrOf(server.Do("EVAL", made, "1", "k")))
		}
		return 3
	}, folder, profile)
	require.Equal(t, 3, code)
	want := "mode: count\nidle.lua:2.1,2.18 1 0\nmade.lua:2.1,2.9 1 2\nran.lua:2.1,2.18 1 2\nran.lua:3.1,3.17 1 2\n" +
		"ran.lua:4.1,4.11 1 2\nran.lua:6.1,6.33 1 2\nran.lua:8.1,8.21 1 0\nran.lua:9.1,9.16 1 0\nran.lua:11.1,11.13 1 0\n" +
		"ran.lua:13.1,13.9 1 2\n"
	require.Equal(t, want, strings.ReplaceAll(readFile(t, profile), folder+string(filepath.Separator), ""))
	none := func() int { return 0 }
	require.Equal(t, 0, embedded.CoverLua(none, folder, ""))
	require.Equal(t, 1, embedded.CoverLua(none, folder, filepath.Join(folder, "none", "lua.out")))
}
