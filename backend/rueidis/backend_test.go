package rueidisbackend_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/fanout"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	"github.com/hasp-go/hasp/primitives"
)

var write = backend.NewScript("write", "return 1", -1, backend.RetryNever)

func TestNewRefusesWhatItCannotUse(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, errOf(rueidisbackend.New(nil, nil)), "client is nil")
}

// TestOptions: each option is heeded.
func TestOptions(t *testing.T) {
	t.Parallel()
	require.Len(t, reflect.VisibleFields(reflect.TypeFor[rueidisbackend.Options]()), 4, "here each has its effect")
	f := &fakeServer{answer: func(words []string) string {
		if words[0] == "CLUSTER" {
			return runs(words)
		}
		return "-BUSY x\r\n"
	}}
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{"127.0.0.1:1"}, DialCtxFn: f.dial, DisableCache: true})
	require.NoError(t, err)
	defer client.Close()
	_, err = rueidisbackend.New(client, &rueidisbackend.Options{Sharded: backend.ShardedOff, PubSub: &fanout.Options{Queue: 1}})
	require.ErrorContains(t, err, "Options.PubSub: fanout: Options.Queue is 1")
	b, err := rueidisbackend.New(client, &rueidisbackend.Options{Sharded: backend.ShardedOn, RefusedFor: -1})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close()) }()
	require.True(t, b.Capabilities().Sharded)
	_, err = b.Run(t.Context(), write, []string{"k"}, nil)
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.Equal(t, 1, strings.Count(strings.Join(f.commands(), "\n"), "EVALSHA"))
}

// wrapper is an application's client, which counts.
type wrapper struct {
	rueidis.Client
	calls atomic.Int32
}

func (w *wrapper) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	w.calls.Add(1)
	return w.Client.Do(ctx, cmd)
}

func TestWrappedClient(t *testing.T) {
	t.Parallel()
	f := &fakeServer{answer: func([]string) string { return ":1\r\n" }}
	w := &wrapper{Client: f.client(t)}
	b := must(rueidisbackend.New(w, nil))(t)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	require.NoError(t, errOf(b.Run(t.Context(), write, []string{"k"}, nil)))
	require.Positive(t, w.calls.Load())
}

func TestRepliesOfRESP3(t *testing.T) {
	t.Parallel()
	text := backend.StringReply
	for name, test := range map[string]struct {
		raw  string
		want backend.Reply
	}{
		"Nil":     {"_\r\n", backend.Reply{}},
		"OldNil":  {"$-1\r\n", backend.Reply{}},
		"Integer": {":-9223372036854775808\r\n", backend.IntegerReply(-1 << 63)},
		"Status":  {"+FINE\r\n", text("FINE")},
		"Bytes":   {"$4\r\n\r\n\x00\xff\r\n", text("\r\n\x00\xff")},
		"Empty":   {"$0\r\n\r\n", text("")},
		"Double":  {",1.5\r\n", text("1.5")},
		"True":    {"#t\r\n", backend.IntegerReply(1)},
		"False":   {"#f\r\n", backend.IntegerReply(0)},
		"NoItems": {"*0\r\n", backend.ArrayReply([]backend.Reply{})},
		"Set":     {"~1\r\n:1\r\n", backend.ArrayReply([]backend.Reply{backend.IntegerReply(1)})},
		"Map":     {"%1\r\n+a\r\n_\r\n", backend.ArrayReply([]backend.Reply{text("a"), {}})},
		"Nested": {"*2\r\n*1\r\n+a\r\n_\r\n", backend.ArrayReply([]backend.Reply{
			backend.ArrayReply([]backend.Reply{text("a")}), {},
		})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fakeServer{answer: func([]string) string { return test.raw }}
			require.Equal(t, test.want, must(f.connect(t).Run(t.Context(), write, []string{"k"}, nil))(t))
		})
	}
}

func TestErrorReplies(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]backend.ServerError{
		"-WRONGTYPE bad kind\r\n":      {Code: "WRONGTYPE", Message: "bad kind"},
		"-ERR WAIT is not for you\r\n": {Code: "ERR", Message: "WAIT is not for you"},
		"-lower case\r\n":              {Code: "ERR", Message: "lower case"},
		"!9\r\nNOPE long\r\n":          {Code: "NOPE", Message: "long"},
	} {
		f := &fakeServer{answer: func([]string) string { return raw }}
		_, err := f.connect(t).Run(t.Context(), write, []string{"k"}, nil)
		var server *backend.ServerError
		require.ErrorAs(t, err, &server)
		require.Equal(t, want, *server)
		require.Len(t, f.commands(), 1)
	}
}

