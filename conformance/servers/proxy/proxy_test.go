package proxy_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/internal/resp"
	"github.com/hasp-go/hasp/conformance/servers/internal/try"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
)

func TestMain(m *testing.M) { os.Exit(try.Main(m)) }

const (
	// brief is how long a test waits to see that nothing comes.
	brief = 80 * time.Millisecond

	// patience is how long it waits for what must come.
	patience = 30 * time.Second
)

// start starts a server of the test's own.
func start(t *testing.T) *servers.Server {
	t.Helper()
	return servers.Start(t, servers.Redis, nil)
}

// proxied returns a proxy before a server.
func proxied(t *testing.T) (*proxy.Proxy, *servers.Server) {
	t.Helper()
	s := start(t)
	return proxy.Start(t, s.Addr(), nil), s
}

func ping(t *testing.T, c *resp.Conn) {
	t.Helper()
	require.Equal(t, backend.StringReply("PONG"), try.Must(c.Do("PING"))(t))
}

func requireSilence(t *testing.T, c *resp.Conn) {
	t.Helper()
	require.ErrorIs(t, try.Err(c.Receive(brief)), os.ErrDeadlineExceeded)
}

func requireCut(t *testing.T, c *resp.Conn) {
	t.Helper()
	_, err := c.Receive(patience)
	require.True(t, errors.Is(err, io.EOF) || errors.As(err, new(*net.OpError)) &&
		!errors.Is(err, os.ErrDeadlineExceeded), "want a closed connection, got %v", err)
}

func requireText(t *testing.T, c *resp.Conn, want string) {
	t.Helper()
	require.Equal(t, backend.StringReply(want), try.Must(c.Receive(patience))(t))
}

func TestProxyForwards(t *testing.T) {
	t.Parallel()
	p, _ := proxied(t)
	c := try.Dial(t, p.Addr())
	ping(t, c)
	stop := p.Record()
	long := strings.Repeat("x\r\n\x00", 1<<18)
	require.NoError(t, try.Err(c.Do("set", "key", long)))
	require.Equal(t, backend.StringReply(long), try.Must(c.Do("GET", "key"))(t))
	require.ErrorContains(t, try.Err(c.Do("LPUSH", "key", "1")), "WRONGTYPE")
	require.Equal(t, [][]string{{"set", "key", long}, {"GET", "key"}, {"LPUSH", "key", "1"}}, stop())
	ping(t, c)
	require.Len(t, stop(), 3)
}

func TestProxyReportsBytesThatAreNotRESP(t *testing.T) {
	t.Parallel()
	p := proxy.New(nil)
	require.NoError(t, p.Lead(start(t).Addr()))
	ping(t, try.Dial(t, p.Addr()))
	raw := try.Must(net.Dial("tcp", p.Addr()))(t)
	require.NoError(t, try.Err(raw.Write([]byte("\x16\x03\x01\r\n"))))
	_, _ = io.Copy(io.Discard, raw)
	require.ErrorContains(t, p.Close(), "from the client: malformed RESP")
}

func TestProxyEndsWithTest(t *testing.T) {
	t.Parallel()
	s := start(t)
	var cs []*resp.Conn
	var p *proxy.Proxy
	t.Run("Test", func(st *testing.T) { //nolint:paralleltest // The rest comes after it.
		p = proxy.Start(st, s.Addr(), nil)
		cs = append(cs, try.Dial(t, p.Addr()), dialBy(t, p, s))
		p.Silence()
		cs = append(cs, dialBy(t, p, s))
		p.Blackhole()
		for _, c := range cs {
			require.NoError(st, c.Send("PING"))
		}
	})
	for _, c := range cs {
		requireCut(t, c)
	}
	require.NoError(t, p.Close(), "closing twice")
	require.ErrorIs(t, try.Err(p.DialContext(t.Context(), "tcp", s.Addr())), net.ErrClosed)
}

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
