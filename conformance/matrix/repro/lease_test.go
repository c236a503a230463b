package repro

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// TestLeaseContextsDoNotPileUp makes a context for each job of a leader that leads for long, under
// parents that end no sooner than it does. It has the heap for itself: it is not parallel.
func TestLeaseContextsDoNotPileUp(t *testing.T) {
	_, c := inProcess(t, nil)
	lease := lock(t, c, "leader")
	process, stop := context.WithCancel(t.Context())
	defer stop()
	for name, parent := range map[string]func() context.Context{
		"Background": context.Background,
		"Process":    func() context.Context { return process },
		"Values":     func() context.Context { return context.WithValue(process, job{}, "job") },
		"Slices":     func() context.Context { return uncomparable{Context: process} },
	} {
		t.Run(name, func(t *testing.T) {
			for _, child := range []func(context.Context) context.Context{lease.Context, lease.Reenter} {
				requireNothingKept(t, lease, func() context.Context { return child(parent()) })
			}
		})
	}
}

// job is the key of a value of a context.
type job struct{}

// uncomparable is a context that cannot be the key of a map.
type uncomparable struct {
	context.Context
	_ []string
}

// requireNothingKept fails if the lease keeps what make returns: the smallest context has 48 bytes.
func requireNothingKept(t *testing.T, lease *primitives.Lease, child func() context.Context) {
	t.Helper()
	const n = 100_000
	before := heap()
	for range n {
		require.NoError(t, child().Err())
	}
	kept := (heap() - before) / n
	require.Less(t, kept, int64(8), "bytes for each context")
	require.NoError(t, lease.Err())
}

// heap returns how many bytes of the heap are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // It fits.
}

// TestCopiedLeaseUnlocks releases a lease by a copy, which go vet reports: here it is made past it.
func TestCopiedLeaseUnlocks(t *testing.T) {
	t.Parallel()
	_, c := inProcess(t, nil)
	lease := lock(t, c, "x")
	var job struct{ lease primitives.Lease }
	reflect.ValueOf(&job.lease).Elem().Set(reflect.ValueOf(lease).Elem())
	require.NotSame(t, lease, &job.lease)
	require.Positive(t, job.lease.Remaining())
	require.NoError(t, job.lease.Release(t.Context()))
	held, err := c.NewLock("x", nil).IsLocked(t.Context())
	require.NoError(t, err)
	require.False(t, held, "Release returned nil, and the lock is held")
	require.ErrorIs(t, lease.Err(), primitives.ErrReleased)
	require.ErrorIs(t, lease.Release(t.Context()), primitives.ErrNotHeld)
}

// copying is a program that copies a lease, in the two ways that users do.
const copying = `package copying

import "github.com/hasp-go/hasp/primitives"

type job struct{ lease primitives.Lease }

func hand(lease *primitives.Lease) job { return job{*lease} }

func take(lease primitives.Lease) error { return lease.Err() }
`

func TestVetReportsCopiedLeases(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "copying.go")
	require.NoError(t, os.WriteFile(file, []byte(copying), 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "vet", file).CombinedOutput() //nolint:gosec // Ours.
	require.Error(t, err)
	require.Contains(t, string(out), "copying.go:7:53: literal copies lock value from *lease")
	require.Contains(t, string(out), "copying.go:9:17: take passes lock by value")
}

// TestRecoveredPanicLeavesARenewedLock has a hook of the application's driver panic after a script,
// once, which the application recovers, as net/http does: the lock once was renewed for as long as the
// process lived, and nobody could release it.
func TestRecoveredPanicLeavesARenewedLock(t *testing.T) {
	t.Parallel()
	for _, script := range []string{"acquire", "release"} {
		synctest.Test(t, func(t *testing.T) {
			r := runner(t)
			var panicked atomic.Bool
			r.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
				reply, err := r.Good(ctx, c)
				if strings.Contains(c.Script.Name, script) && panicked.CompareAndSwap(false, true) {
					panic("hook")
				}
				return reply, err
			}
			c := cells.Over(t, r, &primitives.Options{WatchdogLease: 30 * time.Second})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			require.PanicsWithValue(t, "hook", func() { _ = cells.LockUnlock(ctx, c.NewLock("x", nil)) })
			time.Sleep(time.Second)
			lease, err := c.NewLock("x", nil).TryLock(t.Context())
			require.NoError(t, err, "the lock is held, by nobody")
			require.NoError(t, lease.Release(t.Context()))
			require.NoError(t, c.Close(t.Context()))
		})
	}
}
