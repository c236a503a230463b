package httplimit_test

import (
	"net/http"
	"net/http/httptest"
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

func TestRemoteIP(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"192.0.2.1:1234":              "192.0.2.1",
		"[::ffff:192.0.2.1]:1234":     "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:1234": "2001:db8:1:2::",
		"[fe80::1:2:3:4%eth0]:1234":   "fe80::",
		"@":                           "@", // a socket of the file system
		"":                            "",
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = addr
		require.Equal(t, want, httplimit.RemoteIP(r))
	}
}
