package httplimit_test

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/integration/httplimit"
)

// TestAnyTextIsAKey: clients choose keys. No two keys share permits, and none makes a name that the server refuses.
func TestAnyTextIsAKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := hasptest.New(t)
		h := newHandler(t, s.Client(nil), httplimit.Options{})
		long := strings.Repeat("x", 1<<16)
		keys := []string{"", "ann", "{", "}a{", "{}", "a b", "a+b", "a%20b", "a:b", "é", long, long + "y"}
		for _, key := range keys {
			r := ask(t.Context(), h, key)
			require.Equal(t, http.StatusNoContent, r.StatusCode, "%.20q", key)
			requireField(t, r, "RateLimit", `"api";r=1`)
		}
		reply, err := s.Embedded().Do("KEYS", "api:*")
		require.NoError(t, err)
		names, err := reply.Items()
		require.NoError(t, err)
		require.Len(t, names, len(keys))
		for _, item := range names {
			name, err := item.Text()
			require.NoError(t, err)
			require.Less(t, len(name), 150)
			require.NotContains(t, name, "{")
		}
	})
}

// TestRemoteIP: all forms of an address are one key, with a port and without.
func TestRemoteIP(t *testing.T) {
	t.Parallel()
	remote := func(addr string) string { return httplimit.RemoteIP(&http.Request{RemoteAddr: addr}) }
	for addr, want := range map[string]string{
		"192.0.2.1":                 "192.0.2.1",
		"::ffff:192.0.2.1":          "192.0.2.1",
		"::ffff:c000:201":           "192.0.2.1",
		"::ffff:192.0.2.1%eth0":     "192.0.2.1",
		"64:ff9b::192.0.2.1":        "192.0.2.1",
		"64:ff9b::c000:201%eth0":    "192.0.2.1",
		"64:ff9b::c000:202":         "192.0.2.2",
		"64:ff9b::1:c000:201":       "64:ff9b::",
		"64:ff9b:1:2::c000:201":     "64:ff9b:1:2::",
		"2001:db8:1:2:3:4:5:6":      "2001:db8:1:2::",
		"2001:0DB8:0001:0002::0001": "2001:db8:1:2::",
		"2001:db8:1:3::1":           "2001:db8:1:3::",
		"fe80::1:2:3:4%eth0":        "fe80::",
		"::1":                       "::",
	} {
		require.Equal(t, want, remote(addr), addr)
		require.Equal(t, want, remote(net.JoinHostPort(addr, "1234")), addr)
		require.Equal(t, want, remote("["+addr+"]"), addr)
	}
	for _, addr := range []string{"@", "", "/run/app.sock", "app:1234"} { // "@" is a socket of the file system.
		require.Equal(t, addr, remote(addr))
	}
}