// TestCallIsWithdrawnWhileTheClientDials has calls withdrawn while a dial takes its time, as to a host
// that is gone.
func TestCallIsWithdrawnWhileTheClientDials(t *testing.T) {
	t.Parallel()
	for name, calls := range map[string]int{"One": 1, "Several": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var hold atomic.Bool
			dialing, proceed := make(chan struct{}, 100), make(chan struct{})
			f := &fakeServer{
				answer: func([]string) string { return hangUp },
				before: func() {
					if hold.Load() {
						dialing <- struct{}{}
						<-proceed
					}
				},
			}
			b := f.connect(t)
			hold.Store(true)
			for len(dialing) == 0 { // Each call before breaks the connection that it is sent on.
				batch, outcomes := withdrawable(calls), make(chan backend.Outcome, calls)
				go b.RunBatch(t.Context(), batch, func(_ int, o backend.Outcome) { outcomes <- o })
				sent := len(f.commands())
				select {
				case <-dialing:
					dialing <- struct{}{}
				case <-outcomes:
					continue
				}
				for _, call := range batch {
					require.True(t, call.Claim.Cancel(), "nothing is sent yet")
				}
				close(proceed)
				for range batch {
					require.False(t, backend.MayHaveRun((<-outcomes).Err))
				}
				require.Len(t, f.commands(), sent, "nothing was sent")
			}
		})
	}
}

// withdrawable returns a batch of n calls.
func withdrawable(n int) []backend.Call {
	batch := make([]backend.Call, n)
	for i := range batch {
		batch[i] = backend.Call{Script: write, Keys: []string{"k"}, Claim: new(backend.Claim)}
		batch[i].Claim.Begin()
	}
	return batch
}

// runThenWait runs two calls and has each wait for replicas.
func runThenWait(
	t *testing.T, b *rueidisbackend.Backend, replicas int, timeout time.Duration,
) (outcomes [2]backend.Outcome) {
	t.Helper()
	call := backend.Call{Script: write, Keys: []string{"k"}}
	b.RunThenWait(t.Context(), []backend.Call{call, call}, replicas, timeout,
		func(place int, o backend.Outcome) { outcomes[place] = o })
	return outcomes
}

// TestRunThenWait waits for less than the shortest time that a server knows: 0 is for ever.
func TestRunThenWait(t *testing.T) {
	t.Parallel()
	waited := ":2\r\n"
	f := &fakeServer{answer: func(words []string) string {
		if words[0] == "WAIT" {
			return waited
		}
		return "+done\r\n"
	}}
	b := f.connect(t)
	for _, o := range runThenWait(t, b, 3, time.Microsecond) {
		require.Equal(t, backend.Outcome{Reply: backend.StringReply("done"), Acked: 2}, o)
	}
	require.Equal(t, "WAIT 3 1", f.commands()[2])
	waited = "+many\r\n"
	for _, o := range runThenWait(t, b, 3, time.Second) {
		require.ErrorIs(t, o.Err, backend.ErrReplicas)
	}
}

func TestErrorInsideAnArrayIsNotAnAnswer(t *testing.T) {
	t.Parallel()
	f := &fakeServer{answer: func([]string) string { return "*1\r\n-NOSCRIPT x\r\n" }}
	_, err := f.connect(t).Run(t.Context(), write, []string{"k"}, nil)
	require.ErrorIs(t, err, backend.ErrReply)
	require.False(t, errors.As(err, new(*backend.ServerError)))
	require.Len(t, f.commands(), 1)
	require.True(t, strings.HasPrefix(f.commands()[0], "EVALSHA "))
}

// A list of slots that lacks a slot, as in the middle of a move or before a cluster is whole, is not used again.
func TestSlotWithoutAPrimaryIsLookedUpAgain(t *testing.T) {
	t.Parallel()
	var last atomic.Int32
	last.Store(8191) // The slot of "b" is below, that of "a" is above.
	f := &fakeServer{answer: func(words []string) string {
		if words[0] == "CLUSTER" {
			return fmt.Sprintf("*1\r\n*3\r\n:0\r\n:%d\r\n*2\r\n%s:1\r\n", last.Load(), bulk("127.0.0.1"))
		}
		return ok
	}}
	b := f.cluster(t)
	_, err := b.Subscribe(t.Context(), "b", func(backend.Event) {})
	require.NoError(t, err)
	last.Store(16383)
	_, err = b.Subscribe(t.Context(), "a", func(backend.Event) {})
	require.NoError(t, err)
}

