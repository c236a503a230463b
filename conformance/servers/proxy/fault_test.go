package proxy_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/internal/resp"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
)

// two returns a proxy without connections, and two servers.
func two(t *testing.T) (p *proxy.Proxy, one, other *servers.Server) {
	t.Helper()
	p = proxy.New(nil)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p, start(t), start(t)
}

// dialBy connects to a server through a proxy.
func dialBy(t *testing.T, p *proxy.Proxy, s *servers.Server) *resp.Conn {
	t.Helper()
	c := must(p.DialContext(t.Context(), "tcp", s.Addr()))(t)
	t.Cleanup(func() { _ = c.Close() })
	return resp.New(c)
}

// named matches requests for a command.
func named(command string) func([]string) bool {
	return func(words []string) bool { return words[0] == command }
}

func TestDelayKeepsOrder(t *testing.T) {
	t.Parallel()
	p, one, other := two(t)
	early := dialBy(t, p, one)
	p.Delay(25 * time.Millisecond)
	const n = 200
	for _, c := range []*resp.Conn{early, dialBy(t, p, other)} {
		start := time.Now()
		ping(t, c)
		alone := time.Since(start)
		require.GreaterOrEqual(t, alone, 50*time.Millisecond)
		start = time.Now()
		for i := range n {
			require.NoError(t, c.Send("ECHO", string(rune('a'+i%26))))
		}
		for i := range n {
			requireText(t, c, string(rune('a'+i%26)))
		}
		require.Less(t, time.Since(start), n/2*alone, "they are on their way together")
	}
	p.Restore()
	ping(t, early)
}

// TestBlackhole looks at connections made before, and at those made within, by both ways of dialing.
func TestBlackhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		begin    func(p *proxy.Proxy)
		executed string
	}{
		"Both":     {(*proxy.Proxy).Blackhole, ""},
		"Requests": {(*proxy.Proxy).BlackholeRequests, ""},
		"Replies":  {(*proxy.Proxy).BlackholeReplies, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s := proxied(t)
			old, idle := dial(t, p.Addr()), dial(t, p.Addr())
			ping(t, old)
			ping(t, idle)
			c.begin(p)
			conns := map[string]*resp.Conn{"a": old, "b": dial(t, p.Addr()), "c": dialBy(t, p, s)}
			for key, conn := range conns {
				require.NoError(t, conn.Send("INCR", key))
			}
			for key, conn := range conns {
				requireSilence(t, conn)
				require.Eventually(t, func() bool { return get(t, s, key) == c.executed }, patience,
					time.Millisecond)
			}
			p.Restore()
			for _, conn := range conns {
				requireCut(t, conn)
			}
			ping(t, idle)
			ping(t, dial(t, p.Addr()))
			ping(t, dialBy(t, p, s))
		})
	}
}

func TestBlackholeHidesTheEnd(t *testing.T) {
	t.Parallel()
	p, s := proxied(t)
	c := dial(t, p.Addr())
	ping(t, c)
	p.Blackhole()
	s.Kill()
	requireSilence(t, c)
	p.Restore()
	requireCut(t, c)
}

func TestSilence(t *testing.T) {
	t.Parallel()
	p, s := proxied(t)
	old := []*resp.Conn{dial(t, p.Addr()), dialBy(t, p, s)}
	for _, c := range old {
		ping(t, c)
	}
	old = append(old, dialBy(t, p, s)) // It may not have been accepted yet.
	p.Silence()
	for _, c := range old {
		require.NoError(t, c.Send("INCR", "n"))
		requireSilence(t, c)
	}
	fresh := []*resp.Conn{dial(t, p.Addr()), dialBy(t, p, s)}
	for _, c := range fresh {
		ping(t, c)
	}
	p.Restore()
	p.Cut()
	for i := range old {
		requireSilence(t, old[i])
	}
	for i := range fresh {
		requireCut(t, fresh[i])
	}
	require.Empty(t, get(t, s, "n"))
}

func TestCut(t *testing.T) {
	t.Parallel()
	p, one, other := two(t)
	conns := []*resp.Conn{dialBy(t, p, one), dialBy(t, p, other)}
	for _, c := range conns {
		ping(t, c)
	}
	p.Cut()
	for _, c := range conns {
		requireCut(t, c)
	}
	ping(t, dialBy(t, p, one))
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	p, s := proxied(t)
	c := dialBy(t, p, s)
	ping(t, c)
	p.Refuse()
	requireCut(t, c)
	for _, addr := range []string{s.Addr(), start(t).Addr()} {
		_, err := p.DialContext(t.Context(), "tcp", addr)
		var op *net.OpError
		require.ErrorAs(t, err, &op)
		require.Equal(t, "dial", op.Op)
	}
	require.Error(t, errOf(resp.Dial(p.Addr())))
	p.Restore()
	ping(t, dial(t, p.Addr()))
	ping(t, dialBy(t, p, s))
}

