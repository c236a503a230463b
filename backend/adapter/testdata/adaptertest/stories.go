package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// Adapter is an adapter that closes with the test.
type Adapter interface {
	backend.Backend
	backend.Batcher
	backend.ReplicaWaiter
	backend.Scanner
}

// Connect returns an adapter over a client of the server that has one connection.
type Connect func(t *testing.T, s *Server) Adapter

var (
	write = backend.NewScript("write", "return 1", 1, backend.RetryNever)
	read  = backend.NewScript("read", "return 2", 1, backend.RetryReadOnly)
	call  = backend.Call{Script: write, Keys: []string{"k"}}
)

// Answers has an adapter get answers of each sort.
func Answers(t *testing.T, connect Connect) {
	t.Helper()
	t.Parallel()
	for name, story := range map[string]func(*testing.T, Connect){"Replies": replies, "Errors": errorReplies, "Waits": waits, "GivenUp": givenUp} {
		t.Run(name, func(t *testing.T) { story(t, connect) })
	}
}

// replies are what scripts are replied to by, of RESP3 too. An error in an array is no reply.
func replies(t *testing.T, connect Connect) {
	t.Helper()
	var answer atomic.Value
	b := connect(t, &Server{Answer: func([]string) string { return answer.Load().(string) }}) //nolint:forcetypeassert // It has nothing else.
	text, number, list := backend.StringReply, backend.IntegerReply, func(items ...backend.Reply) backend.Reply { return backend.ArrayReply(items) }
	for raw, want := range map[string]backend.Reply{
		"_\r\n":                           {},
		"$-1\r\n":                         {},
		"#t\r\n":                          number(1),
		"#f\r\n":                          number(0),
		":9223372036854775807\r\n":        number(math.MaxInt64),
		":-9223372036854775808\r\n":       number(math.MinInt64),
		",1.5\r\n":                        text("1.5"),
		"(12345678901234567890\r\n":       text("12345678901234567890"),
		"$0\r\n\r\n":                      text(""),
		"$4\r\n\r\n\x00\xff\r\n":          text("\r\n\x00\xff"),
		"+FINE\r\n":                       text("FINE"),
		"*0\r\n":                          backend.ArrayReply([]backend.Reply{}),
		"%1\r\n$1\r\na\r\n:2\r\n":         list(text("a"), number(2)),
		"~2\r\n_\r\n$1\r\nb\r\n":          list(backend.Reply{}, text("b")),
		"*2\r\n*0\r\n*1\r\n$-1\r\n":       list(backend.ArrayReply([]backend.Reply{}), list(backend.Reply{})),
		"*2\r\n+a\r\n*2\r\n:1\r\n+OK\r\n": list(text("a"), list(number(1), text("OK"))),
	} {
		answer.Store(raw)
		reply, err := b.Run(t.Context(), write, call.Keys, nil)
		require.NoError(t, err, "%q", raw)
		require.Equal(t, want, reply, "%q", raw)
	}
	for _, code := range []string{"WRONGTYPE", "NOSCRIPT"} {
		answer.Store("*1\r\n-" + code + " x\r\n")
		_, err := b.Run(t.Context(), write, call.Keys, nil)
		require.ErrorIs(t, err, backend.ErrReply)
		require.False(t, errors.As(err, new(*backend.ServerError)))
	}
}

