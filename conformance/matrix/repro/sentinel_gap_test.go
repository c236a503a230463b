package repro

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
)

// sentinel names the primary, and no more.
type sentinel struct {
	*server.Server

	mu      sync.Mutex
	primary string
	silent  bool // it does not announce who is the primary now
	subs    []*server.Peer
}

func newSentinel(t *testing.T, primary string) *sentinel {
	t.Helper()
	listening := cells.Got(server.NewServer("127.0.0.1:0"))(t)
	t.Cleanup(listening.Close)
	s := &sentinel{Server: listening, primary: primary}
	s.SetPreHook(s.answer)
	return s
}

// answer replies to a command.
func (s *sentinel) answer(c *server.Peer, command string, words ...string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch command {
	case "SENTINEL":
		if strings.EqualFold(words[0], "get-master-addr-by-name") {
			c.WriteStrings(strings.Split(s.primary, ":"))
		} else {
			c.WriteLen(0)
		}
	case "CLIENT", "AUTH", "SELECT":
		c.WriteOK()
	case "PING":
		c.WriteInline("PONG")
	case "SUBSCRIBE", "PSUBSCRIBE":
		s.subs = append(s.subs, c)
		for i, channel := range words {
			c.WriteLen(3)
			c.WriteBulk(strings.ToLower(command))
			c.WriteBulk(channel)
			c.WriteInt(i + 1)
		}
	case "ROLE":
		c.WriteLen(2)
		c.WriteBulk("sentinel")
		c.WriteStrings([]string{"hasp"})
	case "HELLO":
		c.WriteStrings([]string{"version", "7.0.15", "proto", "2", "mode", "sentinel"})
	default:
		c.WriteError("ERR unknown command")
	}
	return true
}

// promote makes to the primary. Nobody touches the old one.
func (s *sentinel) promote(to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	payload := "hasp " + strings.ReplaceAll(s.primary+" "+to, ":", " ")
	s.primary = to
	if s.silent {
		return
	}
	for _, c := range s.subs {
		c.WriteStrings([]string{"message", "+switch-master", payload})
		c.Flush()
	}
}

// S2: after a failover the handler gets a Resubscribed event within 15 s. The old primary lives on,
// cut off from its sentinels and replicas, but not from the client.
func TestSubscriptionFollowsTheSentinel(t *testing.T) {
	side(t, func(t *testing.T, a cells.Adapter) { followsTheSentinel(t, a, false) })
}

// TestSubscriptionFollowsAMissedMessage does not announce the failover. Of the drivers go-redis's
// asks again by itself.
func TestSubscriptionFollowsAMissedMessage(t *testing.T) {
	t.Parallel()
	followsTheSentinel(t, cells.Named("GoRedis"), true)
}

func followsTheSentinel(t *testing.T, a cells.Adapter, silent bool) {
	t.Helper()
	one, two := servers.Start(t, servers.Redis, nil), servers.Start(t, servers.Redis, nil)
	s := newSentinel(t, one.Addr())
	s.silent = silent
	b := a.Backend(t, cells.Client{Addrs: []string{s.Addr().String()}, Master: "hasp", RESP2: true})
	events := make(chan backend.Event, 100)
	require.NoError(t, cells.Err(b.Subscribe(t.Context(), "news", func(e backend.Event) { events <- e })))
	cells.Text(t, one, "PUBLISH", "news", "before")
	require.Equal(t, backend.Event{Payload: "before"}, <-events)

	s.promote(two.Addr())
	select {
	case e := <-events:
		require.Equal(t, backend.EventResubscribed, e.Kind)
	case <-time.After(20 * time.Second): // 15 s, and something for a slow machine
		listeners := cells.Got(one.Do("PUBSUB", "NUMSUB", "news"))(t)
		t.Fatal("neither a message nor a gap was reported; the old primary's listeners:", listeners)
	}
	require.Equal(t, "PONG", cells.Text(t, one, "PING"), "the old primary was to live on")
	cells.Text(t, two, "PUBLISH", "news", "after")
	require.Equal(t, backend.Event{Payload: "after"}, <-events)

	// What the client sends goes to the same server.
	where := backend.NewScript(
		"where", "return redis.call('set', KEYS[1], '1')", 1, backend.RetryRepeatable)
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		_, err := b.Run(ctx, where, []string{"k"}, nil)
		reply, getErr := two.Do("GET", "k")
		return err == nil && getErr == nil && !reply.IsNil()
	}, 20*time.Second, 50*time.Millisecond)
}
