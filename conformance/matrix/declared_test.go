package matrix

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/primitives"
)

// scripts is the folder of the primitives' scripts.
const scripts = "../../primitives/internal/script"

// keyless are the commands of our scripts that take no key. Of any other the first argument is one.
var keyless = []string{"time", "publish", "spublish"}

// spy is put before a script: every command is written to the key luagen-spy, with its first
// argument. It stays on the first line, so that no line moves.
const spy = `local real = redis; local redis = {}; for k, v in pairs(real) do redis[k] = v end; ` +
	`redis.call = function(...) local name, key = ...; ` +
	`real.call('rpush', 'luagen-spy', string.lower(name), key or ''); return real.call(...) end; ` +
	`redis.pcall = function(...) local name, key = ...; ` +
	`real.call('rpush', 'luagen-spy', string.lower(name), key or ''); return real.pcall(...) end; `

// lostReply begins the names of locks whose acquires get no reply.
const lostReply = "lost reply "

// recorder is a backend on the embedded server that sees which keys each script touches.
type recorder struct {
	backend.Backend

	mu      sync.Mutex
	t       *testing.T
	server  *embedded.Server
	touched map[string]map[int]bool // by script: the places of KEYS that were touched
	faults  []string
}

// Run runs the script with the spy, and alone among all.
func (r *recorder) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	spied := backend.NewScript(script.Name, spy+script.Source, script.Keys, script.Retry)
	if script.Retry == backend.ReadOnly {
		spied.Retry = backend.Never // the spy itself writes
	}
	reply, err := r.Backend.Run(ctx, spied, keys, args)
	r.note(script, keys)
	if script.Name == "lock_acquire" && strings.HasPrefix(keys[0], lostReply) {
		return backend.Reply{}, backend.Indeterminate(errors.New("EOF"))
	}
	return reply, err
}

// note compares what was touched with the keys that were given.
func (r *recorder) note(script *backend.Script, keys []string) {
	words, err := r.server.Do("LRANGE", "luagen-spy", "0", "-1")
	require.NoError(r.t, err)
	_, err = r.server.Do("DEL", "luagen-spy")
	require.NoError(r.t, err)
	items, err := words.Items()
	require.NoError(r.t, err)
	if r.touched[script.Name] == nil {
		r.touched[script.Name] = map[int]bool{}
	}
	for i := 0; i+1 < len(items); i += 2 {
		name, _ := items[i].Text()
		key, _ := items[i+1].Text()
		place := slices.Index(keys, key)
		switch {
		case slices.Contains(keyless, name):
		case place < 0:
			r.faults = append(r.faults, script.Name+": "+name+" of "+key)
		case script.Keys < 0: // All of a list are one.
			r.touched[script.Name][0] = true
		default:
			r.touched[script.Name][place] = true
		}
	}
}

// declaredKeys returns the number of keys that each script declares, a list being one.
func declaredKeys(t *testing.T) map[string]int {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(scripts, "*.lua"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	key := regexp.MustCompile(`(?m)^---@key `)
	declared := map[string]int{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if !bytes.Contains(text, []byte("---@library")) {
			name := strings.TrimSuffix(filepath.Base(path), ".lua")
			declared[name] = len(key.FindAll(text, -1))
		}
	}
	return declared
}

// TestScriptsTouchWhatTheyDeclare runs each script of the primitives: the keys that it touches are
// the declared ones, all of them, and no others.
func TestScriptsTouchWhatTheyDeclare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := embedded.NewServer()
		b, err := embedded.New(server, nil)
		require.NoError(t, err)
		r := &recorder{Backend: b, t: t, server: server, touched: map[string]map[int]bool{}}
		client, err := primitives.New(r, nil)
		require.NoError(t, err)
		useEverything(t, client)
		require.NoError(t, client.Close(t.Context()))
		require.NoError(t, b.Close())
		require.Empty(t, r.faults)
		for name, keys := range declaredKeys(t) {
			require.Len(t, r.touched[name], keys, "%s: which of its keys were touched", name)
		}
	})
}

// useEverything makes the client run each of its scripts, through all of their branches that touch
// a key.
func useEverything(t *testing.T, client *primitives.Client) {
	t.Helper()
	useLock(t, client)
	useSemaphore(t, client)
	useLatch(t, client)
	useNumbers(t, client)
}

