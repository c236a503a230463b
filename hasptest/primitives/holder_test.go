package primitives_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// TestHolder asks for the holder of what the watchdog renews, before, during and after the hold: its owner, and of a lock
// with metadata more.
func TestHolder(t *testing.T) {
	t.Parallel()
	text := "nightly\n" + strings.Repeat("m", 1016) // It is as long as it may be.
	for _, kind := range strings.Fields("Lock FencedLock SpinLock FairLock Mutex PlainLock WriteLock PeriodicJob") {
		subtest(t, kind, func(t *testing.T, s *server) {
			mine, described, held := s.client(t, &primitives.Options{IDPrefix: "pod-1"}), kind == "Lock" || kind == "FencedLock", false
			asked := construct(t, s.client(t, nil), kind, "x", nil).(interface {
				Holder(ctx context.Context) (primitives.Holder, error)
			})
			require.ErrorIs(t, errOf(asked.Holder(t.Context())), primitives.ErrNotHeld)
			hold(t, construct(t, mine, kind, "x", settings{"Metadata": text}), func(lease *primitives.Lease) {
				want := primitives.Holder{Owner: lease.Owner()}
				if described {
					want.Host, want.PID, want.Metadata, want.Since = must(os.Hostname())(t), os.Getpid(), text, time.Now()
				}
				time.Sleep(10 * time.Minute)
				got := must(asked.Holder(t.Context()))(t)
				require.Equal(t, want.Since.UnixMicro(), got.Since.UnixMicro())
				want.Since, got.Since, held = time.Time{}, time.Time{}, true
				require.Equal(t, want, got)
				require.True(t, strings.HasPrefix(got.Owner, "pod-1-"))
			})
			require.True(t, held)
			require.ErrorIs(t, errOf(asked.Holder(t.Context())), primitives.ErrNotHeld)
			require.Empty(t, s.do("GET", "hasp_lock_holder:{x}"))
			require.True(t, !described || s.called("lock_acquire")+s.called("lock_renew")+s.called("lock_release") == 0)
			s.hold("java", another, time.Minute)
			require.Equal(t, primitives.Holder{Owner: another}, must(s.client(t, nil).NewFairLock("java", nil).Holder(t.Context()))(t))
		})
	}
}

// TestHoldersOfAReadWriteLock has readers, of which one crashes, and then a writer that reads, too.
func TestHoldersOfAReadWriteLock(t *testing.T) {
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		lock, plain := c.NewReadWriteLock("x", nil), c.NewLock("x", nil)
		holders := func(writer string, readers int) {
			t.Helper()
			holder, err := lock.WriteLock().Holder(t.Context())
			require.Equal(t, writer, holder.Owner)
			require.Equal(t, writer == "", errors.Is(err, primitives.ErrNotHeld))
			require.Equal(t, readers, must(lock.ReadLock().Holders(t.Context()))(t))
		}
		holders("", 0)
		first := must(lock.ReadLock().Lock(t.Context()))(t)
		second := must(lock.ReadLock().Lock(t.Context()))(t)
		s.do("HSET", "x", another, "1") // Its lease has ended.
		holders("", 2)
		require.NoError(t, second.Release(t.Context()))
		s.do("HSET", "x", another, "1")
		holders("", 1)
		holder, err := plain.Holder(t.Context())
		require.NoError(t, err, "a lock of the same name is held by a reader")
		require.Contains(t, s.do("HKEYS", "x"), holder.Owner)
		require.NoError(t, first.Release(t.Context()))
		holders("", 0)

		writer := must(lock.WriteLock().Lock(t.Context()))(t)
		holders(writer.Owner(), 0)
		reader := must(lock.ReadLock().Lock(writer.Reenter(t.Context())))(t)
		holders(writer.Owner(), 1)
		holder = must(plain.Holder(t.Context()))(t)
		require.Equal(t, writer.Owner(), holder.Owner)
		require.NoError(t, writer.Release(t.Context()))
		holders("", 1)
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

// TestIDPrefix: the owners of all kinds begin with the longest id of a client.
func TestIDPrefix(t *testing.T) {
	served(t, func(t *testing.T, s *server, other *primitives.Client) {
		prefix, owners := strings.Repeat("Pod.1_a-", 8), 0
		mine := s.client(t, &primitives.Options{IDPrefix: prefix})
		require.Regexp(t, "^"+regexp.QuoteMeta(prefix)+"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", mine.ID())
		require.NotContains(t, mine.ID(), other.ID())
		for kind := range constructed(t) {
			hold(t, construct(t, mine, kind, "app:"+kind, nil), func(lease *primitives.Lease) {
				switch kind {
				case "MultiLock", "RedLock":
					require.Empty(t, lease.Owner())
				case "PermitSemaphore": // Its owners are ids of permits.
				default:
					require.Regexp(t, "^"+regexp.QuoteMeta(mine.ID())+"[.:]", lease.Owner(), kind)
					owners++
				}
			})
		}
		require.Greater(t, owners, 8)
	})
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
