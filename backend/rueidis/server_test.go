package rueidisbackend_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter/testdata/adaptertest"
	"github.com/hasp-go/hasp/backend/fanout"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
)

// refusing returns a client of the server, which ends the client's only connection, and answers all of the next ones with
// refusal.
func (f *fakeServer) refusing(t *testing.T, refusal string, opts rueidis.ClientOption) rueidis.Client {
	t.Helper()
	opts.PipelineMultiplex = -1
	client := newClient(t, f.dial, opts)
	require.Error(t, client.Do(t.Context(), client.B().Arbitrary("x").Keys("k").Build()).Error())
	f.SetUp(func(string) string { return refusal })
	return client
}

// runs answers scripts, and ends the connection of an x.
func runs(words []string) string {
	switch words[0] {
	case "x":
		return adaptertest.HangUp
	case "CLUSTER":
		return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n" + adaptertest.Bulk("127.0.0.1") + ":1\r\n"
	}
	return ":1\r\n"
}

// TestRefusedConnection: a server that refuses what sets up a connection has answered no call, and executed none.
func TestRefusedConnection(t *testing.T) {
	t.Parallel()
	for refusal, text := range map[string]string{
		"-WRONGPASS bad pair\r\n":                "refused the connection: WRONGPASS bad pair",
		"-ERR max number of clients reached\r\n": "refused the connection: max number of clients reached",
		"-BUSY Redis is busy\r\n":                "refused the connection: BUSY Redis is busy",
		"_\r\n":                                  "refused the connection: ",
	} {
		for name, resp2 := range map[string]bool{" RESP2": true, " RESP3": false} {
			t.Run(text+name, func(t *testing.T) {
				t.Parallel()
				f := answering(runs)
				client := f.refusing(t, refusal, rueidis.ClientOption{AlwaysRESP2: resp2, ForceSingleClient: true})
				adaptertest.Refused(t, over(t, client, &rueidisbackend.Options{RefusedFor: -1}), f.Server, text)
			})
		}
	}
}

// TestRefusedConnectionSaysNothingOfSharding: its code is that of a server that does not know the subcommand.
func TestRefusedConnectionSaysNothingOfSharding(t *testing.T) {
	t.Parallel()
	f := answering(runs)
	client := f.refusing(t, "-ERR max number of clients reached\r\n", rueidis.ClientOption{})
	_, err := rueidisbackend.New(client, nil)
	require.ErrorContains(t, err, "refused the connection: max number of clients reached")
}

// clusterOf returns a client of a cluster of one node whose list of slots is what list says then.
func (f *fakeServer) clusterOf(t *testing.T, list *atomic.Value) (rueidis.Client, *rueidisbackend.Backend) {
	t.Helper()
	f.Answer = func(words []string) string {
		switch words[0] {
		case "CLUSTER":
			return list.Load().(string) //nolint:forcetypeassert // It has nothing else.
		case "SUBSCRIBE":
			return adaptertest.Ack(words)
		}
		return ":1\r\n"
	}
	client := newClient(t, f.dial, rueidis.ClientOption{PipelineMultiplex: -1})
	return client, over(t, client, &rueidisbackend.Options{
		Sharded: backend.ShardedOff, PubSub: &fanout.Options{PingEvery: time.Millisecond},
	})
}

// slotList is a list of the slot of the channel c alone.
func slotList() string {
	return fmt.Sprintf("*1\r\n*3\r\n:%[1]d\r\n:%[1]d\r\n*2\r\n$9\r\n127.0.0.1\r\n:1\r\n", backend.Slot("c"))
}

// TestNodesAreForgotten: after a list of slots that is none, a client has no nodes until a command asks again.
// Subscriptions do not need another's command, and a link stays.
func TestNodesAreForgotten(t *testing.T) {
	t.Parallel()
	ignore := func(backend.Event) {}
	for name, none := range map[string]string{"a text": adaptertest.OK, "a number": ":12345678\r\n", "no items": "*0\r\n"} {
		t.Run("Subscribe/"+name, func(t *testing.T) {
			t.Parallel()
			f := answering(nil)
			var list atomic.Value
			list.Store(none)
			client, b := f.clusterOf(t, &list)
			require.Empty(t, client.Nodes())
			list.Store(slotList())
			require.NoError(t, adaptertest.ErrOf(b.Subscribe(t.Context(), "c", ignore)))
		})
		t.Run("Link/"+name, func(t *testing.T) {
			t.Parallel()
			f := answering(nil)
			var list atomic.Value
			list.Store(slotList())
			client, b := f.clusterOf(t, &list)
			require.NoError(t, adaptertest.ErrOf(b.Subscribe(t.Context(), "c", ignore)))
			list.Store(none)
			require.ErrorIs(t, client.Do(t.Context(), client.B().Get().Key("other").Build()).Error(), rueidis.ErrNoSlot)
			require.Empty(t, client.Nodes())
			before := f.Count("SUBSCRIBE c\n")
			require.Eventually(t, func() bool { return f.Count("SUBSCRIBE c\n") > before+50 }, 10*time.Second, time.Millisecond)
		})
	}
}

