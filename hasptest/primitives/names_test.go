package primitives_test

import (
	"context"
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
