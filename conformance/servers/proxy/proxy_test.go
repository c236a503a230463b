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
	"github.com/hasp-go/hasp/conformance/servers/internal/leak"
	"github.com/hasp-go/hasp/conformance/servers/internal/resp"
	"github.com/hasp-go/hasp/conformance/servers/internal/try"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
)

func TestMain(m *testing.M) { os.Exit(leak.Main(m)) }

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
