package primitives_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// TestReasonsOfALoss loses a lease in each way that a client can tell: the lease, its context, its release, the log and
// the tracer have the same reason. TestLossByClock has the pause of a process.
func TestReasonsOfALoss(t *testing.T) {
	t.Parallel()
	none := func(*server) {}
	for name, c := range map[string]struct {
		opts *primitives.LockOptions
		lose func(s *server)
		want primitives.LossError
		text string
	}{
		"Taken": {
			nil, func(s *server) { s.steal("x") },
			primitives.LossError{Reason: primitives.LossTaken, Holder: another}, "held by " + another,
		},
		"Gone": {
			nil, func(s *server) { s.lose("x") },
			primitives.LossError{Reason: primitives.LossGone}, "the server no longer has it",
		},
		"Outage": {
			nil, func(s *server) { s.faultOf("lock_renew", fault{lost: true}) },
			primitives.LossError{Reason: primitives.LossOutage}, "not renewed in time",
		},
		"MaxHold": {
			&primitives.LockOptions{MaxHold: time.Minute}, none,
			primitives.LossError{Reason: primitives.LossMaxHold}, "MaxHold has passed",
		},
		"Expired": {
			&primitives.LockOptions{Lease: 10 * time.Second}, none,
			primitives.LossError{Reason: primitives.LossExpired}, "its length has passed",
		},
	} {
		subtest(t, name, func(t *testing.T, s *server) {
			r := &recorder{}
			log, logged := observer.New(zap.WarnLevel)
			client := s.client(t, &primitives.Options{Logger: zap.New(log), Tracer: r.tracer()})
			lease := must(client.NewLock("x", c.opts).Lock(t.Context()))(t)
			ctx := lease.Context(t.Context())
			c.lose(s)
			<-ctx.Done()
			synctest.Wait()

			for _, err := range []error{context.Cause(ctx), lease.Err(), lease.Release(t.Context()), taken[trace.LeaseEnd](r)[0].Cause} {
				var loss *primitives.LossError
				require.ErrorAs(t, err, &loss)
				require.Equal(t, &c.want, loss)
				wraps(t, err, primitives.ErrLost, c.want.Reason)
				require.ErrorContains(t, err, "lease lost: "+c.text)
			}
			entries := logged.FilterMessage("lease lost").All()
			require.Len(t, entries, 1)
			fields := entries[0].ContextMap()
			require.Equal(t, string(c.want.Reason), fields["reason"])
			require.Equal(t, "lease lost: "+c.text, fields["error"])
			require.Equal(t, lease.Token(), fields["token"])
			require.Equal(t, lease.Owner(), fields["owner"])
			require.LessOrEqual(t, fields["unrenewed"], fields["held"])
		})
	}
}

// TestTakenLocks has another client take each kind of lock while its key was missing: the loss names the owner. Of
// kinds with several owners nobody can say who has a lost owner's place.
func TestTakenLocks(t *testing.T) {
	t.Parallel()
	for kind, several := range map[string]bool{
		"Lock": false, "FencedLock": false, "SpinLock": false, "FairLock": false, "Mutex": false, "PlainLock": false, "WriteLock": false, "Described": false,
		"ReadLock": true, "CountingSemaphore": true, "PermitSemaphore": true,
	} {
		subtest(t, kind, func(t *testing.T, s *server) {
			take := func() *primitives.Lease {
				with := settings{"Permits": 1}
				if kind == "Described" {
					with["Metadata"] = "report"
				}
				return must(tries(construct(t, s.client(t, nil), strings.Replace(kind, "Described", "Lock", 1), "x", with), 1)(t.Context()))(t)
			}
			lost := take()
			s.do("FLUSHALL")
			next := take()
			<-lost.Done()
			want := primitives.LossError{Reason: primitives.LossTaken, Holder: next.Owner()}
			if several {
				want = primitives.LossError{Reason: primitives.LossGone}
			}
			require.Equal(t, &want, lost.Err())
		})
	}
}