// cluster returns a backend on a client of a cluster whose nodes all answer as the server does. New asks it
// nothing.
func (f *fakeServer) cluster(t *testing.T) *rueidisbackend.Backend {
	t.Helper()
	return clusterBy(t, f.dial)
}

func clusterBy(t *testing.T, dial func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error)) *rueidisbackend.Backend {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{"127.0.0.1:1"}, DisableCache: true, ConnWriteTimeout: patience, DialCtxFn: dial,
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	b := must(rueidisbackend.New(client, &rueidisbackend.Options{Sharded: backend.ShardedOff}))(t)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	require.True(t, b.Capabilities().Cluster)
	return b
}

// TestNodeThatRedirectsToItself has a cluster all of whose nodes announce one address.
func TestNodeThatRedirectsToItself(t *testing.T) {
	t.Parallel()
	for _, redirect := range []string{"MOVED", "ASK"} {
		synctest.Test(t, func(t *testing.T) {
			var asked atomic.Int32
			f := &fakeServer{}
			f.answer = func(words []string) string {
				switch {
				case words[0] == "CLUSTER":
					return fmt.Sprintf("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n%s:1\r\n", bulk("127.0.0.1"))
				case words[0] == "ASKING", asked.Add(1) > 1000: // or the test would never end
					return ok
				}
				return fmt.Sprintf("-%s %d 127.0.0.1:1\r\n", redirect, backend.Slot("k"))
			}
			t.Cleanup(func() { // The driver forgets connections.
				time.Sleep(time.Minute)
				f.hangUp(f.open()...)
			})
			b := f.cluster(t)
			fast := *write
			fast.FailFast = true
			_, err := b.Run(t.Context(), &fast, []string{"k"}, nil)
			require.ErrorIs(t, err, backend.ErrUnavailable)
			require.NotErrorIs(t, err, backend.ErrIndeterminate)
			call := backend.Call{Script: &fast, Keys: []string{"k"}}
			for _, o := range backend.RunAll(t.Context(), b, []backend.Call{call, call}) {
				require.ErrorIs(t, o.Err, backend.ErrUnavailable)
			}
			require.Less(t, asked.Load(), int32(200))
		})
	}
}

// TestAfterAFailover: a primary of all slots and its replica change places before each call. It goes to the new primary.
func TestAfterAFailover(t *testing.T) {
	t.Parallel()
	var primary atomic.Int32
	b := clusterBy(t, func(ctx context.Context, to string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
		node := int32(to[len(to)-1] - '0')
		f := &fakeServer{answer: func(words []string) string {
			now := primary.Load()
			switch {
			case words[0] == "CLUSTER":
				host := "*2\r\n" + bulk("127.0.0.1")
				return fmt.Sprintf("*1\r\n*4\r\n:0\r\n:16383\r\n%s:%d\r\n%s:%d\r\n", host, now, host, 1-now)
			case words[0] == "SCAN": // A replica has keys, too, some of them too late.
				return fmt.Sprintf("*2\r\n+0\r\n*1\r\n:%d\r\n", node)
			case words[0] != "SCRIPT" && node != now:
				return fmt.Sprintf("-MOVED %d 127.0.0.1:%d\r\n", backend.Slot("k"), now)
			}
			return fmt.Sprintf(":%d\r\n", node)
		}}
		return f.dial(ctx, to, d, c)
	})
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
			for _, o := range runThenWait(t, b, 1, time.Second) {
				require.Equal(t, backend.Outcome{Reply: want, Acked: now}, o)
			}
		case 2:
			require.Equal(t, want, must(b.Run(t.Context(), write, []string{"k"}, nil))(t))
		}
	}
}

// TestNewClientClosesItsBackend closes a client: its backend is closed, and the driver's client can still be used. So it
// can after a bad option.
func TestNewClientClosesItsBackend(t *testing.T) {
	t.Parallel()
	f := &fakeServer{answer: func([]string) string { return ok }}
	conn := f.client(t)
	client := must(rueidisbackend.NewClient(conn, nil))(t)
	require.NoError(t, client.Close(t.Context()))
	one := backend.NewScript("one", "return 1", 1, backend.RetryReadOnly)
	require.ErrorIs(t, errOf(client.Core().Backend().Run(t.Context(), one, []string{"x"}, nil)), backend.ErrClosed)
	_, err := rueidisbackend.NewClient(conn, &primitives.Options{WatchdogLease: 1})
	require.ErrorAs(t, err, new(*primitives.FieldError))
	require.NoError(t, conn.Do(t.Context(), conn.B().Ping().Build()).Error())
}
