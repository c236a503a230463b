package repro

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// lockOfHash is what all locks have in common that are hashes at the name.
type lockOfHash interface {
	TryLock(ctx context.Context) (*primitives.Lease, error)
	ForceUnlock(ctx context.Context) (bool, error)
	IsLocked(ctx context.Context) (bool, error)
}

// TestForeignHashIsAConflict has another program's hash at a lock's name, of one field or of several, of which one looks
// like a count of holds: no lock takes it for its own, waits for it, or deletes it.
func TestForeignHashIsAConflict(t *testing.T) {
	t.Parallel()
	for _, kind := range []servers.Kind{servers.Redis, servers.Valkey} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, kind, nil)
			c := cells.Named("GoRedis").Primitives(t, cells.At(s.Addr()), nil)
			rw := c.NewReadWriteLock("x", nil)
			all := map[string]lockOfHash{
				"Lock": c.NewLock("x", nil), "FencedLock": c.NewFencedLock("x", nil), "SpinLock": c.NewSpinLock("x", nil),
				"FairLock": c.NewFairLock("x", nil), "ReadLock": rw.ReadLock(), "WriteLock": rw.WriteLock(),
			}
			for _, fields := range [][]string{{"name", "bob"}, {"name", "bob", "visits", "9000000000000"}, {"mode", "dark"}} {
				do(t, s, "DEL", "x")
				do(t, s, append([]string{"HSET", "x"}, fields...)...)
				for name, lock := range all {
					_, err := lock.TryLock(t.Context())
					require.ErrorIs(t, err, primitives.ErrConflict, name)
					require.ErrorContains(t, err, "holds a hash", name)
					_, err = lock.IsLocked(t.Context())
					require.ErrorIs(t, err, primitives.ErrConflict, name)
					_, err = lock.ForceUnlock(t.Context())
					require.ErrorIs(t, err, primitives.ErrConflict, name)
				}
				require.Equal(t, fields[1], do(t, s, "HGET", "x", fields[0]))
			}
		})
	}
}