// useSemaphore uses what all numbers have, too.
func useSemaphore(t *testing.T, client *primitives.Client) {
	t.Helper()
	ctx := t.Context()
	s := client.NewSemaphore("declared:semaphore", nil)
	_, setErr := s.TrySetPermits(ctx, 3)
	_, freeErr := s.AvailablePermits(ctx)
	_, expireErr := s.Expire(ctx, time.Hour)
	_, leftErr := s.RemainingLife(ctx)
	_, persistErr := s.Persist(ctx)
	_, existsErr := s.Exists(ctx)
	acquireErr, releaseErr := s.Acquire(ctx, 1), s.Release(ctx, 1)
	_, drainErr := s.DrainPermits(ctx)
	_, atErr := s.ExpireAt(ctx, time.Now().Add(time.Hour))
	_, deleteErr := s.Delete(ctx)
	for _, err := range []error{
		setErr, freeErr, expireErr, leftErr, persistErr, existsErr, acquireErr, releaseErr, drainErr,
		atErr, deleteErr,
	} {
		require.NoError(t, err)
	}
}

func useLatch(t *testing.T, client *primitives.Client) {
	t.Helper()
	ctx := t.Context()
	l := client.NewCountDownLatch("declared:latch")
	for range 2 {
		_, err := l.TrySetCount(ctx, 1)
		require.NoError(t, err)
		_, err = l.Count(ctx)
		require.NoError(t, err)
		_, err = l.CountDown(ctx)
		require.NoError(t, err)
	}
	_, err := l.TrySetCount(ctx, 2)
	require.NoError(t, err)
	_, err = l.CountDown(ctx)
	require.NoError(t, err)
	_, err = l.Delete(ctx)
	require.NoError(t, err)
}

func useNumbers(t *testing.T, client *primitives.Client) {
	t.Helper()
	ctx := t.Context()
	long, double := client.NewAtomicLong("declared:long"), client.NewAtomicDouble("declared:double")
	var errs [16]error
	_, errs[0] = long.Load(ctx)
	errs[1] = long.Store(ctx, 1)
	_, errs[2] = long.Add(ctx, 1)
	_, errs[3] = long.CompareAndSwap(ctx, 2, 3)
	_, errs[4] = long.StoreIfLess(ctx, 4, 5)
	_, errs[5] = long.StoreIfGreater(ctx, 4, 6)
	_, errs[6] = long.Swap(ctx, 1)
	_, errs[7] = long.LoadAndDelete(ctx)
	_, errs[8] = double.Load(ctx)
	errs[9] = double.Store(ctx, 1)
	_, errs[10] = double.Add(ctx, 1)
	_, errs[11] = double.CompareAndSwap(ctx, 2, 3)
	_, errs[12] = double.StoreIfLess(ctx, 4, 5)
	_, errs[13] = double.StoreIfGreater(ctx, 4, 6)
	_, errs[14] = double.Swap(ctx, 1)
	_, errs[15] = double.LoadAndDelete(ctx)
	for i, err := range errs {
		require.NoError(t, err, "call %d", i)
	}
}

func useLock(t *testing.T, client *primitives.Client) {
	t.Helper()
	ctx := t.Context()
	lock := client.NewLock("declared", nil)
	for range 2 { // the second token is compared with the first
		lease, err := lock.TryLock(ctx)
		require.NoError(t, err)
		_, err = lock.TryLock(ctx)
		require.Error(t, err)
		_, err = lock.IsHeldBy(ctx, lease.Owner())
		require.NoError(t, err)
		_, err = lock.HoldCount(ctx, lease.Owner())
		require.NoError(t, err)
		time.Sleep(15 * time.Second) // virtual: the watchdog renews
		require.NoError(t, lease.Unlock(ctx))
	}
	_, err := lock.TryLock(ctx)
	require.NoError(t, err)
	_, err = lock.IsLocked(ctx)
	require.NoError(t, err)
	_, err = lock.Remaining(ctx)
	require.NoError(t, err)
	freed, err := lock.ForceUnlock(ctx)
	require.NoError(t, err)
	require.True(t, freed)
	for i := range 2 {
		go func() { _, _ = client.NewLock(fmt.Sprint(lostReply, i), nil).TryLock(ctx) }()
	}
	time.Sleep(time.Second) // virtual: both are given back together
}
