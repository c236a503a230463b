package servers_test

import (
	"crypto/tls"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
)

func TestServerTLS(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		s := servers.Start(t, kind, &servers.Options{TLS: true})
		p := proxy.Start(t, s.TLSAddr(), s.TLSConfig())
		stop := p.Record()
		for _, addr := range []string{s.TLSAddr(), p.Addr()} {
			require.Equal(t, "+PONG\r\n", pingTLS(t, addr, s.TLSConfig()))
			anonymous := s.TLSConfig()
			anonymous.Certificates = nil
			require.Empty(t, pingTLS(t, addr, anonymous), "a client's certificate is asked for")
		}
		require.Equal(t, [][]string{{"PING"}}, stop(), "the proxy reads what it carries")
		require.NoError(t, s.Restart(servers.KeepData))
		require.Equal(t, "+PONG\r\n", pingTLS(t, s.TLSAddr(), s.TLSConfig()))
	})
}

func TestServerTLSOfAnother(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		s := servers.Start(t, kind, &servers.Options{TLS: true})
		other := servers.Start(t, kind, &servers.Options{TLS: true})
		require.ErrorContains(t, errOf(tls.Dial("tcp", s.TLSAddr(), other.TLSConfig())), "certificate")
		require.Nil(t, servers.Start(t, kind, nil).TLSConfig())
	})
}

// pingTLS returns what the server says to PING; "" if it refuses the connection.
func pingTLS(t *testing.T, addr string, config *tls.Config) string {
	t.Helper()
	c := must(tls.Dial("tcp", addr, config))(t)
	defer func() { _ = c.Close() }()
	_, _ = c.Write([]byte("*1\r\n$4\r\nPING\r\n"))
	answer := make([]byte, len("+PONG\r\n"))
	n, _ := io.ReadFull(c, answer)
	return string(answer[:n])
}
