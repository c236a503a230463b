package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
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
	text, prefix := "nightly\n"+strings.Repeat("m", 1016), strings.Repeat("Pod.1_a-", 8) // They are as long as they may be.
	for _, kind := range strings.Fields("Lock FencedLock SpinLock FairLock Mutex PlainLock WriteLock PeriodicJob") {
		subtest(t, kind, func(t *testing.T, s *server) {
			mine, described, held := s.client(t, &primitives.Options{IDPrefix: prefix}), kind == "Lock" || kind == "FencedLock", false
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
				require.Regexp(t, "^"+regexp.QuoteMeta(prefix)+"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}[.:]", got.Owner)
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

// TestNamesThatShareAChannelWakeEachTheirOwn waits for two locks that Redisson gives one channel:
// the release of either must not be used up by the other's waiter, which would stay in front.
func TestNamesThatShareAChannelWakeEachTheirOwn(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		holder := s.client(t, &primitives.Options{WatchdogLease: time.Hour})
		waiter := s.client(t, &primitives.Options{PollInterval: time.Hour})
		leases, got := map[string]*primitives.Lease{}, map[string]<-chan error{}
		for _, name := range []string{"a", "{a}"} {
			lease := must(holder.NewLock(name, nil).Lock(t.Context()))(t)
			leases[name], got[name] = lease, beside(func() error { return errOf(waiter.NewLock(name, nil).Lock(t.Context())) })
			time.Sleep(time.Second)
		}
		for _, name := range []string{"{a}", "a"} {
			require.NoError(t, leases[name].Release(t.Context()))
			time.Sleep(time.Second)
			require.Len(t, got[name], 1, "not woken: %s", name)
			require.NoError(t, <-got[name])
		}
	})
}

// severalKeys are the kinds that have more than one key, or a channel.
var severalKeys = strings.Fields(`Lock FairLock SpinLock FencedLock Mutex PlainLock ReadLock WriteLock MultiLock RedLock Semaphore
	PermitSemaphore CountingSemaphore CountingSemaphoreByArrival CountDownLatch PartsLatch IDGenerator RateLimiter`)

// tries returns the call that acquires an object, or so many permits of it, without waiting; nil if it has none.
func tries(object any, permits int) lockFunc {
	switch o := object.(type) {
	case *primitives.ReadWriteLock:
		return o.WriteLock().TryLock
	case interface {
		TryLock(ctx context.Context) (*primitives.Lease, error)
	}:
		return o.TryLock
	case interface {
		TryAcquire(ctx context.Context) (*primitives.Lease, error)
	}:
		return o.TryAcquire
	case *primitives.PermitSemaphore:
		return func(ctx context.Context) (*primitives.Lease, error) { return o.TryAcquire(ctx, permits) }
	}
	return nil
}

// acquirer returns the call that acquires an object of a kind and name, and waits for it.
func acquirer(t *testing.T, c *primitives.Client, kind, name string) lockFunc {
	t.Helper()
	return waits(t, construct(t, c, kind, name, nil))
}

// TestPermissionsAreCheckedOnce: by the first acquire of a kind, also those of its release.
func TestPermissionsAreCheckedOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range append(lockers, "CountingSemaphore", "PermitSemaphore", "PeriodicJob", "Election") {
		subtest(t, kind, func(t *testing.T, s *server) {
			asked := ""
			s.seen = func(script string, _, args []string) {
				text := must(os.ReadFile("../../primitives/internal/script/" + script + ".lua"))(t)
				for i, name := range regexp.MustCompile(`(?m)^---@(?:arg|command|channel) (\w+)`).FindAllSubmatch(text, -1) {
					if string(name[1]) == "asks" {
						asked += args[i]
					}
				}
			}
			c := s.client(t, nil)
			object := construct(t, c, kind, "app:x", nil)
			for range 2 {
				hold(t, object, func(*primitives.Lease) {})
			}
			require.Regexp(t, map[bool]string{true: "^10+$", false: "^$"}[kind != "PlainLock"], asked)
		})
	}
}

