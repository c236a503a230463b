package primitives_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// TestLogMayBlock goes on for a minute with a sink that takes nothing, as a full pipe does. On a mutex
// that a goroutine which logs has locked the test itself would hang, since virtual time stands still.
func TestLogMayBlock(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		core, logged := observer.New(zap.DebugLevel)
		released, release := context.WithCancel(context.Background())
		defer release()
		stuck := zapcore.RegisterHooks(core, func(zapcore.Entry) error { <-released.Done(); return nil })
		client := must(primitives.New(refusingSubscriber{s}, &primitives.Options{Logger: zap.New(stuck)}))(t)
		renewed := must(client.NewLock("renewed", nil).Lock(t.Context()))(t)
		short := client.NewLock("lost", &primitives.LockOptions{Lease: time.Second})
		for range 3 {
			byTimer := must(short.Lock(t.Context()))(t)
			next := must(client.NewLock("lost", nil).Lock(t.Context()))(t) // It waits until the lease has ended.
			require.ErrorIs(t, byTimer.Err(), primitives.ErrLost)
			require.NoError(t, next.Release(t.Context()))
			byClock := must(short.Lock(t.Context()))(t)
			time.Sleep(900 * time.Millisecond)
			require.ErrorIs(t, byClock.Err(), primitives.ErrLost)
			for _, broken := range []string{"lock_renew", ""} {
				s.faultOf(broken, fault{broken: true})
				time.Sleep(10 * time.Second)
			}
		}
		s.faultOf("lock_acquire", fault{before: 2 * time.Second, err: backend.ErrUnavailable})
		require.Error(t, errOf(client.NewLock("away", nil).TryLock(t.Context())))
		s.faults(fault{})
		time.Sleep(10 * time.Second)
		require.Positive(t, renewed.Remaining())
		require.NoError(t, renewed.Release(t.Context()))
		for _, message := range []string{
			"subscribing failed", "leases not renewed", "lease lost", "server away: calls fail at once", "server back",
		} {
			require.NotZero(t, logged.FilterMessage(message).Len(), message)
		}
		release()
		require.NoError(t, client.Close(t.Context()))
		time.Sleep(time.Minute) // What is under way arrives.
	})
}

// refusingSubscriber has an access list without the channels.
type refusingSubscriber struct{ *server }

func (refusingSubscriber) Subscribe(
	context.Context, string, backend.Handler,
) (backend.Subscription, error) {
	return nil, backend.ParseServerError("NOPERM No permissions to access a channel")
}

// TestCloseNamesWhatIsUnanswered closes a client whose server answers nothing: Close names the locks that it releases,
// and those whose callers have left before the answer.
func TestCloseNamesWhatIsUnanswered(t *testing.T) {
	t.Parallel()
	for want, names := range map[string][]string{
		`lock "held"`:             {"held"},
		`lock "unlocked"`:         {"unlocked"},
		`lock "asked"`:            {"asked"},
		`lock "asked" and 2 more`: {"unlocked", "held", "asked"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s, leases := newServer(t), map[string]*primitives.Lease{}
			client, err := primitives.New(s, nil)
			require.NoError(t, err)
			for _, name := range names {
				if name != "asked" {
					leases[name], err = client.NewLock(name, nil).Lock(t.Context())
					require.NoError(t, err)
				}
			}
			s.faults(fault{lost: true})
			ctx := within(t, time.Second)
			if lease := leases["unlocked"]; lease != nil {
				go func() { _ = lease.Release(ctx) }()
			}
			if slices.Contains(names, "asked") {
				go func() { _, _ = client.NewLock("asked", nil).Lock(ctx) }()
			}
			time.Sleep(2 * time.Second)
			closing := within(t, 5*time.Second)
			require.EqualError(t, client.Close(closing), "close client: not released: "+want+": context deadline exceeded")
		})
	}
}

// TestCloseAfterItsBackend closes a client whose backend was closed before: Close names what it leaves, and so do
// warnings.
func TestCloseAfterItsBackend(t *testing.T) {
	t.Parallel()
	for locks, want := range map[int]string{
		1: `close client: not released: lock "lock0": backend closed`,
		3: `close client: not released: lock "lock\d" and 2 more: backend closed`,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
			log, logged := observer.New(zap.WarnLevel)
			client, err := primitives.New(s, &primitives.Options{Logger: zap.New(log)})
			require.NoError(t, err)
			for i := range locks {
				require.NoError(t, errOf(client.NewLock(fmt.Sprint("lock", i), nil).Lock(t.Context())))
			}
			s.faults(fault{err: backend.ErrClosed})
			err = client.Close(t.Context())
			require.ErrorIs(t, err, backend.ErrClosed)
			require.Regexp(t, "^"+want+"$", err.Error())
			require.Equal(t, err, client.Close(t.Context()))
			require.Len(t, logged.All(), locks)
			for _, entry := range logged.All() {
				require.Equal(t, "gave up releasing", entry.Message)
				require.Equal(t, "lock", entry.ContextMap()["kind"])
				require.Regexp(t, `^lock\d$`, entry.ContextMap()["name"])
			}
		})
	}
}

