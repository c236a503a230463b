package primitives_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// exclusive is a lock that returns its holder.
type exclusive interface {
	primitives.Locker
	Holder(ctx context.Context) (primitives.Holder, error)
}

// TestHolder asks for the holder of a lock that the watchdog renews, before, during and after the hold.
func TestHolder(t *testing.T) {
	t.Parallel()
	host := must(os.Hostname())(t)
	for _, kind := range []string{"Lock", "FencedLock"} {
		subtest(t, kind, func(t *testing.T, s *server) {
			o, c := &primitives.LockOptions{Metadata: "nightly\nexport"}, s.client(t, nil)
			mine := map[string]exclusive{"Lock": c.NewLock("x", o), "FencedLock": c.NewFencedLock("x", o)}[kind]
			asked := construct(t, s.client(t, nil), kind, "x", nil).(exclusive)
			require.ErrorIs(t, errOf(asked.Holder(t.Context())), primitives.ErrNotHeld)
			lease := must(mine.Lock(t.Context()))(t)
			want := primitives.Holder{
				Owner: lease.Owner(), Host: host, PID: os.Getpid(), Metadata: "nightly\nexport", Since: time.Now(),
			}
			time.Sleep(10 * time.Minute)
			got := must(asked.Holder(t.Context()))(t)
			require.Equal(t, want.Since.UnixMicro(), got.Since.UnixMicro())
			want.Since, got.Since = time.Time{}, time.Time{}
			require.Equal(t, want, got)
			require.NoError(t, lease.Release(t.Context()))
			require.ErrorIs(t, errOf(asked.Holder(t.Context())), primitives.ErrNotHeld)
			require.Empty(t, s.do("GET", "hasp_lock_holder:{x}"))
			require.Zero(t, s.called("lock_acquire")+s.called("lock_renew")+s.called("lock_release"))
		})
	}
}

// TestHolderOfOtherKinds asks for the owner of a hold, before, during and after it.
func TestHolderOfOtherKinds(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		mine, asked := s.client(t, &primitives.Options{IDPrefix: "pod-1"}), s.client(t, nil)
		for _, kind := range []string{"SpinLock", "FairLock", "Mutex", "PlainLock", "PeriodicJob", "ReadWriteLock"} {
			object, other := construct(t, mine, kind, "app:"+kind, nil), construct(t, asked, kind, "app:"+kind, nil)
			if lock, is := other.(*primitives.ReadWriteLock); is {
				other = lock.WriteLock()
			}
			owner := func() string {
				holder, err := other.(interface {
					Holder(ctx context.Context) (primitives.Holder, error)
				}).Holder(t.Context())
				if holder.Owner == "" {
					require.ErrorIs(t, err, primitives.ErrNotHeld, kind)
				} else {
					require.NoError(t, err, kind)
				}
				require.Equal(t, primitives.Holder{Owner: holder.Owner}, holder)
				return holder.Owner
			}
			require.Empty(t, owner(), kind)
			held := false
			hold(t, object, func(lease *primitives.Lease) {
				held = true
				require.Equal(t, lease.Owner(), owner(), kind)
				require.True(t, strings.HasPrefix(owner(), "pod-1-"), kind)
			})
			require.True(t, held, kind)
			require.Empty(t, owner(), kind)
		}
		s.hold("java", another, time.Minute)
		holder := must(asked.NewFairLock("java", nil).Holder(t.Context()))(t)
		require.Equal(t, primitives.Holder{Owner: another}, holder)
	})
}

