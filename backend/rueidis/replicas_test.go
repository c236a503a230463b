package rueidisbackend_test

import (
	"context"
	"crypto/tls"
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
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
)

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