// TestTakenLocksTogether takes several locks of a client, each by another owner, before one renewal of them all.
func TestTakenLocksTogether(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		leases := map[string]*primitives.Lease{}
		client := s.client(t, nil)
		for _, name := range []string{"a", "kept", "b", "gone", "c"} {
			leases[name] = must(client.NewLock(name, nil).Lock(t.Context()))(t)
		}
		s.lose("a", "b", "c", "gone")
		for _, name := range []string{"a", "b", "c"} {
			s.hold(name, "pod-"+name+"-"+another, time.Hour)
		}
		time.Sleep(15 * time.Second)
		require.Equal(t, 1, s.called("lock_renew"))
		require.NoError(t, leases["kept"].Err())
		require.ErrorIs(t, leases["gone"].Err(), primitives.LossGone)
		for _, name := range []string{"a", "b", "c"} {
			require.Equal(t, &primitives.LossError{Reason: primitives.LossTaken, Holder: "pod-" + name + "-" + another}, leases[name].Err())
		}
	})
}

// byLetter is a server in a cluster: each first letter of a name is on a node of its own.
type byLetter struct{ *server }

// NodeOf is as for [backend.Locator].
func (byLetter) NodeOf(key string) string {
	_, name, found := strings.Cut(key, "{")
	if !found {
		name = key
	}
	return name[:1]
}

// TestWatches: a client with leases that it renews has one subscription on each node of theirs, and none without.
func TestWatches(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		client := s.over(t, byLetter{s}, nil)
		hold := func(lease *primitives.Lease, err error) *primitives.Lease {
			require.NoError(t, err)
			return lease
		}
		for range 100 {
			short := hold(client.NewLock("short", nil).Lock(t.Context()))
			time.Sleep(90 * time.Millisecond)
			require.NoError(t, short.Release(t.Context()))
		}
		others := []*primitives.Lease{
			hold(client.NewLock("fixed", &primitives.LockOptions{Lease: time.Minute}).Lock(t.Context())),
			hold(client.NewSpinLock("spins", nil).Lock(t.Context())),
		}
		time.Sleep(10 * time.Second)
		require.Empty(t, s.watched())
		var leases []*primitives.Lease
		for _, node := range []string{"a", "b"} {
			for i := range 10 {
				leases = append(leases, hold(client.NewLock(fmt.Sprint(node, i), nil).Lock(t.Context())))
			}
		}
		for range 20 {
			time.Sleep(time.Second)
			require.LessOrEqual(t, len(s.watched()), 2)
		}
		require.Len(t, s.watched(), 2)
		for _, lease := range leases[:10] {
			require.NoError(t, lease.Release(t.Context()))
		}
		time.Sleep(2 * time.Second)
		require.Len(t, s.watched(), 1)
		require.Equal(t, "redisson_lock__channel:{b", s.watched()[0][:25])
		for _, lease := range append(leases[10:], others...) {
			require.NoError(t, lease.Release(t.Context()))
		}
		time.Sleep(2 * time.Second)
		require.Empty(t, s.watched())
		hold(client.NewLock("a", nil).Lock(t.Context()))
		time.Sleep(3 * time.Second)
		require.Len(t, s.watched(), 1)
		require.NoError(t, client.Close(t.Context()))
		require.Empty(t, s.watched())
	})
}

// TestWatchIsDenied: that is no failure of the leases. The client asks now and then, and logs the first refusal.
func TestWatchIsDenied(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		var tries atomic.Int32
		d := &subscribing{s, func(ctx context.Context, channel string, h backend.Handler) (backend.Subscription, error) {
			if strings.HasSuffix(channel, ":watch") {
				tries.Add(1)
				return refusingSubscriber{}.Subscribe(ctx, channel, h)
			}
			return s.Subscribe(ctx, channel, h)
		}}
		core, logs := observer.New(zap.WarnLevel)
		client := s.over(t, d, &primitives.Options{
			Logger: zap.New(core),
			Tracer: &trace.Tracer{SubscriptionGap: func(trace.SubscriptionGap) { t.Error("no message is missed") }},
		})
		lease := must(client.NewLock("x", nil).Lock(t.Context()))(t)
		time.Sleep(time.Minute)
		require.NoError(t, lease.Release(t.Context()))
		require.InDelta(t, 12, tries.Load(), 2)
		require.Equal(t, 1, logs.Len())
		require.InDelta(t, 6, s.called("lock_renew"), 1)
	})
}
