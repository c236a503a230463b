package repro

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// TestCopiedLeaseUnlocks releases a lease by a copy, which go vet reports: here it is made past it.
func TestCopiedLeaseUnlocks(t *testing.T) {
	t.Parallel()
	_, c := inProcess(t, nil)
	lock := c.NewLock("x", nil)
	lease, err := lock.Lock(t.Context())
	require.NoError(t, err)
	var job struct{ lease primitives.Lease }
	reflect.ValueOf(&job.lease).Elem().Set(reflect.ValueOf(lease).Elem())
	require.NotSame(t, lease, &job.lease)
	require.Positive(t, job.lease.Remaining())
	require.NoError(t, job.lease.Unlock(t.Context()))
	held, err := lock.IsLocked(t.Context())
	require.NoError(t, err)
	require.False(t, held, "Unlock returned nil, and the lock is held")
	require.ErrorIs(t, lease.Err(), primitives.ErrReleased)
	require.ErrorIs(t, lease.Unlock(t.Context()), primitives.ErrNotHeld)
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
