package primitives_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/evalsha"
	"github.com/hasp-go/hasp/primitives"
)

// estimates fails unless n permits are taken by an estimate.
func (x *throttle) estimates(t *testing.T, n int) *primitives.Estimate {
	t.Helper()
	r, d, err := x.AllowEstimate(t.Context(), n)
	require.NoError(t, err)
	require.True(t, d.Allowed)
	require.NotNil(t, r)
	return r
}

// owes returns the time until no permit is in use.
func (x *throttle) owes(t *testing.T) time.Duration {
	t.Helper()
	return must(x.State(t.Context()))(t).ResetAfter
}

// TestEstimateIsSettled: at once it is as if only what was used had been taken; later what the rate has freed in
// between stays in use.
func TestEstimateIsSettled(t *testing.T) {
	throttled(t, primitives.Limit{Permits: 3, Interval: time.Second, Burst: 10}, func(t *testing.T, x *throttle) {
		require.NoError(t, x.estimates(t, 8).Settle(t.Context(), 1))
		require.Equal(t, 333_334*time.Microsecond, x.owes(t))
		require.NoError(t, x.estimates(t, 2).Settle(t.Context(), 4))
		require.Equal(t, 1_666_667*time.Microsecond, x.owes(t))
		r := x.estimates(t, 5)
		time.Sleep(time.Second)
		require.NoError(t, r.Settle(t.Context(), 1)) // Four were not used, but three of them are free by now.
		require.Equal(t, 2*time.Second, x.owes(t))   // 5 and 5 permits before, less one second, less one permit.
		require.NoError(t, x.estimates(t, 1).Settle(t.Context(), 1))
		require.NoError(t, x.estimates(t, 1).Settle(t.Context(), 10_000_000))
		require.Equal(t, 3_333_334*time.Microsecond, x.owes(t), "the whole burst, and no more")
		none, d, err := x.AllowEstimate(t.Context(), 1)
		require.NoError(t, err)
		require.Nil(t, none)
		require.Equal(t, 333_334*time.Microsecond, d.RetryAfter)
	})
}

// TestEstimateGoesIntoDebt: to the bound, and a caller with a smaller one does not reduce what is owed.
func TestEstimateGoesIntoDebt(t *testing.T) {
	throttled(t, primitives.Limit{Permits: 1, Interval: time.Second, Burst: 10}, func(t *testing.T, x *throttle) {
		without := *x
		x.Throttle = x.client.NewThrottle("x", x.limit, &primitives.ThrottleOptions{Unavailable: primitives.Refuse(), Debt: 5})
		require.NoError(t, x.estimates(t, 1).Settle(t.Context(), 8))
		r, work := x.estimates(t, 1), without.estimates(t, 1)
		require.NoError(t, r.Settle(t.Context(), 3))
		require.Equal(t, 12*time.Second, x.owes(t))
		require.Equal(t, 3*time.Second, x.refuses(t, 1).RetryAfter)
		require.NoError(t, work.Settle(t.Context(), 10))
		require.Equal(t, 12*time.Second, x.owes(t))
		time.Sleep(3 * time.Second)
		require.NoError(t, x.estimates(t, 1).Settle(t.Context(), 10_000_000))
		require.Equal(t, 15*time.Second, x.owes(t))
		require.LessOrEqual(t, 15*time.Second, x.ttl(t))
		time.Sleep(6 * time.Second)
		x.allows(t, 1)
		require.Equal(t, time.Second, x.refuses(t, 1).RetryAfter)
		years := primitives.Limit{Permits: 1, Interval: 365 * 24 * time.Hour, Burst: 3}
		_, err := x.client.NewThrottle("x", years, &primitives.ThrottleOptions{Unavailable: primitives.Refuse(), Debt: 1}).Allow(t.Context(), 1)
		var invalid *primitives.FieldError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, "Debt", invalid.Field)
	})
}

// TestEstimateIsSettledOnce: but again after an error by which nothing was sent.
func TestEstimateIsSettledOnce(t *testing.T) {
	throttled(t, primitives.Limit{Permits: 1, Interval: time.Hour, Burst: 10}, func(t *testing.T, x *throttle) {
		r := x.estimates(t, 8)
		var wrong *primitives.FieldError
		require.ErrorAs(t, r.Settle(t.Context(), -1), &wrong)
		require.ErrorAs(t, r.Settle(t.Context(), 10_000_001), &wrong)
		x.faults(fault{err: backend.ErrUnavailable})
		require.ErrorIs(t, r.Settle(t.Context(), 3), primitives.ErrUnavailable)
		x.faults(fault{})
		require.NoError(t, r.Settle(t.Context(), 3))
		require.EqualError(t, r.Settle(t.Context(), 3), `settle throttle "x": the estimate is settled`)
		require.Equal(t, 3*time.Hour, x.owes(t))

		r = x.estimates(t, 4)
		x.faults(fault{broken: true})
		require.ErrorIs(t, r.Settle(t.Context(), 1), primitives.ErrIndeterminate)
		x.faults(fault{})
		synctest.Wait() // Now the server has executed it.
		require.ErrorIs(t, r.Settle(t.Context(), 1), primitives.ErrSettled)
		require.Equal(t, 4*time.Hour, x.owes(t))
		require.NoError(t, x.estimates(t, 1).Settle(t.Context(), 1))
		for _, used := range []int{1, 3} {
			x.do("DEL", "x")
			r = x.estimates(t, 2)
			x.do("SET", "x", "text")
			for range 2 {
				require.ErrorIs(t, r.Settle(t.Context(), used), primitives.ErrConflict)
			}
		}
	})
}

