package repro

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// TestLeaseContextsDoNotPileUp makes a context for each job of a leader that leads for long, under
// parents that end no sooner than it does. It has the heap for itself: it is not parallel.
func TestLeaseContextsDoNotPileUp(t *testing.T) {
	_, c := inProcess(t, nil)
	lease, err := c.NewLock("leader", nil).Lock(t.Context())
	require.NoError(t, err)
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
