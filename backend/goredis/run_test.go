package goredisbackend_test

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
)

var (
	script = backend.NewScript("script", "return 1", 1, backend.RetryNever)
	read   = backend.NewScript("read", "return 2", 1, backend.RetryReadOnly)
)

func TestLostReplyIsNotSentAgain(t *testing.T) {
	t.Parallel()
	s := newFakeServer(t, func([]string) string { return hangup })
	b := connect(t, s, redis.Options{MaxRetries: 5})
	require.ErrorIs(t, errOf(b.Run(t.Context(), script, []string{"k"}, nil)), backend.ErrIndeterminate)
	require.Equal(t, 1, s.count("EVALSHA "))
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
func untilSent(s *fakeServer, run func(timeout time.Duration) error) (err error) {
	for timeout := 50 * time.Millisecond; timeout < time.Minute && s.count("EVALSHA") == 0; timeout *= 2 {
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
			c.options.Addr, c.options.PoolSize, c.options.PipelinePoolSize = s.addr, 1, -1
			c.options.ContextTimeoutEnabled = true
			client := redis.NewClient(&c.options)
			t.Cleanup(func() { _ = client.Close() })
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
	s.change(func() { s.hello = func() { cancel(); <-release } })
	_, err := b.Run(ctx, script, []string{"k"}, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, backend.MayHaveRun(err))
	close(release)
	require.Eventually(t, func() bool { return s.count("ping") == 1 },
		10*time.Second, time.Millisecond, "written in place of the script")
	require.Zero(t, s.count("EVALSHA"))
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
	require.False(t, backend.MayHaveRun(errOf(b.Run(ctx, script, []string{"second"}, nil))), "it never left")
	require.Empty(t, backend.RunAll(t.Context(), b, nil))
	close(release)
	require.NoError(t, <-first)
	require.NoError(t, errOf(b.Run(t.Context(), script, []string{"third"}, nil)))
	require.Zero(t, s.count("second"))
}

func TestRepliesOfRESP3(t *testing.T) {
	t.Parallel()
	var answer atomic.Value
	s := newFakeServer(t, func([]string) string { return answer.Load().(string) })
	b := connect(t, s, redis.Options{})
	str := backend.StringReply
	for raw, want := range map[string]backend.Reply{
		"_\r\n":                           {},
		"#t\r\n":                          backend.IntegerReply(1),
		"#f\r\n":                          backend.IntegerReply(0),
		":9223372036854775807\r\n":        backend.IntegerReply(math.MaxInt64),
		",1.5\r\n":                        str("1.5"),
		"(12345678901234567890\r\n":       str("12345678901234567890"),
		"=5\r\ntxt:a\r\n":                 str("a"),
		"$3\r\n\x00\r\n\r\n":              str("\x00\r\n"),
		"+OK\r\n":                         str("OK"),
		"%1\r\n$1\r\na\r\n:2\r\n":         backend.ArrayReply([]backend.Reply{str("a"), backend.IntegerReply(2)}),
		"~2\r\n_\r\n$1\r\nb\r\n":          backend.ArrayReply([]backend.Reply{{}, str("b")}),
		"*2\r\n*0\r\n*1\r\n$-1\r\n":       nested(backend.ArrayReply([]backend.Reply{}), nested(backend.Reply{})),
		"*2\r\n+a\r\n*2\r\n:1\r\n+OK\r\n": nested(str("a"), nested(backend.IntegerReply(1), str("OK"))),
	} {
		answer.Store(raw)
		reply, err := b.Run(t.Context(), script, []string{"k"}, nil)
		require.NoError(t, err, "%q", raw)
		require.Equal(t, want, reply, "%q", raw)
	}
	answer.Store("*1\r\n-WRONGTYPE x\r\n")
	require.ErrorIs(t, errOf(b.Run(t.Context(), script, []string{"k"}, nil)), backend.ErrReply)
}

func nested(items ...backend.Reply) backend.Reply { return backend.ArrayReply(items) }

func TestServerErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]backend.ServerError{
		"ERR DB index is out of range":                        {Code: "ERR", Message: "DB index is out of range"},
		"OOM no memory":                                       {Code: "OOM", Message: "no memory"},
		"WRONGTYPE x script: 3f78, on @user_script:3.":        {Code: "WRONGTYPE", Message: "x", Line: 3},
		"EXECABORT Transaction discarded":                     {Code: "EXECABORT", Message: "Transaction discarded"},
		"NOREPLICAS Not enough good replicas to write.":       {Code: "NOREPLICAS", Message: "Not enough good replicas to write."},
		"ERR max number of clients reached":                   {Code: "ERR", Message: "max number of clients reached"},
		"UNKILLABLE Sorry the script already executed writes": {Code: "UNKILLABLE", Message: "Sorry the script already executed writes"},
	} {
		s := newFakeServer(t, func([]string) string { return "-" + text + "\r\n" })
		b := connect(t, s, redis.Options{})
		_, err := b.Run(t.Context(), script, []string{"k"}, nil)
		var server *backend.ServerError
		require.ErrorAs(t, err, &server, text)
		require.Equal(t, want, *server)
		require.Equal(t, 1, s.count("EVALSHA"), text)
	}
}

// TestRunThenWait has one connection, and waits for less than the shortest time that a server knows: 0 is for ever.
func TestRunThenWait(t *testing.T) {
	t.Parallel()
	s := newFakeServer(t, func(words []string) string {
		if words[0] == "wait" {
			return ":2\r\n"
		}
		return ":7\r\n"
	})
	b := connect(t, s, redis.Options{PoolSize: 1})
	call := backend.Call{Script: script, Keys: []string{"k"}}
	b.RunThenWait(t.Context(), []backend.Call{call, call, call}, 3, time.Microsecond, func(_ int, o backend.Outcome) {
		require.Equal(t, backend.Outcome{Reply: backend.IntegerReply(7), Acked: 2}, o)
	})
	require.Equal(t, 1, s.count("wait 3 1\n"))
}
