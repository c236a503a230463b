package hasptest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/hasptest"
)

// Scripts that stand for one by which hasp acquires, for an author's, and for one that reads. The first two count their runs.
var (
	acquires = counting("lock_acquire", backend.RetryNever)
	authors  = counting("own_acquire", backend.RetryNever)
	reads    = backend.NewScript("fair_acquire", "return redis.call('GET', KEYS[1])", 1, backend.RetryReadOnly)
)

func counting(name string, retry backend.Retry) *backend.Script {
	return backend.NewScript(name, "return redis.call('INCR', KEYS[1])", 1, retry)
}

// runs returns how often scripts ran on key.
func runs(t *testing.T, s *hasptest.Server, key string) string {
	t.Helper()
	reply := must(s.Embedded().Do("GET", key))(t)
	if reply.IsNil() {
		return ""
	}
	return must(reply.Text())(t)
}

// TestBatch has calls of every fate in one batch. A call that was not sent can be withdrawn.
func TestBatch(t *testing.T) {
	t.Parallel()
	s := hasptest.New(t)
	s.FailAcquires(1)
	s.LoseAnswers(1)
	calls := []backend.Call{
		{Script: reads, Keys: []string{"e"}},
		{Script: authors, Keys: []string{"a"}},
		{Script: acquires, Keys: []string{"b"}},
		{Script: acquires, Keys: []string{"c"}},
		{Script: acquires, Keys: []string{"d"}},
	}
	for i := range calls {
		calls[i].Claim = &backend.Claim{}
		require.True(t, calls[i].Claim.Begin())
	}
	outcomes := backend.RunAll(t.Context(), s.Backend(), calls)
	require.NoError(t, outcomes[0].Err, "it only reads")
	require.NoError(t, outcomes[1].Err)
	require.ErrorIs(t, outcomes[2].Err, backend.ErrUnavailable)
	require.ErrorIs(t, outcomes[3].Err, backend.ErrIndeterminate)
	require.NoError(t, outcomes[4].Err)
	require.Equal(t, []string{"1", "", "1", "1"},
		[]string{runs(t, s, "a"), runs(t, s, "b"), runs(t, s, "c"), runs(t, s, "d")})
	require.True(t, calls[2].Claim.Cancel())
	require.ErrorIs(t, calls[2].Claim.Err(), backend.ErrUnavailable)
	require.False(t, calls[3].Claim.Cancel())
}

func TestRunThenWait(t *testing.T) {
	t.Parallel()
	s := hasptest.New(t)
	b := s.Backend()
	run := func() (outcome backend.Outcome) {
		calls := []backend.Call{{Script: acquires, Keys: []string{"a"}}}
		b.RunThenWait(t.Context(), calls, 1, time.Second, func(_ int, o backend.Outcome) { outcome = o })
		return outcome
	}
	s.FailAcquires(1)
	require.ErrorIs(t, run().Err, backend.ErrUnavailable)
	require.Empty(t, runs(t, s, "a"))
	s.LoseAnswers(1)
	lost := run()
	require.ErrorIs(t, lost.Err, backend.ErrIndeterminate)
	require.True(t, lost.Reply.IsNil())
	require.Equal(t, "1", runs(t, s, "a"))
	require.Equal(t, backend.Outcome{Reply: backend.IntegerReply(2)}, run())
}

// TestWhatIsNotSentUsesUpNothing asks a closed backend, under an ended context, and in an outage.
func TestWhatIsNotSentUsesUpNothing(t *testing.T) {
	t.Parallel()
	s := hasptest.New(t)
	b, closed := s.Backend(), s.Backend()
	require.NoError(t, closed.Close())
	s.LoseAnswers(1)
	acquire := func(ctx context.Context, b *hasptest.Backend) error {
		_, err := b.Run(ctx, acquires, []string{"a"}, nil)
		return err
	}
	require.ErrorIs(t, acquire(t.Context(), closed), backend.ErrClosed)
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, acquire(ended, b), context.Canceled)
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		b := s.Backend()
		s.FailAcquires(1)
		s.Away(time.Second)
		require.ErrorContains(t, acquire(t.Context(), b), "the server is away")
		time.Sleep(time.Second)
		synctest.Wait()
		require.ErrorContains(t, acquire(t.Context(), b), "the request was not sent")
	})
	require.ErrorIs(t, acquire(t.Context(), b), backend.ErrIndeterminate)
	require.NoError(t, acquire(t.Context(), b))
	require.Equal(t, "2", runs(t, s, "a"))
}

