package primitives_test

import (
	"context"
	"reflect"
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
		leases, got := map[string]*primitives.Lease{}, map[string]chan error{}
		for _, name := range []string{"a", "{a}"} {
			lease := must(holder.NewLock(name, nil).Lock(t.Context()))(t)
			leases[name], got[name] = lease, make(chan error, 1)
			go func() {
				_, err := waiter.NewLock(name, nil).Lock(t.Context())
				got[name] <- err
			}()
			time.Sleep(time.Second)
		}
		for _, name := range []string{"{a}", "a"} {
			require.NoError(t, leases[name].Release(t.Context()))
			select {
			case err := <-got[name]:
				require.NoError(t, err)
			case <-time.After(time.Second):
				require.Fail(t, "not woken", name)
			}
		}
	})
}

// objects are all that a client can make under a name, and that has more than one key, or a channel.
func objects(c *primitives.Client, name string) map[string]any {
	rw := c.NewReadWriteLock(name, nil)
	return map[string]any{
		"Lock": c.NewLock(name, nil), "FairLock": c.NewFairLock(name, nil), "SpinLock": c.NewSpinLock(name, nil),
		"FencedLock": c.NewFencedLock(name, nil), "Mutex": c.NewMutex(name, nil),
		"ReadLock": rw.ReadLock(), "WriteLock": rw.WriteLock(),
		"MultiLock":         primitives.NewMultiLock(c.NewLock(name, nil)),
		"Semaphore":         c.NewSemaphore(name, nil),
		"PermitSemaphore":   c.NewPermitSemaphore(name, nil),
		"CountingSemaphore": c.NewCountingSemaphore(name, 1, nil),
		"CountingSemaphoreByArrival": c.NewCountingSemaphore(name, 1, &primitives.CountingSemaphoreOptions{
			Order: primitives.ByArrival,
		}),
		"CountDownLatch": c.NewCountDownLatch(name), "PartsLatch": c.NewPartsLatch(name), "IDGenerator": c.NewIDGenerator(name),
		"RateLimiter": c.NewRateLimiter(name, nil),
	}
}

// callAll calls each method of an object that takes a context and returns an error, with some argument of each type,
// and returns the errors by the methods' names.
func callAll(ctx context.Context, object any) map[string]error {
	errs, v := map[string]error{}, reflect.ValueOf(object)
	for i := range v.NumMethod() {
		method := v.Method(i)
		of := method.Type()
		if of.NumIn() == 0 || of.In(0) != reflect.TypeFor[context.Context]() || of.IsVariadic() {
			continue
		}
		args := []reflect.Value{reflect.ValueOf(ctx)}
		for j := 1; j < of.NumIn(); j++ {
			arg := reflect.New(of.In(j)).Elem()
			if arg.CanInt() {
				arg.SetInt(int64(time.Hour))
			}
			args = append(args, arg)
		}
		results := method.Call(args)
		err, _ := results[len(results)-1].Interface().(error)
		errs[v.Type().Method(i).Name] = err
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
			for kind, object := range objects(c, name) {
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
