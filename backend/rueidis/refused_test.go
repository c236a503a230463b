package rueidisbackend_test

import (
	"fmt"
	"sync/atomic"
	"testing"
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