// TestNamesOfKeys: a read lock's are Redisson's, a counting semaphore's those of docs/internals/design.md. The last is the
// channel.
func TestNamesOfKeys(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"ReadLock x":                      {"p:x", "{p:x}", "redisson_lock_token:{p:x}", "redisson_rwlock:{p:x}"},
		"ReadLock {a}b":                   {"p:{a}b", "p:{a}b", "redisson_lock_token:p:{a}b", "redisson_rwlock:p:{a}b"},
		"CountingSemaphoreByArrival x":    {"p:x", "{p:x}:owner", "{p:x}:counter", "hasp_semaphore:{p:x}"},
		"CountingSemaphoreByArrival {a}b": {"p:{a}b", "p:{a}b:owner", "p:{a}b:counter", "hasp_semaphore:p:{a}b"},
	} {
		subtest(t, name, func(t *testing.T, s *server) {
			var keys, channels []string
			s.seen = func(script string, k, args []string) {
				if strings.HasSuffix(script, "_acquire") {
					keys = k
				}
				channels = append(channels, args...)
			}
			kind, name, _ := strings.Cut(name, " ")
			lease := must(acquirer(t, s.client(t, &primitives.Options{KeyPrefix: "p:"}), kind, name)(t.Context()))(t)
			require.NoError(t, lease.Release(t.Context()))
			require.Equal(t, want[:3], keys[:3])
			require.Contains(t, channels, want[3])
		})
	}
}

// callAll calls each method of an object, or the only ones, that takes a context and returns an error, with some argument
// of each type, and returns the errors by the methods' names. A method that fails returns nothing else.
func callAll(ctx context.Context, object any, only ...string) map[string]error {
	errs, v := map[string]error{}, reflect.ValueOf(object)
	for i := range v.NumMethod() {
		method, name := v.Method(i), v.Type().Method(i).Name
		of := method.Type()
		if of.NumIn() == 0 || of.In(0) != reflect.TypeFor[context.Context]() || of.IsVariadic() || only != nil && !slices.Contains(only, name) {
			continue
		}
		args := []reflect.Value{reflect.ValueOf(ctx)}
		for j := 1; j < of.NumIn(); j++ {
			arg := reflect.New(of.In(j)).Elem()
			if arg.CanInt() {
				arg.SetInt(int64(time.Hour))
			} else if arg.Kind() == reflect.String {
				arg.SetString(another)
			}
			args = append(args, arg)
		}
		results := method.Call(args)
		err, _ := results[len(results)-1].Interface().(error)
		if errs[name] = err; err != nil && !results[0].IsZero() && len(results) > 1 {
			errs[name] = fmt.Errorf("it fails with %v, and returns %v", err, results[0])
		}
	}
	return errs
}

// TestNamesWithoutAHashTag: in a cluster each method of each object refuses a name whose braces make no hash tag, and
// sends nothing: its keys would be in several slots. An object of one key needs none.
func TestNamesWithoutAHashTag(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		s.seen = func(script string, _, _ []string) { t.Errorf("sent %s", script) } // Its goroutine goes on.
		can := backend.Capabilities{Cluster: true, PubSub: true}
		c := s.over(t, &limited{server: s, can: can}, nil)
		ended, end := context.WithCancel(t.Context()) // A name that is not refused is not sent for, either.
		end()
		var wrong *primitives.FieldError
		for _, name := range []string{"x}", "{}a", "{", "a{}{b}"} {
			for _, kind := range severalKeys {
				object := construct(t, c, kind, name, nil)
				require.ErrorAs(t, object.(interface{ Validate() error }).Validate(), &wrong, kind)
				called := callAll(ended, object)
				require.GreaterOrEqual(t, len(called), 2, kind)
				for method, err := range called {
					require.ErrorAs(t, err, &wrong, "%s.%s of %q", kind, method, name)
					require.Equal(t, "name", wrong.Field, "%s.%s of %q", kind, method, name)
				}
			}
			require.ErrorAs(t, errOf(c.OpenLongAdder(ended, name)), &wrong, name)
		}
		s.seen = nil
		require.ErrorIs(t, errOf(c.NewAtomicLong("x}").Load(ended)), context.Canceled, "it is no name to refuse")
		for _, name := range []string{"x", "{a}b", "a}{b}"} {
			require.NoError(t, errOf(c.NewLock(name, nil).TryLock(t.Context())), name)
		}
		require.NoError(t, errOf(s.client(t, nil).NewLock("x}", nil).TryLock(t.Context())), "not in a cluster")
	})
}
