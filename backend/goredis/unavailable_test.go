package goredisbackend_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter/testdata/adaptertest"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
)

// silent returns the address of a server that takes connections and never answers.
func silent(t *testing.T) string {
	t.Helper()
	listener := adaptertest.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

// requireUnavailable runs a script under a context that does not end, and checks that it fails in
// time, and certainly wrote nothing.
func requireUnavailable(t *testing.T, b backend.Backend) {
	t.Helper()
	began := time.Now()
	_, err := b.Run(context.Background(), script, []string{"k"}, nil)
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.False(t, backend.MayHaveRun(err))
	outcomes := backend.RunAll(context.Background(), b.(backend.Batcher), []backend.Call{
		{Script: script, Keys: []string{"k"}}, {Script: script, Keys: []string{"k"}},
	})
	for _, outcome := range outcomes {
		require.ErrorIs(t, outcome.Err, backend.ErrUnavailable)
		require.False(t, backend.MayHaveRun(outcome.Err))
	}
	require.Less(t, time.Since(began), 40*time.Second, "two tries of 5 s each")
}

func TestSilentServersAreUnavailable(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]redis.UniversalClient{
		"Server": redis.NewClient(&redis.Options{Addr: silent(t), ReadTimeout: time.Minute}),
		"Sentinels": redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: "hasp", SentinelAddrs: []string{silent(t), silent(t)},
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requireUnavailable(t, over(t, closing(t, client)))
		})
	}
}

// All connections of the pool are the application's, for longer than the driver or the backend waits for one, if they wait.
func TestUsedUpPoolIsUnavailable(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]redis.Options{
		"BeforeTheBound": {PoolSize: 1, PoolTimeout: 50 * time.Millisecond},
		"AfterTheBound":  {PoolSize: 1, PoolTimeout: time.Minute},
		"AtOnce":         {PoolSize: 5, MaxActiveConns: 1},
	} {
		for _, clustered := range []bool{false, true} {
			if clustered && o.PoolTimeout == time.Minute {
				continue // There the driver's own bounds apply.
			}
			t.Run(fmt.Sprint(name, clustered), func(t *testing.T) {
				t.Parallel()
				ended, release := context.WithCancel(t.Context())
				defer release()
				s := node(t, func(words []string) string {
					if words[0] == "x" {
						<-ended.Done()
					}
					return ":1\r\n"
				})
				o := o
				o.Addr, o.PipelinePoolSize, o.ReadTimeout = s.Addr, -1, time.Minute
				var client redis.UniversalClient = closing(t, redis.NewClient(&o))
				if clustered {
					client = cluster(t, s.Addr, s.Addr, s.Addr, redis.ClusterOptions{
						PoolSize: o.PoolSize, PoolTimeout: o.PoolTimeout, MaxActiveConns: o.MaxActiveConns, PipelinePoolSize: -1, ReadTimeout: time.Minute,
					})
				}
				b := over(t, client)
				application := make(chan error, 1)
				go func() { application <- client.Process(t.Context(), redis.NewCmd(t.Context(), "x", "b")) }()
				require.Eventually(t, func() bool { return s.Count("x b") == 1 }, time.Minute, time.Millisecond)
				requireUnavailable(t, b)
				require.Zero(t, s.Count("EVALSHA"))
				release()
				require.NoError(t, <-application)
			})
		}
	}
}

// hook is an application's, which gets each command before the driver writes it.
type hook func(cmd redis.Cmder)

func (hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { h(cmd); return next(ctx, cmd) }
}

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			h(cmd)
		}
		return next(ctx, cmds)
	}
}

func TestPanicOfHook(t *testing.T) {
	t.Parallel()
	s := newFakeServer(t, func([]string) string { return ":1\r\n" })
	client := closing(t, redis.NewClient(&redis.Options{Addr: s.Addr, ContextTimeoutEnabled: true}))
	client.AddHook(hook(func(redis.Cmder) { panic("hook") }))
	b := over(t, client)
	call := backend.Call{Script: script, Keys: []string{"k"}}
	require.PanicsWithValue(t, "hook", func() { _, _ = b.Run(t.Context(), script, call.Keys, nil) })
	require.PanicsWithValue(t, "hook", func() { _ = runUntil(t, b, time.Minute) })
	require.PanicsWithValue(t, "hook", func() { backend.RunAll(t.Context(), b, []backend.Call{call, call}) })
	require.PanicsWithValue(t, "hook", func() {
		b.RunThenWait(t.Context(), []backend.Call{call}, 1, time.Second, nil)
	})
}

