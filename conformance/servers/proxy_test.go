package servers_test

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers"
)

// brief is how long a test waits to see that nothing comes.
const brief = 80 * time.Millisecond

// proxied returns a proxy before a server of its own.
func proxied(t *testing.T) (*servers.Proxy, *servers.Server) {
	t.Helper()
	for _, kind := range servers.Kinds() {
		if _, _, ok := servers.Find(kind); ok {
			s := servers.Start(t, kind, nil)
			return servers.StartProxy(t, s.Addr(), nil), s
		}
	}
	servers.Need(t, servers.Redis)
	return nil, nil
}

func dial(t *testing.T, addr string) *servers.Conn {
	t.Helper()
	c, err := servers.Dial(addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func ping(t *testing.T, c *servers.Conn) {
	t.Helper()
	reply, err := c.Do("PING")
	require.NoError(t, err)
	require.Equal(t, backend.StringReply("PONG"), reply)
}

func requireSilence(t *testing.T, c *servers.Conn) {
	t.Helper()
	_, err := c.Receive(brief)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
}

func requireCut(t *testing.T, c *servers.Conn) {
	t.Helper()
	_, err := c.Receive(30 * time.Second)
	require.True(t, errors.Is(err, io.EOF) || errors.As(err, new(*net.OpError)) &&
		!errors.Is(err, os.ErrDeadlineExceeded), "want a closed connection, got %v", err)
}

func requireText(t *testing.T, c *servers.Conn, want string) {
	t.Helper()
	reply, err := c.Receive(30 * time.Second)
	require.NoError(t, err)
	text, err := reply.Text()
	require.NoError(t, err)
	require.Equal(t, want, text)
}

func TestProxyForwards(t *testing.T) {
	t.Parallel()
	p, _ := proxied(t)
	c := dial(t, p.Addr())
	ping(t, c)
	long := strings.Repeat("x\r\n\x00", 1<<18)
	_, err := c.Do("set", "key", long)
	require.NoError(t, err)
	reply, err := c.Do("GET", "key")
	require.NoError(t, err)
	require.Equal(t, backend.StringReply(long), reply)
	_, err = c.Do("LPUSH", "key", "1")
	require.ErrorContains(t, err, "WRONGTYPE")
	require.Equal(t, map[string]int{"PING": 1, "SET": 1, "GET": 1, "LPUSH": 1}, p.Counts())
	require.Equal(t, 2, p.Count("get", "SET"))
	require.Equal(t, 1, p.Connections())
	require.Equal(t, 1, p.Accepted())
	p.ResetCounts()
	require.Zero(t, p.Count("GET"))
	require.NoError(t, c.Close())
	eventually(t, func() bool { return p.Connections() == 0 }, "the connection ends on both sides")
}

func TestProxyInline(t *testing.T) {
	t.Parallel()
	p, _ := proxied(t)
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	_, err = c.Write([]byte("\r\nECHO hello\r\n"))
	require.NoError(t, err)
	reply := make([]byte, len("$5\r\nhello\r\n"))
	_, err = io.ReadFull(c, reply)
	require.NoError(t, err)
	require.Equal(t, "$5\r\nhello\r\n", string(reply))
	require.Equal(t, 1, p.Count("ECHO"))
}

func TestProxyLatencyDelaysAndKeepsOrder(t *testing.T) {
	t.Parallel()
	p, _ := proxied(t)
	c := dial(t, p.Addr())
	p.SetLatency(servers.BothWays, 25*time.Millisecond)
	start := time.Now()
	const n = 200
	for i := range n {
		require.NoError(t, c.Send("ECHO", string(rune('a'+i%26))))
	}
	for i := range n {
		requireText(t, c, string(rune('a'+i%26)))
	}
	require.GreaterOrEqual(t, time.Since(start), 50*time.Millisecond)
	require.Less(t, time.Since(start), n*25*time.Millisecond, "requests are on their way together")
	p.SetLatency(servers.BothWays, 0)
	ping(t, c)
}

func TestProxyStall(t *testing.T) {
	t.Parallel()
	p, _ := proxied(t)
	c := dial(t, p.Addr())
	start := time.Now()
	p.Stall(60 * time.Millisecond)
	ping(t, c)
	require.GreaterOrEqual(t, time.Since(start), 60*time.Millisecond)
}

func TestProxyBlackhole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		direction servers.Direction
		executed  bool
	}{
		"ToServer": {servers.ToServer, false},
		"ToClient": {servers.ToClient, true},
		"BothWays": {servers.BothWays, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s := proxied(t)
			old := dial(t, p.Addr())
			idle := dial(t, p.Addr())
			ping(t, old)
			ping(t, idle)
			p.Blackhole(c.direction)
			fresh := dial(t, p.Addr())
			require.NoError(t, old.Send("SET", "old", "1"))
			require.NoError(t, fresh.Send("SET", "fresh", "1"))
			if c.executed {
				eventually(t, func() bool { return get(t, s, "old")+get(t, s, "fresh") == "11" },
					"requests still pass")
			}
			requireSilence(t, old)
			requireSilence(t, fresh)
			if !c.executed {
				require.Empty(t, get(t, s, "old")+get(t, s, "fresh"))
			}
			p.Heal()
			requireCut(t, old)
			requireCut(t, fresh)
			ping(t, idle)
			ping(t, dial(t, p.Addr()))
		})
	}
}