// errorReplies are each taken once, whatever the driver makes of the text.
func errorReplies(t *testing.T, connect Connect) {
	t.Helper()
	for raw, want := range map[string]backend.ServerError{
		"-ERR DB index is out of range":                        {Code: "ERR", Message: "DB index is out of range"},
		"-OOM no memory":                                       {Code: "OOM", Message: "no memory"},
		"-WRONGTYPE x script: 3f78, on @user_script:3.":        {Code: "WRONGTYPE", Message: "x", Line: 3},
		"-EXECABORT Transaction discarded":                     {Code: "EXECABORT", Message: "Transaction discarded"},
		"-NOREPLICAS Not enough good replicas to write.":       {Code: "NOREPLICAS", Message: "Not enough good replicas to write."},
		"-ERR max number of clients reached":                   {Code: "ERR", Message: "max number of clients reached"},
		"-UNKILLABLE Sorry the script already executed writes": {Code: "UNKILLABLE", Message: "Sorry the script already executed writes"},
		"-ERR WAIT is not for you":                             {Code: "ERR", Message: "WAIT is not for you"},
		"-MISCONF Redis is configured to save":                 {Code: "MISCONF", Message: "Redis is configured to save"},
		"-lower case":                                          {Code: "ERR", Message: "lower case"},
		"!9\r\nNOPE long":                                      {Code: "NOPE", Message: "long"},
	} {
		s := &Server{Answer: func([]string) string { return raw + "\r\n" }}
		_, err := connect(t, s).Run(t.Context(), write, call.Keys, nil)
		var server *backend.ServerError
		require.ErrorAs(t, err, &server, raw)
		require.Equal(t, want, *server)
		require.Equal(t, 1, s.Count("EVALSHA"), raw)
	}
}

// RunThenWait has so many calls wait for replicas, and returns their outcomes. The adapter hands them over in goroutines of
// its own, where no test may end.
func RunThenWait(t *testing.T, b backend.ReplicaWaiter, calls, replicas int, timeout time.Duration) []backend.Outcome {
	t.Helper()
	outcomes := make([]backend.Outcome, calls)
	b.RunThenWait(t.Context(), slices.Repeat([]backend.Call{call}, calls), replicas, timeout, func(place int, o backend.Outcome) { outcomes[place] = o })
	return outcomes
}

// waits has calls wait for replicas over one connection, for less than the shortest time that a server knows: 0 is for
// ever.
func waits(t *testing.T, connect Connect) {
	t.Helper()
	waited := ":2\r\n"
	s := &Server{Answer: func(words []string) string {
		if strings.EqualFold(words[0], "WAIT") {
			return waited
		}
		return ":7\r\n"
	}}
	b := connect(t, s)
	for _, o := range RunThenWait(t, b, 3, 3, time.Microsecond) {
		require.Equal(t, backend.Outcome{Reply: backend.IntegerReply(7), Acked: 2}, o)
	}
	require.Equal(t, 1, s.Count("wait 3 1\n")+s.Count("WAIT 3 1\n"))
	waited = "+many\r\n"
	require.ErrorIs(t, RunThenWait(t, b, 1, 3, time.Second)[0].Err, backend.ErrReplicas)
}

// Failover has a primary of all slots and its replica change places before each call. It goes to the new primary. A
// cluster gives the nodes their addresses, and says which is the primary.
func Failover(t *testing.T, cluster func(nodes [2]*Server, primary *atomic.Int32) Adapter) {
	t.Helper()
	var primary atomic.Int32
	var nodes [2]*Server
	for i := range nodes {
		nodes[i] = &Server{Answer: func(words []string) string {
			switch now := int(primary.Load()); {
			case strings.EqualFold(words[0], "scan"): // A replica has keys, too, some of them too late.
				return fmt.Sprintf("*2\r\n+0\r\n*1\r\n:%d\r\n", i)
			case !strings.EqualFold(words[0], "script") && i != now:
				return fmt.Sprintf("-MOVED %d %s\r\n", backend.Slot("k"), nodes[now].Addr)
			}
			return fmt.Sprintf(":%d\r\n", i)
		}}
	}
	b := cluster(nodes, &primary)
	for i := range 7 {
		now := i % 2
		primary.Store(int32(now))
		switch want := backend.IntegerReply(int64(now)); i / 2 % 3 {
		case 0:
			for keys, err := range b.Scan(t.Context(), "*", 10) {
				require.NoError(t, err)
				require.Equal(t, []string{fmt.Sprint(now)}, keys)
			}
		case 1:
			for _, o := range RunThenWait(t, b, 2, 1, time.Second) {
				require.Equal(t, backend.Outcome{Reply: want, Acked: now}, o)
			}
		case 2:
			reply, err := b.Run(t.Context(), write, call.Keys, nil)
			require.NoError(t, err)
			require.Equal(t, want, reply)
		}
	}
}

