package goredisbackend_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter/testdata/adaptertest"
)

var (
	script = backend.NewScript("script", "return 1", 1, backend.RetryNever)
	read   = backend.NewScript("read", "return 2", 1, backend.RetryReadOnly)
)

func TestLostReplyIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := newFakeServer(t, func([]string) string { return adaptertest.HangUp })
	b := connect(t, s, redis.Options{MaxRetries: 5})
	require.ErrorIs(t, adaptertest.ErrOf(b.Run(t.Context(), script, []string{"k"}, nil)), backend.ErrIndeterminate)
	require.Equal(t, 1, s.Count("EVALSHA "))
}

// early is a context whose timer comes late.
type early struct {
	context.Context
	deadline time.Time
}

func (e early) Deadline() (time.Time, bool) { return e.deadline, true }

func TestDriverEndsBeforeItsContext(t *testing.T) {
	t.Parallel()
	s := newFakeServer(t, func([]string) string { return none })
	b := connect(t, s, redis.Options{ContextTimeoutEnabled: true})
	err := untilSent(s, func(timeout time.Duration) error {
		_, err := b.Run(early{t.Context(), time.Now().Add(timeout)}, script, []string{"k"}, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		return err
	})
	require.ErrorIs(t, err, backend.ErrIndeterminate)
}

// untilSent calls run with a time-out that doubles until the server gets the script, which a busy machine sends late.
func untilSent(s *adaptertest.Server, run func(timeout time.Duration) error) (err error) {
	for timeout := 50 * time.Millisecond; timeout < time.Minute && s.Count("EVALSHA") == 0; timeout *= 2 {
		err = run(timeout)
	}
	return err
}

// TestBatchEndsAtItsDeadline: the driver would read, or wait for its only connection, for a minute or longer.
func TestBatchEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options redis.Options
		used    bool // the connection
	}{
		"Reads":        {options: redis.Options{ReadTimeout: time.Minute}},
		"ReadsForEver": {options: redis.Options{ReadTimeout: -1}},
		"Waits":        {options: redis.Options{PoolTimeout: time.Minute}, used: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFakeServer(t, func(words []string) string {
				if words[0] == "x" {
					return ":1\r\n"
				}
				return none
			})
			c.options.Addr, c.options.PoolSize, c.options.PipelinePoolSize = s.Addr, 1, -1
			c.options.ContextTimeoutEnabled = true
			client := closing(t, redis.NewClient(&c.options))
			b := over(t, client)
			require.True(t, b.Capabilities().Deadlines)
			application := client.Conn()
			require.NoError(t, application.Process(t.Context(), redis.NewCmd(t.Context(), "x")))
			if c.used {
				defer func() { _ = application.Close() }()
			} else {
				require.NoError(t, application.Close())
			}
			ended := make(chan error, 1)
			run := func(timeout time.Duration) error { return runUntil(t, b, timeout) }
			go func() {
				if c.used {
					ended <- run(50 * time.Millisecond)
				} else {
					ended <- untilSent(s, run)
				}
			}()
			require.Eventually(t, func() bool { return len(ended) > 0 }, 15*time.Second, time.Millisecond)
			err := <-ended
			require.Error(t, err)
			require.Equal(t, !c.used, backend.MayHaveRun(err))
		})
	}
}

// runUntil runs script alone until a deadline.
func runUntil(t *testing.T, b backend.Batcher, timeout time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	calls := []backend.Call{{Script: script, Keys: []string{"k"}, Claim: new(backend.Claim)}}
	return backend.RunAll(ctx, b, calls)[0].Err
}

// The driver goes on with a connection that it is setting up, and then writes.
func TestCancelledWhileConnecting(t *testing.T) {
	t.Parallel()
	s := newFakeServer(t, func([]string) string { return ":1\r\n" })
	b := connect(t, s, redis.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	var pings atomic.Int32
	s.SetUp(func(name string) string {
		switch name {
		case "HELLO":
			cancel()
			<-release
		case "PING":
			pings.Add(1)
		}
		return ""
	})
	_, err := b.Run(ctx, script, []string{"k"}, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, backend.MayHaveRun(err))
	close(release)
	require.Eventually(t, func() bool { return pings.Load() == 1 },
		10*time.Second, time.Millisecond, "written in place of the script")
	require.Zero(t, s.Count("EVALSHA"))
}

func TestCancelledWhileWaitingForTheirTurn(t *testing.T) {
	t.Parallel()
	began, release := make(chan struct{}), make(chan struct{})
	s := newFakeServer(t, func(words []string) string {
		if words[3] == "first" {
			close(began)
			<-release
		}
		return ":1\r\n"
	})
	b := connect(t, s, redis.Options{PoolSize: 1, PipelinePoolSize: -1})
	first := make(chan error, 1)
	go func() {
		_, err := b.Run(context.Background(), script, []string{"first"}, nil)
		first <- err
	}()
	<-began
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.False(t, backend.MayHaveRun(adaptertest.ErrOf(b.Run(ctx, script, []string{"second"}, nil))), "it never left")
	require.Empty(t, backend.RunAll(t.Context(), b, nil))
	close(release)
	require.NoError(t, <-first)
	require.NoError(t, adaptertest.ErrOf(b.Run(t.Context(), script, []string{"third"}, nil)))
	require.Zero(t, s.Count("second"))
}

func TestAnswers(t *testing.T) { adaptertest.Answers(t, connectOne) }