// TestLossIsLoggedOnce loses a lease whose renewals are not answered: each warning names the lock, and none follows that
// of the loss.
func TestLossIsLoggedOnce(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		log, logged := observer.New(zap.WarnLevel)
		client := s.client(t, &primitives.Options{Logger: zap.New(log)})
		lease := must(client.NewLock("x", nil).Lock(t.Context()))(t)
		s.set(func() { s.fault = func(script string) fault { return fault{lost: script == "lock_renew"} } })
		<-lease.Done()
		time.Sleep(time.Minute)
		var messages []string
		for _, entry := range logged.All() {
			messages = append(messages, entry.Message)
			if entry.Message == "leases not renewed" {
				require.Equal(t, []any{"x"}, entry.ContextMap()["keys"])
				require.EqualValues(t, 1, entry.ContextMap()["count"])
				require.Equal(t, 7*time.Second, entry.ContextMap()["left"], "27 s of the lease, less a third and its timeout")
			} else {
				require.Equal(t, "x", entry.ContextMap()["name"])
			}
		}
		require.Equal(t, []string{"leases not renewed", "lease lost"}, messages)
	})
}

// TestSlog gives a client a logger of log/slog.
func TestSlog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		s := newServer(t)
		logger := slog.New(slog.NewTextHandler(&out, nil))
		client := s.client(t, &primitives.Options{Slog: logger})
		synctest.Wait()
		require.Contains(t, out.String(), "level=INFO msg=client id="+client.ID()+"\n")
		s.set(func() {
			s.fault = func(script string) fault {
				return fault{broken: script == "lock_release" || script == "lock_release_all"}
			}
		})
		require.Error(t, must(client.NewLock("x", nil).Lock(t.Context()))(t).Release(t.Context()))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Contains(t, out.String(), `level=WARN msg="gave up releasing"`)
	})
	_, err := primitives.New(newServer(t), &primitives.Options{Slog: slog.Default(), Logger: zap.NewNop()})
	require.ErrorAs(t, err, new(*primitives.FieldError))
}

// TestHealthy asks whether a client is healthy, at rest, without a server, and while renewals are overdue.
func TestHealthy(t *testing.T) {
	served(t, func(t *testing.T, s *server, client *primitives.Client) {
		healthy := func() error {
			ctx := within(t, time.Second)
			return client.Healthy(ctx)
		}
		require.NoError(t, healthy())
		require.Equal(t, 1, s.called("rights_missing"))
		denied := backend.ParseServerError("NOPERM No permissions to access a key")
		for _, c := range []struct {
			fault
			is error
		}{
			{down, primitives.ErrUnavailable},
			{fault{lost: true}, context.DeadlineExceeded},
			{fault{err: backend.ParseServerError("NOPERM User app has no permissions to run the 'evalsha' command")}, primitives.ErrNoPermission},
			{fault{err: denied}, nil},
		} {
			s.faultOf("rights_missing", c.fault)
			require.ErrorIs(t, healthy(), c.is)
			s.faultOf("rights_missing", fault{})
		}
		for _, name := range []string{"x", "y"} {
			require.NoError(t, errOf(client.NewLock(name, nil).Lock(t.Context())))
		}
		s.faultOf("lock_renew", fault{lost: true})
		time.Sleep(20 * time.Second)
		require.NoError(t, healthy(), "they are late by one interval")
		sent := s.called("rights_missing")
		time.Sleep(time.Second)
		require.ErrorIs(t, healthy(), primitives.ErrOverdue)
		require.Equal(t, sent, s.called("rights_missing"), "it sends nothing")
		s.faultOf("lock_renew", fault{})
		time.Sleep(5 * time.Second)
		require.NoError(t, healthy(), "they are renewed")
		require.NoError(t, client.Close(t.Context()))
		require.ErrorIs(t, healthy(), primitives.ErrClosed)
	})
}

// TestMismatchIsReportedOnce: by a warning, and to the tracer; another value is another mismatch; and a client reports a
// thousand at most.
func TestMismatchIsReportedOnce(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		log, logged := observer.New(zap.WarnLevel)
		r := &recorder{}
		client := s.client(t, &primitives.Options{Logger: zap.New(log), Tracer: r.tracer()})
		object := client.Core().NewObject("rate limiter", "x", "hash")
		for range 3 {
			object.ReportMismatch("Rate", "9 in 1s", "5 in 1s")
		}
		synctest.Wait()
		object.ReportMismatch("Rate", "9 in 1s", "6 in 1s")
		synctest.Wait()
		want := trace.Mismatch{
			Object: trace.Object{Kind: "rate limiter", Name: "x"}, Option: "Rate", Want: "9 in 1s", Have: "5 in 1s",
		}
		other := want
		other.Have = "6 in 1s"
		require.Equal(t, []trace.Mismatch{want, other}, taken[trace.Mismatch](r))
		require.Equal(t, 2, logged.Len())
		require.Equal(t, map[string]any{
			"kind": "rate limiter", "name": "x", "option": "Rate", "want": "9 in 1s", "have": "5 in 1s",
		}, logged.All()[0].ContextMap())

		for i := range 2000 {
			user := client.Core().NewObject("rate limiter", fmt.Sprint("user", i), "hash")
			user.ReportMismatch("Rate", "9 in 1s", "5 in 1s")
		}
		require.Len(t, taken[trace.Mismatch](r), 1000-2)
	})
}
