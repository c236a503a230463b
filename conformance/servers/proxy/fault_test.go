package proxy_test

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/internal/resp"
	"github.com/hasp-go/hasp/conformance/servers/internal/try"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
)

// dialBy connects to a server through a proxy.
func dialBy(t *testing.T, p *proxy.Proxy, s *servers.Server) *resp.Conn {
	t.Helper()
	c := try.Must(p.DialContext(t.Context(), "tcp", s.Addr()))(t)
	t.Cleanup(func() { _ = c.Close() })
	return resp.New(c)
}

// named matches requests for a command.
func named(command string) func([]string) bool {
	return func(words []string) bool { return words[0] == command }
}

func TestDelayKeepsOrder(t *testing.T) {
	t.Parallel()
	p, s := proxied(t)
	early := dialBy(t, p, s)
	p.Delay(25 * time.Millisecond)
	const n = 200
	for _, c := range []*resp.Conn{early, dialBy(t, p, s)} {
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

// TestFaults looks at a connection made before, and at those made within, by both ways of dialing.
func TestFaults(t *testing.T) {
	t.Parallel()
	losing := func(lose func(*proxy.Proxy, func([]string) bool) <-chan struct{}) func(*proxy.Proxy) {
		return func(p *proxy.Proxy) { lose(p, named("INCR")) }
	}
	for name, c := range map[string]struct {
		begin    func(p *proxy.Proxy)
		old      func(t *testing.T, c *resp.Conn)
		fresh    func(t *testing.T, c *resp.Conn) // nil: none can be made
		executed string                           // how many requests of the old one
	}{
		"Cut":               {(*proxy.Proxy).Cut, requireCut, ping, ""},
		"Silence":           {(*proxy.Proxy).Silence, requireSilence, ping, ""},
		"Refuse":            {(*proxy.Proxy).Refuse, requireCut, nil, ""},
		"Blackhole":         {(*proxy.Proxy).Blackhole, requireSilence, requireSilence, ""},
		"BlackholeRequests": {(*proxy.Proxy).BlackholeRequests, requireSilence, requireSilence, ""},
		"BlackholeReplies":  {(*proxy.Proxy).BlackholeReplies, requireSilence, requireSilence, "1"},
		"CutReply":          {losing((*proxy.Proxy).CutReply), requireCut, ping, "1"},
		"LoseReply":         {losing((*proxy.Proxy).LoseReply), requireSilence, ping, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s := proxied(t)
			old, idle := try.Dial(t, p.Addr()), dialBy(t, p, s)
			ping(t, old)
			ping(t, idle)
			c.begin(p)
			_ = old.Send("INCR", "n")
			c.old(t, old)
			require.Eventually(t, func() bool { return try.Get(t, s, "n") == c.executed }, patience, time.Millisecond)
			if c.fresh == nil {
				require.Error(t, try.Err(resp.Dial(p.Addr())))
				require.ErrorAs(t, try.Err(p.DialContext(t.Context(), "tcp", s.Addr())), new(*net.OpError))
			} else {
				for _, fresh := range []*resp.Conn{try.Dial(t, p.Addr()), dialBy(t, p, s)} {
					_ = fresh.Send("PING")
					c.fresh(t, fresh)
				}
			}
			p.Restore()
			ping(t, try.Dial(t, p.Addr()))
			ping(t, dialBy(t, p, s))
		})
	}
}

func TestBlackholeHidesTheEnd(t *testing.T) {
	t.Parallel()
	p, s := proxied(t)
	c := try.Dial(t, p.Addr())
	ping(t, c)
	p.Blackhole()
	s.Kill()
	requireSilence(t, c)
	p.Restore()
	requireCut(t, c)
}

// TestRefuseBreaksWhatIsBeingConnected refuses while the proxy, having accepted a connection, dials its
// server.
func TestRefuseBreaksWhatIsBeingConnected(t *testing.T) {
	t.Parallel()
	p, _ := proxied(t)
	for i := range 200 {
		c := try.Dial(t, p.Addr())
		time.Sleep(time.Duration(i) * time.Microsecond) // To meet each moment of it, in one round or another.
		p.Refuse()
		require.Error(t, try.Err(c.Do("PING")))
		p.Restore()
	}
}

// TestFaultFindsItsReply aims at a reply on a connection that subscriptions deliver to.
func TestFaultFindsItsReply(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2", "3"} {
		t.Run("RESP"+version, func(t *testing.T) {
			t.Parallel()
			p, s := proxied(t)
			c := try.Dial(t, p.Addr())
			require.NoError(t, try.Err(c.Do("HELLO", version)))
			require.NoError(t, c.Send("SUBSCRIBE", "a", "b"))
			require.NoError(t, c.Send("SSUBSCRIBE", "c"))
			for range 3 {
				require.NoError(t, try.Err(c.Receive(patience)))
			}
			for command, channel := range map[string]string{"PUBLISH": "a", "SPUBLISH": "c"} {
				require.Equal(t, backend.IntegerReply(1), try.Must(s.Do(command, channel, "text"))(t))
			}
			lost := p.CutReply(named("PING"))
			require.NoError(t, c.Send("UNSUBSCRIBE", "b"))
			require.NoError(t, c.Send("PING"))
			for range 3 {
				require.NoError(t, try.Err(c.Receive(patience)), "two messages and a confirmation are not the reply")
			}
			requireCut(t, c)
			<-lost
		})
	}
}