// TestHoldersOfAReadWriteLock has readers, of which one crashes, and then a writer that reads, too.
func TestHoldersOfAReadWriteLock(t *testing.T) {
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		lock, plain := c.NewReadWriteLock("x", nil), c.NewLock("x", nil)
		holders := func() (writer string, readers int) {
			holder, err := lock.WriteLock().Holder(t.Context())
			require.Equal(t, holder.Owner == "", errors.Is(err, primitives.ErrNotHeld))
			readers = must(lock.ReadLock().Holders(t.Context()))(t)
			return holder.Owner, readers
		}
		require.Equal(t, []any{"", 0}, pair(holders()))
		first := must(lock.ReadLock().Lock(t.Context()))(t)
		second := must(lock.ReadLock().Lock(t.Context()))(t)
		s.do("HSET", "x", another, "1") // Its lease has ended.
		require.Equal(t, []any{"", 2}, pair(holders()))
		require.NoError(t, second.Release(t.Context()))
		s.do("HSET", "x", another, "1")
		require.Equal(t, []any{"", 1}, pair(holders()))
		holder, err := plain.Holder(t.Context())
		require.NoError(t, err, "a lock of the same name is held by a reader")
		require.Contains(t, s.do("HKEYS", "x"), holder.Owner)
		require.NoError(t, first.Release(t.Context()))
		require.Equal(t, []any{"", 0}, pair(holders()))

		writer := must(lock.WriteLock().Lock(t.Context()))(t)
		require.Equal(t, []any{writer.Owner(), 0}, pair(holders()))
		reader := must(lock.ReadLock().Lock(writer.Reenter(t.Context())))(t)
		require.Equal(t, []any{writer.Owner(), 1}, pair(holders()))
		holder = must(plain.Holder(t.Context()))(t)
		require.Equal(t, writer.Owner(), holder.Owner)
		require.NoError(t, writer.Release(t.Context()))
		require.Equal(t, []any{"", 1}, pair(holders()))
		require.NoError(t, reader.Release(t.Context()))
	})
}

// TestHolderByFields has hashes whose fields come in another order than the writer, the readers and the mode.
func TestHolderByFields(t *testing.T) {
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		const pods = "pod-" + another
		for _, h := range []struct {
			fields        []string
			writer, owner string
		}{
			{[]string{"mode", "read", pods, "1"}, "", pods},
			{[]string{"mode", "write", another, "1", pods + ":write", "1"}, pods, pods},
			{[]string{"mode", "write", another + ":write", "1", pods, "1"}, another, another},
		} {
			s.do("DEL", "x")
			s.do(append([]string{"HSET", "x"}, h.fields...)...)
			holder, _ := c.NewReadWriteLock("x", nil).WriteLock().Holder(t.Context())
			require.Equal(t, h.writer, holder.Owner)
			holder, _ = c.NewLock("x", nil).Holder(t.Context())
			require.Equal(t, h.owner, holder.Owner)
		}
	})
}

// pair returns two results as one.
func pair(writer string, readers int) []any { return []any{writer, readers} }

// TestIDPrefix: the owners of all kinds begin with the longest id of a client, exclude other clients, and are
// followed by a waiter without a poll.
func TestIDPrefix(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		prefix := strings.Repeat("Pod.1_a-", 8)
		o := &primitives.Options{IDPrefix: prefix, PollInterval: time.Hour}
		mine, other := s.client(t, o), s.client(t, o)
		require.Regexp(t, "^"+regexp.QuoteMeta(prefix)+"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", mine.ID())
		require.NotEqual(t, mine.ID(), other.ID())
		owners := map[string]string{}
		for kind := range constructed(t) {
			object, waits := construct(t, mine, kind, "app:"+kind, nil), construct(t, other, kind, "app:"+kind, nil)
			waited := make(chan error, 1)
			hold(t, object, func(lease *primitives.Lease) {
				owners[kind] = lease.Owner()
				if kind != "SpinLock" { // It only polls.
					go func() { waited <- followed(t, waits) }()
					synctest.Wait()
				}
			})
			if _, has := owners[kind]; has && kind != "SpinLock" {
				time.Sleep(time.Minute)
				synctest.Wait()
				require.Len(t, waited, 1, kind)
				require.NoError(t, <-waited, kind)
			}
		}
		delete(owners, "PermitSemaphore") // Its owners are ids of permits.
		for _, ofSeveral := range []string{"MultiLock", "RedLock"} {
			require.Empty(t, owners[ofSeveral])
			delete(owners, ofSeveral)
		}
		require.Greater(t, len(owners), 8)
		for kind, owner := range owners {
			require.True(t, strings.HasPrefix(owner, mine.ID()+":") || strings.HasPrefix(owner, mine.ID()+"."),
				"%s: %s", kind, owner)
		}
	})
}

// followed has the object of a client that waits for another: a try is refused, unless the object is of several.
func followed(t *testing.T, object any) error {
	t.Helper()
	if both, has := object.(*primitives.ReadWriteLock); has {
		object = both.ReadLock()
	}
	locker, exclusive := object.(primitives.Locker)
	if !exclusive {
		return nil
	}
	require.ErrorIs(t, errOf(locker.TryLock(t.Context())), primitives.ErrNotAcquired)
	lease, err := locker.Lock(t.Context())
	if err == nil {
		err = lease.Release(t.Context())
	}
	return err
}

