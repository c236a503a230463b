// Package repro keeps the programs by which others showed defects of hasp. Each asserts that the fault
// that it makes did occur, and the bound that hasp now keeps.
package repro

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// client returns a client of the server at addr, by the driver whose adapter matters least.
func client(t *testing.T, addr string) *primitives.Client {
	t.Helper()
	return cells.Named("GoRedis").Primitives(t, cells.At(addr), nil)
}

// inProcess returns a server within the process, and a client of it.
func inProcess(t *testing.T, opts *primitives.Options) (*embedded.Server, *primitives.Client) {
	t.Helper()
	server := embedded.NewServer()
	return server, cells.Over(t, backendOf(t, server), opts)
}

func backendOf(t *testing.T, server *embedded.Server) backend.Backend {
	t.Helper()
	return cells.Got(embedded.New(server, nil))(t)
}

// runner is a good backend within the process until its Instead is another than Good.
func runner(t *testing.T) *cells.Runner {
	t.Helper()
	r := &cells.Runner{Backend: backendOf(t, embedded.NewServer())}
	r.Instead = r.Good
	return r
}

// lock takes a lock.
func lock(t *testing.T, c *primitives.Client, name string) *primitives.Lease {
	t.Helper()
	return cells.Got(c.NewLock(name, nil).Lock(t.Context()))(t)
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

// TestTokenOutlivesAClockSetBack has a token that is ahead of the server's clock, as after a step
// back: it is kept until the clock has passed it by TokenTTL. Else tokens would fall.
func TestTokenOutlivesAClockSetBack(t *testing.T) {
	cells.Bubble(t, func(t *testing.T) {
		const key, back = "redisson_lock_token:{x}", 5 * time.Hour
		server, c := inProcess(t, &primitives.Options{TokenTTL: time.Minute})
		before := time.Now().Add(back).UnixMicro()
		cells.Text(t, server, "SET", key, fmt.Sprint(before))
		lease := lock(t, c, "x")
		require.Equal(t, before+1, lease.Token())
		require.NoError(t, lease.Release(t.Context()))
		require.InDelta(t, (back + time.Minute).Milliseconds(), cells.Number(t, server, "PTTL", key), 1)
		server.Advance(back + time.Minute - time.Millisecond)
		require.Greater(t, lock(t, c, "x").Token(), before+1)
	})
}
