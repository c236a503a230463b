package primitives_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// revocable is a lock whose hold can be revoked.
type revocable interface {
	Lock(ctx context.Context) (*primitives.Lease, error)
	ForceUnlock(ctx context.Context) (bool, error)
	Revoke(ctx context.Context, owner string) (time.Duration, error)
}

// revocables are the locks, and the commands by which another program holds each without an expiry. A reader has none.
var revocables = map[string][]string{
	"ReadLock": nil, "WriteLock": {"HSET", "x", "mode", "write", alienOwner + ":write", "2"}, "Mutex": {"SET", "hasp_mutex:{x}", alienOwner},
	"Lock": alienHash, "FencedLock": alienHash, "SpinLock": alienHash, "FairLock": alienHash,
	"PlainLock": {"SET", "x", alienOwner},
}

const alienOwner = "5f0c2a9e-0000-4000-8000-00000000000a:77"

// alienHash is the hash of an owner in Java that has acquired the lock twice.
var alienHash = []string{"HSET", "x", alienOwner, "2"}

// TestRevoke: the holder has lost the lock before the waiter gets it, at the end of the lease and no later.
func TestRevoke(t *testing.T) {
	t.Parallel()
	for kind := range revocables {
		subtest(t, kind, func(t *testing.T, s *server) {
			of := func(kind string) revocable { return construct(t, s.client(t, nil), kind, "x", nil).(revocable) }
			holder, waiter, by := of(kind), of(strings.Replace(kind, "Read", "Write", 1)), of(kind)
			requireRevoked(t, by, "", 0)
			lost := must(holder.Lock(t.Context()))(t)
			next := make(chan *primitives.Lease)
			go func() {
				lease, err := waiter.Lock(t.Context())
				if err == nil {
					err = lost.Err()
				}
				require.ErrorIs(t, err, primitives.ErrLost)
				next <- lease
			}()
			time.Sleep(4 * time.Second)
			requireRevoked(t, by, "nobody", 0)
			requireRevoked(t, by, lost.Owner(), 26*time.Second)
			time.Sleep(time.Second)
			requireRevoked(t, by, "", 25*time.Second)
			require.NoError(t, lost.Err(), "it does not know yet")
			requireShownRevoked(t, by)
			begin := time.Now()
			lease := <-next
			end := begin.Add(25 * time.Second)
			require.WithinRange(t, time.Now(), end.Add(-time.Millisecond), end.Add(time.Second), "the server counts whole milliseconds")
			require.ErrorIs(t, lost.Release(t.Context()), primitives.ErrNotHeld)
			require.NoError(t, lease.Release(t.Context()))
		})
	}
}

// requireShownRevoked: Holder says that there is none, though the lock is held.
func requireShownRevoked(t *testing.T, l revocable) {
	t.Helper()
	if l, is := l.(interface {
		Holder(ctx context.Context) (primitives.Holder, error)
	}); is {
		require.Equal(t, primitives.Holder{Owner: revokedOwner, Revoked: true}, must(l.Holder(t.Context()))(t))
	}
}

const revokedOwner = "00000000-0000-0000-0000-000000000000:0"

func requireRevoked(t *testing.T, l revocable, owner string, want time.Duration) {
	t.Helper()
	require.Equal(t, want, must(l.Revoke(t.Context(), owner))(t))
}

// TestRevokeReaders: other readers keep the lock, and a writer gets it after the last lease of those that were revoked.
func TestRevokeReaders(t *testing.T) {
	served(t, func(t *testing.T, _ *server, c *primitives.Client) {
		l, short := c.NewReadWriteLock("x", nil), c.NewReadWriteLock("x", &primitives.ReadWriteLockOptions{Lease: 5 * time.Second})
		first, second, other := readLease(t, l), readLease(t, short), readLease(t, l)
		requireRevoked(t, l.ReadLock(), first.Owner(), 30*time.Second)
		time.Sleep(time.Second)
		requireRevoked(t, l.ReadLock(), second.Owner(), 29*time.Second)
		requireReaders(t, l, 2)
		requireRevoked(t, l.WriteLock(), "", 0)
		time.Sleep(12 * time.Second) // the watchdog has renewed
		require.ErrorIs(t, first.Err(), primitives.ErrLost)
		require.ErrorIs(t, second.Err(), primitives.ErrLost)
		require.NoError(t, other.Err())
		requireRevoked(t, l.ReadLock(), first.Owner(), 17*time.Second)
		requireReaders(t, l, 2)
		require.NoError(t, other.Release(t.Context()))
		begin := time.Now()
		lease := must(l.WriteLock().Lock(t.Context()))(t)
		require.WithinRange(t, time.Now(), begin.Add(17*time.Second), begin.Add(18*time.Second))
		requireReaders(t, l, 0)
		require.NoError(t, lease.Release(t.Context()))
	})
}