// TestGap publishes before, in and after an outage.
func TestGap(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		b := s.Backend()
		events, cancelled := make(chan backend.Event, 8), make(chan backend.Event, 8)
		require.NoError(t, errOf(b.Subscribe(t.Context(), "news", func(e backend.Event) { events <- e })))
		other := must(b.Subscribe(t.Context(), "news", func(e backend.Event) { cancelled <- e }))(t)
		publish := func(text string) {
			require.NoError(t, errOf(s.Embedded().Do("PUBLISH", "news", text)))
			synctest.Wait()
		}
		publish("before")
		other.Cancel()
		s.Away(3 * time.Second)
		publish("in between")
		require.Equal(t, backend.Event{Payload: "before"}, <-events)
		require.Empty(t, events)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.Len(t, events, 1)
		require.Equal(t, backend.Event{Kind: backend.EventResubscribed}, <-events)
		publish("after")
		require.Equal(t, backend.Event{Payload: "after"}, <-events)
		require.Len(t, cancelled, 1, "what came before it was cancelled")

		s.Away(time.Second)
		require.NoError(t, b.Close())
		time.Sleep(time.Minute)
		require.Empty(t, events)
	})
}

// TestCancelledByItsHandler: a gap that waits until an event is handled is not handled, if the subscription has ended then.
func TestCancelledByItsHandler(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		b, gap, events := s.Backend(), make(chan bool), make(chan backend.Event, 9)
		var sub backend.Subscription
		sub = must(b.Subscribe(t.Context(), "news", func(e backend.Event) {
			if events <- e; e.Kind == backend.EventMessage {
				<-gap
				sub.Cancel()
			}
		}))(t)
		require.NoError(t, errOf(s.Embedded().Do("PUBLISH", "news", "text")))
		synctest.Wait()
		s.Away(time.Millisecond)
		time.Sleep(time.Second)
		close(gap)
		synctest.Wait()
		require.Len(t, events, 1)
	})
}

// TestSubscribeInAnOutage waits for its end, for that of the context, and for Close.
func TestSubscribeInAnOutage(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		b, closed := s.Backend(), s.Backend()
		subscribe := func(ctx context.Context, b *hasptest.Backend) error {
			_, err := b.Subscribe(ctx, "news", func(backend.Event) {})
			return err
		}
		start := time.Now()
		s.Away(3 * time.Second)
		time.AfterFunc(2*time.Second, func() { require.NoError(t, closed.Close()) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, subscribe(ctx, b), context.DeadlineExceeded)
		require.Equal(t, time.Second, time.Since(start))
		require.ErrorIs(t, subscribe(t.Context(), closed), backend.ErrClosed)
		require.Equal(t, 2*time.Second, time.Since(start))
		require.NoError(t, subscribe(t.Context(), b))
		require.Equal(t, 3*time.Second, time.Since(start))
	})
}

// TestCallerLeavesASlowLink: what was sent arrives, as it was when it was sent. What is sent later is not.
func TestCallerLeavesASlowLink(t *testing.T) {
	virtual(t, func(t *testing.T, s *hasptest.Server) {
		s.SetLatency(2 * time.Second)
		b, keys := s.Backend(), []string{"a"}
		run := func(ctx context.Context, script *backend.Script) (unknown bool) {
			_, err := b.Run(ctx, script, keys, nil)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			return errors.Is(err, backend.ErrIndeterminate)
		}
		for _, script := range []*backend.Script{acquires, reads} {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			require.Equal(t, script == acquires, run(ctx, script), "it is under way")
			require.False(t, run(ctx, script), "it is not sent")
		}
		keys[0] = "b"
		time.Sleep(2 * time.Second)
		require.Equal(t, "1", runs(t, s, "a"))
		require.Empty(t, runs(t, s, "b"))
	})
}