// TestHolderWithoutMetadata has a holder that stores nothing, after another that lost the lock: nothing of the other
// is shown, and nothing more than the lock is sent.
func TestHolderWithoutMetadata(t *testing.T) {
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		lost := must(c.NewLock("x", &primitives.LockOptions{Metadata: "first", Lease: time.Hour}).Lock(t.Context()))(t)
		plain := c.NewLock("x", nil)
		require.NoError(t, errOf(plain.ForceUnlock(t.Context())))
		require.Contains(t, first(s.do("GET", "hasp_lock_holder:{x}")), "first", "ForceUnlock leaves it")
		s.set(func() { clear(s.calls) })
		lease := must(plain.Lock(t.Context()))(t)
		s.set(func() { require.Equal(t, map[string]int{"lock_acquire": 1}, s.calls) })
		holder := must(plain.Holder(t.Context()))(t)
		require.Equal(t, primitives.Holder{Owner: lease.Owner()}, holder)
		require.ErrorIs(t, lost.Release(t.Context()), primitives.ErrNotHeld)
		holder = must(plain.Holder(t.Context()))(t)
		require.Equal(t, lease.Owner(), holder.Owner)
		require.NoError(t, lease.Release(t.Context()))
	})
}

// TestHolderOfALockThatWasWaitedFor: the waiter's grant is described and published, and the releases wake waiters.
func TestHolderOfALockThatWasWaitedFor(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		var grants []string
		_, err := s.Subscribe(t.Context(), "hasp_lock_holder_ch:{x}", func(e backend.Event) {
			s.set(func() { grants = append(grants, e.Payload) })
		})
		require.NoError(t, err)
		o := &primitives.Options{PollInterval: time.Hour}
		first := must(s.client(t, o).NewLock("x", &primitives.LockOptions{Metadata: "first"}).Lock(t.Context()))(t)
		second := s.client(t, o).NewLock("x", &primitives.LockOptions{Metadata: "second"})
		waited := leased(t.Context(), second.Lock)
		time.Sleep(time.Second)
		require.NoError(t, first.Release(t.Context()))
		lease := <-waited
		require.NotNil(t, lease)
		require.Equal(t, "second", must(second.Holder(t.Context()))(t).Metadata)
		time.Sleep(time.Second)
		s.set(func() { require.Equal(t, []string{first.Owner(), lease.Owner()}, grants) })
		require.NoError(t, lease.Release(t.Context()))
	})
}

// TestDescribedLocksAreReleasedTogether after their answers were lost.
func TestDescribedLocksAreReleasedTogether(t *testing.T) {
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		s.faultOf("holder_acquire", fault{broken: true})
		for _, name := range []string{"x", "y", "z"} {
			go func() { _, _ = c.NewLock(name, &primitives.LockOptions{Metadata: "lost"}).TryLock(t.Context()) }()
		}
		time.Sleep(time.Second)
		for _, name := range []string{"x", "y", "z"} {
			require.Empty(t, s.holder(name))
			require.Empty(t, s.do("GET", "hasp_lock_holder:{"+name+"}"))
		}
		require.Equal(t, 1, s.called("holder_release_all"))
	})
}

// TestHolderOfOtherTexts: what no grant has stored is not shown.
func TestHolderOfOtherTexts(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		lock := s.client(t, nil).NewLock("x", nil)
		lease := must(lock.Lock(t.Context()))(t)
		for _, text := range []string{
			"", "other\n1\nhost\n1\ntext", "OWNER\nsoon\nhost\n1\ntext", "OWNER\n1\nhost\nmany\ntext", "OWNER\n1\nhost\n1",
		} {
			s.do("SET", "hasp_lock_holder:{x}", strings.Replace(text, "OWNER", lease.Owner(), 1))
			require.Equal(t, primitives.Holder{Owner: lease.Owner()}, must(lock.Holder(t.Context()))(t), text)
		}
		require.NoError(t, lease.Release(t.Context()))
	})
}

// TestMetadataIsBounded to 1 KiB.
func TestMetadataIsBounded(t *testing.T) {
	served(t, func(t *testing.T, _ *server, c *primitives.Client) {
		lease := must(c.NewLock("x", &primitives.LockOptions{Metadata: strings.Repeat("m", 1024)}).Lock(t.Context()))(t)
		require.NoError(t, lease.Release(t.Context()))
		_, err := c.NewLock("x", &primitives.LockOptions{Metadata: strings.Repeat("m", 1025)}).Lock(t.Context())
		require.ErrorAs(t, err, new(*primitives.FieldError))
	})
}