// TestRevokeAllReaders: the writer waits for the reader whose lease ends last.
func TestRevokeAllReaders(t *testing.T) {
	served(t, func(t *testing.T, _ *server, c *primitives.Client) {
		l := c.NewReadWriteLock("x", nil)
		readLease(t, l)
		readLease(t, c.NewReadWriteLock("x", &primitives.ReadWriteLockOptions{Lease: 5 * time.Second}))
		requireRevoked(t, l.ReadLock(), "", 30*time.Second)
		requireReaders(t, l, 1)
		begin := time.Now()
		lease := must(l.WriteLock().Lock(t.Context()))(t)
		require.WithinRange(t, time.Now(), begin.Add(30*time.Second), begin.Add(31*time.Second))
		require.NoError(t, lease.Release(t.Context()))
	})
}

func readLease(t *testing.T, l *primitives.ReadWriteLock) *primitives.Lease {
	t.Helper()
	return must(l.ReadLock().TryLock(t.Context()))(t)
}

func requireReaders(t *testing.T, l *primitives.ReadWriteLock, want int) {
	t.Helper()
	require.Equal(t, want, must(l.ReadLock().Holders(t.Context()))(t))
}

// TestRevokeLeavesReadWriteLocks: their holds have other keys.
func TestRevokeLeavesReadWriteLocks(t *testing.T) {
	served(t, func(t *testing.T, _ *server, c *primitives.Client) {
		lease := must(c.NewReadWriteLock("x", nil).WriteLock().TryLock(t.Context()))(t)
		require.ErrorIs(t, errOf(c.NewLock("x", nil).Revoke(t.Context(), "")), primitives.ErrConflict)
		require.NoError(t, lease.Release(t.Context()))
	})
}

// TestTakenAtOnce: the waiter has the lock at once, and the holder's loss names the new one at the next renewal; at once
// if its client listens for a waiter of its own, and a message says so.
func TestTakenAtOnce(t *testing.T) {
	t.Parallel()
	for name := range revocables {
		for how := range 4 {
			own, byName := how&1 > 0, how&2 > 0 // The waiter is of the holder's client, and ReleaseOwner takes the lock.
			if name == "SpinLock" && byName {
				continue // It has no ReleaseOwner.
			}
			subtest(t, fmt.Sprintf("%s own %t by name %t", name, own, byName), func(t *testing.T, s *server) {
				c, other := s.client(t, nil), s.client(t, nil)
				if own {
					other = c
				}
				of := func(c *primitives.Client, kind string) revocable { return construct(t, c, kind, "x", nil).(revocable) }
				holder, waiter, l := of(c, name), of(other, strings.Replace(name, "Read", "Write", 1)), of(s.client(t, nil), name)
				takes := func(want bool, owner string) {
					t.Helper()
					take := func(ctx context.Context, _ string) (bool, error) { return l.ForceUnlock(ctx) }
					if byName {
						take = l.(interface {
							ReleaseOwner(ctx context.Context, owner string) (bool, error)
						}).ReleaseOwner
						require.ErrorAs(t, errOf(take(t.Context(), "")), new(*primitives.FieldError))
						require.False(t, must(take(t.Context(), "nobody"))(t))
					}
					require.Equal(t, want, must(take(t.Context(), owner))(t))
				}
				takes(false, another)
				lost := must(holder.Lock(t.Context()))(t)
				next := leased(t.Context(), waiter.Lock)
				time.Sleep(4 * time.Second)
				takes(true, lost.Owner())
				begin := time.Now()
				lease := <-next
				if name != "SpinLock" { // It asks in pauses.
					require.Less(t, time.Since(begin), 10*time.Millisecond)
				}
				<-lost.Done()
				told := own && !byName && name != "FairLock" && name != "SpinLock"
				require.Equal(t, told, time.Since(begin) < 100*time.Millisecond)
				require.LessOrEqual(t, time.Since(begin), 10*time.Second)
				want := primitives.LossError{Reason: primitives.LossTaken, Holder: lease.Owner()}
				if name == "ReadLock" {
					want = primitives.LossError{Reason: primitives.LossGone}
				}
				require.Equal(t, &want, lost.Err())
				require.ErrorIs(t, lost.Release(t.Context()), primitives.ErrNotHeld)
				time.Sleep(time.Minute)
				require.NoError(t, lease.Release(t.Context()))
				takes(false, lease.Owner())
			})
		}
	}
}

// TestReleaseOwnerLeavesOtherReaders: they hold the lock together.
func TestReleaseOwnerLeavesOtherReaders(t *testing.T) {
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		l := c.NewReadWriteLock("x", nil)
		first := must(l.ReadLock().TryLock(t.Context()))(t)
		second := must(l.ReadLock().TryLock(t.Context()))(t)
		require.True(t, must(l.ReadLock().ReleaseOwner(t.Context(), first.Owner()))(t))
		require.False(t, must(l.WriteLock().ReleaseOwner(t.Context(), second.Owner()))(t))
		require.ErrorIs(t, errOf(s.client(t, nil).NewReadWriteLock("x", nil).WriteLock().TryLock(t.Context())), primitives.ErrNotAcquired)
		require.NoError(t, second.Release(t.Context()))
	})
}