// TestRefuseBreaksWhatIsBeingConnected refuses while the proxy, having accepted a connection, dials its
// server.
func TestRefuseBreaksWhatIsBeingConnected(t *testing.T) {
	t.Parallel()
	p, _ := proxied(t)
	for i := range 200 {
		c := dial(t, p.Addr())
		time.Sleep(time.Duration(i) * time.Microsecond) // To meet each moment of it, in one round or another.
		p.Refuse()
		require.Error(t, errOf(c.Do("PING")))
		p.Restore()
	}
}

// TestCutReply: the fault hits one request, of a connection made later, too.
func TestCutReply(t *testing.T) {
	t.Parallel()
	p, one, s := two(t)
	ping(t, dialBy(t, p, one))
	lost := p.CutReply(named("INCR"))
	c, other := dialBy(t, p, s), dialBy(t, p, s)
	for _, words := range [][]string{{"ECHO", "before"}, {"INCR", "n"}, {"ECHO", "after"}} {
		require.NoError(t, c.Send(words...))
	}
	requireText(t, c, "before")
	requireCut(t, c)
	<-lost
	require.Equal(t, "1", get(t, s, "n"))
	require.Equal(t, backend.IntegerReply(2), must(other.Do("INCR", "n"))(t), "only one request is hit")
}

func TestLoseReply(t *testing.T) {
	t.Parallel()
	p, s := proxied(t)
	c := dial(t, p.Addr())
	lost := p.LoseReply(named("INCR"))
	ping(t, c)
	require.NoError(t, c.Send("INCR", "n"))
	<-lost
	require.NoError(t, c.Send("INCR", "n"))
	requireSilence(t, c)
	require.Eventually(t, func() bool { return get(t, s, "n") == "2" }, patience, time.Millisecond,
		"what comes after it is executed")
	ping(t, dial(t, p.Addr()))
	p.Restore()
	requireCut(t, c)
}

// TestFaultFindsItsReply aims at a reply on a connection that subscriptions deliver to.
func TestFaultFindsItsReply(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2", "3"} {
		t.Run("RESP"+version, func(t *testing.T) {
			t.Parallel()
			p, s := proxied(t)
			c := dial(t, p.Addr())
			require.NoError(t, errOf(c.Do("HELLO", version)))
			require.NoError(t, c.Send("SUBSCRIBE", "a", "b"))
			require.NoError(t, c.Send("SSUBSCRIBE", "c"))
			for range 3 {
				require.NoError(t, errOf(c.Receive(patience)))
			}
			for command, channel := range map[string]string{"PUBLISH": "a", "SPUBLISH": "c"} {
				require.Equal(t, backend.IntegerReply(1), must(s.Do(command, channel, "text"))(t))
			}
			lost := p.CutReply(named("PING"))
			require.NoError(t, c.Send("UNSUBSCRIBE", "b"))
			require.NoError(t, c.Send("PING"))
			for range 3 {
				require.NoError(t, errOf(c.Receive(patience)), "two messages and a confirmation are not the reply")
			}
			requireCut(t, c)
			<-lost
		})
	}
}

func TestFaultHitsAConfirmation(t *testing.T) {
	t.Parallel()
	p, _ := proxied(t)
	c := dial(t, p.Addr())
	p.CutReply(named("SUBSCRIBE"))
	require.NoError(t, c.Send("SUBSCRIBE", "a"))
	requireCut(t, c)
}

// TestAnswer replaces replies among others, until it is stopped, of a request that is executed, over RESP3, and of one
// that is not, over RESP2.
func TestAnswer(t *testing.T) {
	t.Parallel()
	p, s := proxied(t)
	for _, run := range []bool{true, false} {
		c := dial(t, p.Addr())
		if run {
			require.NoError(t, errOf(c.Do("HELLO", "3")))
		}
		hit, stop := p.Answer(named("INCR"), run, func(reply string, resp3 bool) string { return fmt.Sprintf("+%.1s %t\r\n", reply, resp3) })
		for range 2 {
			for _, words := range [][]string{{"ECHO", "before"}, {"INCR", "n"}, {"SUBSCRIBE", "a"}, {"UNSUBSCRIBE", "a"}, {"ECHO", "after"}} {
				require.NoError(t, c.Send(words...))
			}
			requireText(t, c, "before")
			requireText(t, c, map[bool]string{true: ": true", false: "- false"}[run])
			for range 2 {
				require.NoError(t, errOf(c.Receive(patience)))
			}
			requireText(t, c, "after")
		}
		<-hit
		require.Equal(t, "2", get(t, s, "n"))
		stop()
	}
	c := dial(t, p.Addr())
	_, stop := p.Answer(named("INCR"), false, func(string, bool) string { return "" })
	require.NoError(t, c.Send("INCR", "n"))
	requireCut(t, c)
	stop()
	ping(t, dial(t, p.Addr()))
	require.Equal(t, "2", get(t, s, "n"))
}