// elsewhere is a client whose only node is another by now, as that of Sentinel after a failover.
type elsewhere struct {
	rueidis.Client
	moved atomic.Bool
}

func (e *elsewhere) Nodes() map[string]rueidis.Client {
	return map[string]rueidis.Client{map[bool]string{false: "127.0.0.1:1", true: "127.0.0.1:2"}[e.moved.Load()]: e.Client}
}

// TestLinkLeavesANodeThatTheClientHasLeft: though its connection is sound.
func TestLinkLeavesANodeThatTheClientHasLeft(t *testing.T) {
	t.Parallel()
	f := answering(func(words []string) string {
		if words[0] == "SUBSCRIBE" {
			return adaptertest.Ack(words)
		}
		return ":1\r\n"
	})
	client := &elsewhere{Client: f.client(t)}
	b := adaptertest.Must(rueidisbackend.New(client, &rueidisbackend.Options{PubSub: &fanout.Options{PingEvery: 10 * time.Millisecond}}))(t)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	events := make(chan backend.Event, 100)
	require.NoError(t, adaptertest.ErrOf(b.Subscribe(t.Context(), "c", func(e backend.Event) { events <- e })))
	client.moved.Store(true)
	require.Eventually(t, func() bool { return len(events) > 0 }, 20*time.Second, time.Millisecond)
}

const noScript = "-NOSCRIPT No matching script.\r\n"

// movingAddress leads to the last of its servers.
type movingAddress struct {
	servers []*fakeServer
	dials   atomic.Int32
}

// connect returns a backend on a client of the address, which closes with the bubble.
func (a *movingAddress) connect(t *testing.T) *rueidisbackend.Backend {
	t.Helper()
	t.Cleanup(func() { time.Sleep(time.Minute) }) // The connections' timers end.
	client := newClient(t, func(ctx context.Context, to string, d *net.Dialer, c *tls.Config) (net.Conn, error) {
		a.dials.Add(1)
		return a.servers[len(a.servers)-1].dial(ctx, to, d, c)
	}, rueidis.ClientOption{ForceSingleClient: true, ConnWriteTimeout: patience, PipelineMultiplex: -1})
	return over(t, client, nil)
}

// primary is a server with a replica.
func primary() *fakeServer {
	return answering(func(words []string) string {
		if words[0] == "WAIT" {
			return ":1\r\n"
		}
		return adaptertest.OK
	})
}

// demote makes the server a replica that has no script. Its connections stay open.
func (f *fakeServer) demote() {
	loaded := false
	f.Answer = func(words []string) string {
		switch {
		case words[0] == "WAIT":
			return "-ERR WAIT cannot be used with replica instances.\r\n"
		case words[0] == "SCRIPT":
			loaded = true
			return adaptertest.OK
		case loaded:
			return "-READONLY You can't write against a read only replica.\r\n"
		}
		return noScript
	}
}

func requireAcked(t *testing.T, b *rueidisbackend.Backend) {
	t.Helper()
	for _, o := range adaptertest.RunThenWait(t, b, 2, 1, time.Second) {
		require.Equal(t, backend.Outcome{Reply: backend.StringReply("OK"), Acked: 1}, o)
	}
}

// TestConnectionOfReplicasIsKept has calls wait for replicas one after the other: they share a connection, which never
// goes back to the client's pool, since the driver would unsubscribe there.
func TestConnectionOfReplicasIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &movingAddress{servers: []*fakeServer{primary()}}
		b := a.connect(t)
		for range 10 {
			requireAcked(t, b)
			time.Sleep(900 * time.Millisecond)
		}
		for _, command := range a.servers[0].Commands() {
			require.True(t, strings.HasPrefix(command, "EVALSHA ") || strings.HasPrefix(command, "WAIT "), command)
		}
		require.EqualValues(t, 2, a.dials.Load(), "one is the client's own")
		time.Sleep(2 * time.Second)
		requireAcked(t, b)
		require.EqualValues(t, 3, a.dials.Load(), "an old one is not used any more")
		require.NoError(t, b.Close())
		synctest.Wait()
		require.Len(t, a.servers[0].Open(), 1)
	})
}