func TestProxyBlackholeHidesTheEnd(t *testing.T) {
	t.Parallel()
	p, s := proxied(t)
	c := dial(t, p.Addr())
	ping(t, c)
	p.Blackhole(servers.BothWays)
	s.Kill()
	requireSilence(t, c)
	p.Heal()
	requireCut(t, c)
}

func TestProxyCut(t *testing.T) {
	t.Parallel()
	p, _ := proxied(t)
	one, two := dial(t, p.Addr()), dial(t, p.Addr())
	ping(t, one)
	ping(t, two)
	require.Equal(t, 2, p.Cut())
	requireCut(t, one)
	requireCut(t, two)
	ping(t, dial(t, p.Addr()))
}

func TestProxyRefuse(t *testing.T) {
	t.Parallel()
	p, _ := proxied(t)
	c := dial(t, p.Addr())
	ping(t, c)
	p.Refuse()
	_, err := servers.Dial(p.Addr())
	var dialing *net.OpError
	require.ErrorAs(t, err, &dialing)
	require.Equal(t, "dial", dialing.Op)
	ping(t, c)
	require.NoError(t, p.Accept())
	require.NoError(t, p.Accept(), "accepting already")
	ping(t, dial(t, p.Addr()))
}

// TestProxyAcceptsWhileProcessesStart: a process that is being started holds copies of the open
// files, the closed listener among them, and one such copy once kept a proxy from listening again.
func TestProxyAcceptsWhileProcessesStart(t *testing.T) {
	t.Parallel()
	p, _ := proxied(t)
	self, err := os.Executable()
	require.NoError(t, err)
	var starting sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		starting.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = exec.Command(self, "-test.list", "^$").Run()
				}
			}
		})
	}
	defer starting.Wait()
	defer close(stop)
	for range 500 {
		p.Refuse()
		require.NoError(t, p.Accept())
	}
}

func TestProxyServerDown(t *testing.T) {
	t.Parallel()
	p, s := proxied(t)
	s.Kill()
	requireCut(t, dial(t, p.Addr()))
	require.NoError(t, s.Restart(servers.DropData))
	ping(t, dial(t, p.Addr()))
}

func TestProxyReportsBytesThatAreNotRESP(t *testing.T) {
	t.Parallel()
	_, s := proxied(t)
	tb := &fakeTB{}
	tb.run(func() {
		p := servers.StartProxy(tb, s.Addr(), nil)
		c := dial(t, p.Addr())
		require.NoError(t, c.Send("PING"))
		requireText(t, c, "PONG")
		raw, err := net.Dial("tcp", p.Addr())
		require.NoError(t, err)
		_, err = raw.Write([]byte("\x16\x03\x01\r\n"))
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, raw)
	})
	require.Contains(t, tb.log, "from the client: malformed RESP")
}

func TestProxyRaw(t *testing.T) {
	t.Parallel()
	_, s := proxied(t)
	p := servers.StartProxy(t, s.Addr(), &servers.ProxyOptions{Raw: true})
	ping(t, dial(t, p.Addr()))
	require.Empty(t, p.Counts())
}

func TestProxyEndsWithTest(t *testing.T) {
	t.Parallel()
	_, s := proxied(t)
	tb := &fakeTB{}
	var c *servers.Conn
	var p *servers.Proxy
	tb.run(func() {
		p = servers.StartProxy(tb, s.Addr(), nil)
		c = dial(t, p.Addr())
		p.HoldRequest(nil, 0)
		p.Blackhole(servers.BothWays)
		require.NoError(t, c.Send("PING"))
	})
	requireCut(t, c)
	require.Empty(t, tb.log)
	require.NoError(t, p.Close(), "closing twice")
	require.ErrorIs(t, p.Accept(), net.ErrClosed)
}

// TestProxyUnderLoad has many clients and all faults at once, for the race detector.
func TestProxyUnderLoad(t *testing.T) {
	t.Parallel()
	p, _ := proxied(t)
	stop := make(chan struct{})
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					burst(p.Addr())
				}
			}
		})
	}
	for i := range 40 {
		p.SetLatency(servers.BothWays, time.Duration(i%3)*time.Millisecond)
		p.Stall(time.Duration(i%2) * time.Millisecond)
		p.HoldReply(nil, time.Millisecond)
		p.CutReply(nil)
		p.LoseReply(nil)
		p.Cut()
		p.Refuse()
		require.NoError(t, p.Accept())
		p.Blackhole(servers.Direction(i % 4))
		p.Heal()
	}
	close(stop)
	p.Cut()
	work.Wait()
	require.NoError(t, p.Close())
}

// burst runs a few commands on one connection, while it lasts.
func burst(addr string) {
	c, err := servers.Dial(addr)
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	for range 20 {
		if c.Send("PING") != nil {
			return
		}
	}
	for range 20 {
		if _, err := c.Receive(20 * time.Millisecond); err != nil {
			return
		}
	}
}