// TestNoPrimaryIsReached makes a backend over a cluster of which nothing can be reached: that says nothing of what the
// servers support.
func TestNoPrimaryIsReached(t *testing.T) {
	t.Parallel()
	client := closing(t, redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}}))
	_, err := goredisbackend.New(client, nil)
	require.ErrorIs(t, err, backend.ErrUnavailable)
	require.NotErrorIs(t, err, backend.ErrNotSupported)
}

// brokenConn fails as package net does, once, when a script is sent or its reply is read.
type brokenConn struct {
	net.Conn
	op     string // "write" or "read"
	sent   bool   // the server gets the script before the write fails
	armed  *atomic.Bool
	script bool // the next read is of its reply
}

func (c *brokenConn) Write(b []byte) (int, error) {
	if c.script = bytes.Contains(b, []byte("EVALSHA")); !c.script || c.op != "write" || !c.armed.CompareAndSwap(true, false) {
		return c.Conn.Write(b)
	}
	n := 0
	if c.sent {
		n, _ = c.Conn.Write(b)
	}
	return n, &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}
}

func (c *brokenConn) Read(b []byte) (int, error) {
	if !c.script || c.op != "read" || !c.armed.CompareAndSwap(true, false) {
		return c.Conn.Read(b)
	}
	return 0, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
}

// TestBrokenLink breaks the link at each operation of a call. Only a dial proves that nothing was sent: whatever else
// fails, the outcome is unknown, and nothing is sent again, although a second try would succeed.
func TestBrokenLink(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]struct {
		op   string
		sent bool
	}{"Write": {"write", false}, "WriteThatArrived": {"write", true}, "Read": {"read", true}} {
		for way, call := range map[string]func(b backend.Backend) error{
			"Run": func(b backend.Backend) error {
				_, err := b.Run(t.Context(), script, []string{"k"}, nil)
				return err
			},
			"RunBatch": func(b backend.Backend) error {
				calls := []backend.Call{{Script: script, Keys: []string{"k"}}, {Script: script, Keys: []string{"k"}}}
				return backend.RunAll(t.Context(), b.(backend.Batcher), calls)[1].Err
			},
			"RunThenWait": func(b backend.Backend) (err error) {
				calls := []backend.Call{{Script: script, Keys: []string{"k"}}}
				b.(backend.ReplicaWaiter).RunThenWait(t.Context(), calls, 0, 0, func(_ int, o backend.Outcome) { err = o.Err })
				return err
			},
		} {
			t.Run(name+way, func(t *testing.T) {
				t.Parallel()
				s := newFakeServer(t, func([]string) string { return ":1\r\n" })
				armed := new(atomic.Bool)
				b := connect(t, s, redis.Options{
					MaxRetries: 5, Protocol: 2, DisableIdentity: true,
					Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
						conn, err := new(net.Dialer).DialContext(ctx, network, addr)
						return &brokenConn{Conn: conn, op: broken.op, sent: broken.sent, armed: armed}, err
					},
				})
				armed.Store(true)
				require.ErrorIs(t, call(b), backend.ErrIndeterminate)
				require.False(t, armed.Load(), "the link has broken")
				require.LessOrEqual(t, s.Count("EVALSHA"), 2, "each call is sent once at most")
			})
		}
	}
}

// answers has the answers to commands by their names.
type answers map[string]string

func (a answers) to(name string) string { return a[name] }

// refusals are error replies and nulls to each command that sets up a connection.
var refusals = map[string]struct {
	answers answers
	text    string
}{
	"AUTH": {
		answers{"HELLO": "-WRONGPASS bad pair\r\n", "AUTH": "-WRONGPASS bad pair\r\n"}, "WRONGPASS bad pair",
	},
	"AUTH of null":       {answers{"HELLO": "-ERR unknown command\r\n", "AUTH": "$-1\r\n"}, "redis: nil"},
	"SELECT":             {answers{"SELECT": "-ERR DB index is out of range\r\n"}, "DB index is out of range"},
	"SELECT of a BUSY":   {answers{"SELECT": "-BUSY Redis is busy\r\n"}, "BUSY Redis is busy"},
	"SELECT of null":     {answers{"SELECT": "_\r\n"}, "redis: nil"},
	"CLIENT":             {answers{"CLIENT": "-NOPERM no permissions\r\n"}, "NOPERM no permissions"},
	"CLIENT of READONLY": {answers{"CLIENT": "-READONLY a replica\r\n"}, "READONLY a replica"},
}

