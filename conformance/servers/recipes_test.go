package servers_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers"
)

// The recipes of the package's documentation.

func TestServerRefusesWrites(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		s := servers.Start(t, kind, nil)
		for _, c := range []struct{ code, setting string }{
			{"OOM", "maxmemory"},
			{"NOREPLICAS", "min-replicas-to-write"},
		} {
			_, err := s.Do("CONFIG", "SET", c.setting, "1")
			require.NoError(t, err)
			requireCode(t, c.code, s, "SET", "key", "value")
			_, err = s.Do("CONFIG", "SET", c.setting, "0")
			require.NoError(t, err)
			set(t, s, "key", "value")
		}
	})
}

func TestServerLoading(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		s := servers.Start(t, kind, &servers.Options{Config: map[string]string{
			"key-load-delay": "2000", "loading-process-events-interval-bytes": "1024",
		}})
		for i := range 200 {
			set(t, s, fmt.Sprint("key", i), strings.Repeat("value", 20))
		}
		restarted := make(chan error, 1)
		go func() { restarted <- s.Restart(servers.KeepData) }()
		require.Eventually(t, func() bool {
			_, err := s.Do("GET", "key0")
			var server *backend.ServerError
			return errors.As(err, &server) && server.Code == "LOADING"
		}, 30*time.Second, 5*time.Millisecond, "it replies LOADING")
		require.NoError(t, <-restarted)
		require.Len(t, get(t, s, "key0"), 100)
	})
}