// silentLink loses the answers to all scripts: the connection breaks at once, or never.
type silentLink struct {
	*server
	hangs bool
}

var errReset = errors.New("connection reset")

// Run implements backend.ScriptRunner.
func (l *silentLink) Run(
	ctx context.Context, script *backend.Script, _, _ []string,
) (backend.Reply, error) {
	if l.hangs {
		<-ctx.Done()
		return backend.Reply{}, unknown(script, ctx.Err())
	}
	if script.Retry.Writes() {
		return backend.Reply{}, backend.Indeterminate(errReset)
	}
	return backend.Reply{}, fmt.Errorf("%w: %w", backend.ErrUnavailable, errReset) // As adapters do.
}

// queries are the names of methods that only ask.
var queries = regexp.MustCompile(`^(Available|Count$|Exists|Hold|IsHeld|IsLocked|Last|Leader$|Left|Load$|Rate$|Remaining|State|Total|TTL)`)

// TestNothingIsUnknownAfterAQuery loses the answer to each query, or ends its context: the error does not say that
// something may have been changed.
func TestNothingIsUnknownAfterAQuery(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		link, asked := &silentLink{server: s}, 0
		c := link.over(t, link, nil)
		all := map[string]any{}
		for _, kind := range append(severalKeys, "AtomicLong", "AtomicDouble", "Election", "PeriodicJob", "Throttle") {
			all[kind] = construct(t, c, kind, "x", nil)
		}
		for kind, object := range all {
			for _, method := range methods(object) {
				if !queries.MatchString(method) && (method != "Wait" || !strings.HasSuffix(kind, "Latch")) {
					continue
				}
				asked++
				link.hangs = false
				err := callAll(t.Context(), object, method)[method]
				require.ErrorIs(t, err, primitives.ErrUnavailable, "%s.%s", kind, method)
				require.NotErrorIs(t, err, primitives.ErrIndeterminate, "%s.%s", kind, method)
				require.NotContains(t, err.Error(), "outcome unknown", "%s.%s", kind, method)
				link.hangs = true
				err = callAll(within(t, time.Second), object, method)[method]
				require.ErrorIs(t, err, context.DeadlineExceeded, "%s.%s", kind, method)
				require.NotErrorIs(t, err, primitives.ErrIndeterminate, "%s.%s", kind, method)
			}
		}
		require.Greater(t, asked, 40)
		ended, end := context.WithCancel(t.Context())
		end()
		for kind, object := range all {
			for method, err := range callAll(ended, object) {
				require.False(t, err != nil && strings.HasPrefix(err.Error(), "it fails"), "%s.%s: %v", kind, method, err)
			}
		}
	})
}

// driven is a server behind the part that adapters share.
type driven struct {
	*server
	runner *evalsha.Runner
}

// driver sends scripts to a server, which has them all.
type driver struct{ *server }

func (d driver) Send(ctx context.Context, cmd evalsha.Command) (backend.Reply, error) {
	return d.Run(ctx, cmd.Script, cmd.Keys, cmd.Args)
}

func (d driver) SendAll(ctx context.Context, cmds []evalsha.Command) (outcomes []backend.Outcome) {
	for _, cmd := range cmds {
		reply, err := d.Send(ctx, cmd)
		outcomes = append(outcomes, backend.Outcome{Reply: reply, Err: err})
	}
	return outcomes
}

func (driver) Node(string) string                                  { return "" }
func (driver) Load(context.Context, *backend.Script, string) error { return nil }
func (driver) LoadAll(context.Context, *backend.Script) error      { return nil }

// RunBatch is as for [backend.Batcher].
func (d driven) RunBatch(ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome)) {
	d.runner.RunBatch(ctx, driver{d.server}, calls, report)
}

// TestRefusalRenewsAtOnce lets a server take the place of another, which a call learns of by a refusal. The backend
// repeats the call with success, and a holder learns that the new server does not have its lock.
func TestRefusalRenewsAtOnce(t *testing.T) {
	t.Parallel()
	for _, refusal := range []string{
		"READONLY You can't write against a read only replica.", "MOVED 1 127.0.0.1:2", "CLUSTERDOWN The cluster is down",
		"LOADING Redis is loading the dataset in memory",
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
			c := s.over(t, driven{s, evalsha.New(driver{s}, nil)}, nil)
			kept := must(c.NewLock("kept", nil).Lock(t.Context()))(t)
			lost := must(c.NewLock("lost", nil).Lock(t.Context()))(t)
			time.Sleep(time.Second)
			s.once("", fault{err: backend.ParseServerError(refusal)})
			require.NoError(t, errOf(s.embedded.Do("DEL", "lost")))
			require.NoError(t, lost.Err())
			require.NoError(t, errOf(c.NewLock("another", nil).TryLock(t.Context())))
			time.Sleep(100 * time.Millisecond)
			require.ErrorIs(t, lost.Err(), primitives.ErrLost)
			require.NoError(t, kept.Err())
		})
	}
}
