package primitives_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// TestLeaseKeepsNothingOfItsCall holds a lock, after a call that had it at once and after one that had to wait. What the
// call's context had is collected, and so is what was sent.
func TestLeaseKeepsNothingOfItsCall(t *testing.T) {
	t.Parallel()
	for name, waits := range map[string]bool{"AtOnce": false, "AfterWaiting": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t)
				lock := s.client(t, nil).NewLock("x", nil)
				if waits {
					first, err := lock.Lock(t.Context())
					require.NoError(t, err)
					go func() {
						synctest.Wait()
						_ = first.Release(context.Background())
					}()
				}
				lease, value, sent := lockWithValue(t, s, lock)
				synctest.Wait() // The sender has ended.
				require.NotEmpty(t, sent)
				require.True(t, collected(value), "the context's value is kept")
				for _, word := range sent {
					require.True(t, collected(word), "what was sent is kept")
				}
				require.NoError(t, lease.Err())
				require.NoError(t, lease.Release(t.Context()))
			})
		})
	}
}

// collected reports whether a value is collected. A timer that was stopped, or a stack, may keep one a little longer.
func collected[T any](value weak.Pointer[T]) bool {
	for range 100 {
		if runtime.GC(); value.Value() == nil {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

type valueKey struct{}

// lockWithValue takes a lock under a context that has a large value. It returns what must not be kept.
//
//go:noinline
func lockWithValue(t *testing.T, s *server, lock *primitives.Lock) (
	lease *primitives.Lease, value weak.Pointer[[1 << 20]byte], sent []weak.Pointer[string],
) {
	t.Helper()
	large := new([1 << 20]byte)
	s.set(func() {
		s.seen = func(script string, keys, args []string) {
			if script == "lock_acquire" {
				sent = append(sent, weak.Make(&keys[0]), weak.Make(&args[0]))
			}
		}
	})
	lease, err := lock.Lock(context.WithValue(t.Context(), valueKey{}, large))
	require.NoError(t, err)
	s.set(func() { s.seen = nil })
	return lease, weak.Make(large), sent
}