// TestConnectionOfReplicasBreaks has the server close idle connections, or become a replica.
func TestConnectionOfReplicasBreaks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &movingAddress{servers: []*fakeServer{primary()}}
		b := a.connect(t)
		requireAcked(t, b)
		a.servers[0].HangUp(a.servers[0].Open()...)
		synctest.Wait()
		requireAcked(t, b)
		a.servers[0].demote()
		a.servers = append(a.servers, primary())
		requireAcked(t, b)
	})
}

// TestAddressMoves has a primary demoted whose connections stay open, while the address leads to its successor, which
// has no script yet.
func TestAddressMoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &movingAddress{servers: []*fakeServer{primary()}}
		b := a.connect(t)
		run := func() { require.NoError(t, adaptertest.ErrOf(b.Run(t.Context(), write, []string{"k"}, nil))) }
		run()
		a.servers[0].demote()
		next := primary()
		loaded := false
		next.Answer = func(words []string) string {
			loaded = loaded || words[0] == "SCRIPT"
			if words[0] == "EVALSHA" && !loaded {
				return noScript
			}
			return adaptertest.OK
		}
		a.servers = append(a.servers, next)
		start := time.Now()
		run()
		require.Less(t, time.Since(start), time.Second)
		call := backend.Call{Script: write, Keys: []string{"k"}}
		for _, o := range backend.RunAll(t.Context(), b, []backend.Call{call, call}) {
			require.NoError(t, o.Err)
		}
		refused := len(a.servers[0].Commands())
		require.Less(t, refused, 10)

		next.HangUp(next.Open()...) // The detour breaks. The client's own connection is asked again.
		synctest.Wait()
		run()
		time.Sleep(11 * time.Second) // Likewise after some time.
		run()
		require.LessOrEqual(t, len(a.servers[0].Commands()), refused+10)
	})
}

// patience is that of the client with a server that is silent.
const patience = time.Minute

// fakeServer is a server that needs no address.
type fakeServer struct {
	*adaptertest.Server
	before func() // called by each dial; nil: nothing
}

// answering returns a server that answers by a function.
func answering(answer func(words []string) string) *fakeServer {
	return &fakeServer{Server: &adaptertest.Server{Answer: answer}}
}

// client returns a client whose connections lead to the server.
func (f *fakeServer) client(t *testing.T) rueidis.Client {
	t.Helper()
	return newClient(t, f.dial, rueidis.ClientOption{ForceSingleClient: true, ConnWriteTimeout: patience})
}

// newClient returns a client of an address, which is dialed by a function. It is closed with the test.
func newClient(t *testing.T, dial dialer, opts rueidis.ClientOption) rueidis.Client {
	t.Helper()
	opts.InitAddress, opts.DialCtxFn, opts.DisableCache = []string{"127.0.0.1:1"}, dial, true
	client := adaptertest.Must(rueidis.NewClient(opts))(t)
	t.Cleanup(client.Close)
	return client
}

type dialer = func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error)

// connect returns a backend on a client of the server.
func (f *fakeServer) connect(t *testing.T) *rueidisbackend.Backend {
	t.Helper()
	return over(t, f.client(t), nil)
}

// over returns a backend on a client. It is closed with the test.
func over(t *testing.T, client rueidis.Client, opts *rueidisbackend.Options) *rueidisbackend.Backend {
	t.Helper()
	b := adaptertest.Must(rueidisbackend.New(client, opts))(t)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

// connect returns one on a server of a test of all adapters.
func connect(t *testing.T, s *adaptertest.Server) adaptertest.Adapter {
	t.Helper()
	return (&fakeServer{Server: s}).connect(t)
}

func (f *fakeServer) dial(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
	if f.before != nil {
		f.before()
	}
	return dial(f.Server), nil
}

// dial returns a connection to a server.
func dial(s *adaptertest.Server) net.Conn {
	near, far := net.Pipe()
	go s.Serve(far)
	return near
}