// Refused runs scripts, for which null is an answer, in each way: a server that refuses what sets up a connection has
// answered none, and executed none.
func Refused(t *testing.T, b Adapter, s *Server, text string) {
	t.Helper()
	bounded, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, ctx := range []context.Context{context.Background(), bounded} {
		for _, script := range []*backend.Script{write, read} {
			_, err := b.Run(ctx, script, call.Keys, nil)
			NotExecuted(t, err, text)
		}
		for _, calls := range [][]backend.Call{{call}, {call, call, call}} {
			outcomes := make([]backend.Outcome, 2*len(calls))
			b.RunBatch(ctx, calls, func(place int, o backend.Outcome) { outcomes[2*place] = o })
			b.RunThenWait(ctx, calls, 1, time.Second, func(place int, o backend.Outcome) { outcomes[2*place+1] = o })
			for _, o := range outcomes {
				NotExecuted(t, o.Err, text)
			}
		}
	}
	for _, err := range b.Scan(t.Context(), "*", 10) {
		require.ErrorIs(t, err, backend.ErrUnavailable)
	}
	require.Zero(t, s.Count("EVALSHA")+s.Count("wait ")+s.Count("WAIT "))
}

// NotExecuted requires an error of a script that no server has answered.
func NotExecuted(t *testing.T, err error, text string) {
	t.Helper()
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.ErrorContains(t, err, text)
	require.False(t, backend.MayHaveRun(err))
	require.False(t, errors.As(err, new(*backend.ServerError)), "no server has answered the script")
}

// givenUp has an adapter closed while the server is silent to what sets up a subscription's connection, or to SUBSCRIBE.
// When the server speaks again, it has only the connections that the client's commands have.
func givenUp(t *testing.T, connect Connect) {
	t.Helper()
	for _, silentTo := range []string{"HELLO", "CLIENT", "SUBSCRIBE"} {
		asked, speak := make(chan bool, 9), make(chan bool)
		s := &Server{Answer: Double}
		b := connect(t, s)
		_, err := b.Run(t.Context(), write, call.Keys, []string{"1"})
		require.NoError(t, err)
		before := len(s.Open())
		s.SetUp(func(name string) string {
			if name == silentTo {
				asked <- true
				<-speak
			}
			return ""
		})
		subscribed := make(chan error, 1)
		go func() {
			_, err := b.Subscribe(t.Context(), "c", func(backend.Event) {})
			subscribed <- err
		}()
		<-asked
		require.NoError(t, b.Close())
		require.ErrorIs(t, <-subscribed, backend.ErrClosed)
		close(speak)
		require.Eventually(t, func() bool { return len(s.Open()) == before }, 20*time.Second, time.Millisecond, silentTo)
	}
}

// ClientCloses closes a client: its backend is closed, and the driver's client can still be used. So it can after a bad
// option.
func ClientCloses(t *testing.T, newClient func(opts *primitives.Options) (*primitives.Client, error), ping func() error) {
	t.Helper()
	client, err := newClient(nil)
	require.NoError(t, err)
	require.NoError(t, client.Close(t.Context()))
	_, err = client.Core().Backend().Run(t.Context(), read, call.Keys, nil)
	require.ErrorIs(t, err, backend.ErrClosed)
	_, err = newClient(&primitives.Options{WatchdogLease: 1})
	require.ErrorAs(t, err, new(*primitives.FieldError))
	require.NoError(t, ping())
}

// Must returns a function that returns what a call returned, and requires that it did not fail.
func Must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return v
	}
}

// ErrOf returns the error alone that a call returned.
func ErrOf[T any](_ T, err error) error { return err }