// TestRefusedConnection: a server that refuses what sets up a connection has answered no call, and executed none.
func TestRefusedConnection(t *testing.T) {
	t.Parallel()
	for name, refused := range refusals {
		for kind, options := range map[string]redis.Options{
			"": {}, "RESP2": {Protocol: 2}, "ContextTimeoutEnabled": {ContextTimeoutEnabled: true}, "hook": {},
		} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				s := newFakeServer(t, ok)
				s.SetUp(refused.answers.to)
				options.Addr, options.Password, options.DB, options.ClientName = s.Addr, "one", 1, "name"
				client := closing(t, redis.NewClient(&options))
				if kind == "hook" {
					client.AddHook(hook(func(cmd redis.Cmder) { _ = fmt.Sprint(cmd, cmd.Args()) })) // As those for tracing do.
				}
				adaptertest.Refused(t, refusedOver(t, client), s, refused.text)
			})
		}
	}
}

// TestRefusedConnectionOfCluster: there a command that is sent alone is led to its node by its words.
func TestRefusedConnectionOfCluster(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"AUTH", "AUTH of null", "CLIENT"} {
		one := node(t, ok)
		one.SetUp(refusals[name].answers.to)
		client := cluster(t, one.Addr, one.Addr, one.Addr, redis.ClusterOptions{Password: "one", ClientName: "name"})
		adaptertest.Refused(t, refusedOver(t, client), one, refusals[name].text)
	}
}

// TestRefusedAfterRedirect: the first node's MOVED is no reply of the node that refuses the connection.
func TestRefusedAfterRedirect(t *testing.T) {
	t.Parallel()
	two := node(t, ok)
	two.SetUp(refusals["CLIENT"].answers.to)
	one := node(t, func([]string) string { return "-MOVED 1 " + two.Addr + "\r\n" })
	one.SetUp(answers{"CLIENT": "+OK\r\n"}.to)
	client := cluster(t, one.Addr, one.Addr, one.Addr, redis.ClusterOptions{ClientName: "name"})
	_, err := refusedOver(t, client).Run(t.Context(), read, []string{"b"}, nil)
	adaptertest.NotExecuted(t, err, "NOPERM no permissions")
}

// TestRefusedConnectionSaysNothingOfSharding: its code is that of a server that does not know the subcommand.
func TestRefusedConnectionSaysNothingOfSharding(t *testing.T) {
	t.Parallel()
	one := node(t, ok)
	one.SetUp(answers{"CLIENT": "-ERR unknown subcommand\r\n"}.to)
	client := cluster(t, one.Addr, one.Addr, one.Addr, redis.ClusterOptions{ClientName: "name"})
	require.ErrorContains(t, adaptertest.ErrOf(goredisbackend.New(client, nil)), "refused the connection: ERR unknown subcommand")
}

// TestLoadOnRefusedConnection: pipelines have connections of their own, and the server refuses that of the loading.
func TestLoadOnRefusedConnection(t *testing.T) {
	t.Parallel()
	s := newFakeServer(t, func([]string) string { return "-NOSCRIPT x\r\n" })
	var selects atomic.Int32
	refuse := func(name string) string {
		switch {
		case name != "SELECT":
			return ""
		case selects.Add(1) == 1:
			return "+OK\r\n"
		}
		return "-ERR DB index is out of range\r\n"
	}
	s.SetUp(refuse)
	client := closing(t, redis.NewClient(&redis.Options{Addr: s.Addr, DB: 1, PipelineReadBufferSize: 4096})) // before 9.23 it takes this
	call := backend.Call{Script: script, Keys: []string{"b"}}
	for _, o := range backend.RunAll(t.Context(), over(t, client), []backend.Call{call, call}) {
		require.ErrorIs(t, o.Err, backend.ErrUnavailable)
		require.ErrorContains(t, o.Err, "DB index is out of range")
		require.False(t, backend.MayHaveRun(o.Err))
	}
}

// refusedOver returns a backend that sends what was refused not again.
func refusedOver(t *testing.T, client redis.UniversalClient) *goredisbackend.Backend {
	t.Helper()
	b := adaptertest.Must(goredisbackend.New(client, &goredisbackend.Options{Sharded: backend.ShardedOff, RefusedFor: -1}))(t)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// none as an answer is none.
const none = ""

func newFakeServer(t *testing.T, answer func(words []string) string) *adaptertest.Server {
	t.Helper()
	return (&adaptertest.Server{Answer: answer}).Listen(t)
}

// closing returns a client, which closes with the test.
func closing[C redis.UniversalClient](t *testing.T, client C) C {
	t.Helper()
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// connect returns a backend over a client of s.
func connect(t *testing.T, s *adaptertest.Server, opts redis.Options) *goredisbackend.Backend {
	t.Helper()
	opts.Addr = s.Addr
	return over(t, closing(t, redis.NewClient(&opts)))
}

// connectOne returns one with a single connection to a server, which listens from now on.
func connectOne(t *testing.T, s *adaptertest.Server) adaptertest.Adapter {
	t.Helper()
	return connect(t, s.Listen(t), redis.Options{PoolSize: 1})
}
