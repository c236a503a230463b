package servers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers"
)

func TestProxyCutReply(t *testing.T) {
	t.Parallel()
	p, s := proxied(t)
	c, other := dial(t, p.Addr()), dial(t, p.Addr())
	fault := p.CutReply(servers.Command("incr"))
	for _, words := range [][]string{{"ECHO", "before"}, {"INCR", "n"}, {"ECHO", "after"}} {
		require.NoError(t, c.Send(words...))
	}
	requireText(t, c, "before")
	requireCut(t, c)
	<-fault.Hit()
	require.Equal(t, "1", get(t, s, "n"))
	reply, err := other.Do("INCR", "n")
	require.NoError(t, err, "only one request is hit")
	require.Equal(t, backend.IntegerReply(2), reply)
}

func TestProxyLoseReply(t *testing.T) {
	t.Parallel()
	p, s := proxied(t)
	c := dial(t, p.Addr())
	script := backend.NewScript("incr", "return redis.call('incr', KEYS[1])", 1, backend.Never)
	_, err := s.Do("SCRIPT", "LOAD", script.Source)
	require.NoError(t, err)
	fault := p.LoseReply(servers.Script(script))
	ping(t, c)
	require.NoError(t, c.Send("EVALSHA", script.SHA1, "1", "n"))
	<-fault.Hit()
	require.Equal(t, "1", get(t, s, "n"))
	require.NoError(t, c.Send("PING"))
	requireSilence(t, c)
	ping(t, dial(t, p.Addr()))
	p.Heal()
	requireCut(t, c)
}

func TestProxyHoldRequest(t *testing.T) {
	t.Parallel()
	p, s := proxied(t)
	c := dial(t, p.Addr())
	fault := p.HoldRequest(servers.Command("SET"), 0)
	require.NoError(t, c.Send("SET", "key", "value"))
	<-fault.Hit()
	requireSilence(t, c)
	require.Empty(t, get(t, s, "key"))
	require.Zero(t, p.Count("SET"))
	ping(t, dial(t, p.Addr()))
	fault.Release()
	fault.Release()
	requireText(t, c, "OK")

	start := time.Now()
	p.HoldRequest(nil, 50*time.Millisecond)
	ping(t, c)
	require.GreaterOrEqual(t, time.Since(start), 50*time.Millisecond)
}

func TestProxyHeldRequestOutlivesClient(t *testing.T) {
	t.Parallel()
	p, s := proxied(t)
	c := dial(t, p.Addr())
	fault := p.HoldRequest(servers.Command("SET"), 0)
	require.NoError(t, c.Send("SET", "key", "value"))
	<-fault.Hit()
	require.NoError(t, c.Close())
	fault.Release()
	eventually(t, func() bool { return get(t, s, "key") == "value" }, "it arrives all the same")
}

func TestProxyHoldReply(t *testing.T) {
	t.Parallel()
	p, s := proxied(t)
	c := dial(t, p.Addr())
	fault := p.HoldReply(servers.Command("SET"), 0)
	require.NoError(t, c.Send("SET", "key", "value"))
	<-fault.Hit()
	require.Equal(t, "value", get(t, s, "key"))
	requireSilence(t, c)
	fault.Release()
	requireText(t, c, "OK")
}

func TestProxyFaultWithdrawn(t *testing.T) {
	t.Parallel()
	p, _ := proxied(t)
	p.CutReply(servers.Command("PING")).Release()
	ping(t, dial(t, p.Addr()))
}

// TestProxyPairsPastMessages aims at a reply on a connection that subscriptions deliver to.
func TestProxyPairsPastMessages(t *testing.T) {
	t.Parallel()
	for _, resp := range []string{"2", "3"} {
		t.Run("RESP"+resp, func(t *testing.T) {
			t.Parallel()
			p, s := proxied(t)
			c := dial(t, p.Addr())
			_, err := c.Do("HELLO", resp)
			require.NoError(t, err)
			require.NoError(t, c.Send("SUBSCRIBE", "a", "b"))
			require.NoError(t, c.Send("SSUBSCRIBE", "c"))
			for range 3 {
				_, err = c.Receive(30 * time.Second)
				require.NoError(t, err)
			}
			publish(t, s, "PUBLISH", "a")
			publish(t, s, "SPUBLISH", "c")
			fault := p.CutReply(servers.Command("PING"))
			require.NoError(t, c.Send("UNSUBSCRIBE", "b"))
			require.NoError(t, c.Send("PING"))
			for range 3 {
				_, err = c.Receive(30 * time.Second)
				require.NoError(t, err, "two messages and a confirmation are not the reply")
			}
			requireCut(t, c)
			<-fault.Hit()
		})
	}
}

func publish(t *testing.T, s *servers.Server, command, channel string) {
	t.Helper()
	reply, err := s.Do(command, channel, "text")
	require.NoError(t, err)
	require.Equal(t, backend.IntegerReply(1), reply)
}

func TestProxyCutsSubscribeConfirmation(t *testing.T) {
	t.Parallel()
	p, _ := proxied(t)
	c := dial(t, p.Addr())
	p.CutReply(servers.Command("SUBSCRIBE"))
	require.NoError(t, c.Send("SUBSCRIBE", "a"))
	requireCut(t, c)
}
