package servers_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers"
)

// The recipes of the package's documentation.

func TestServerOutOfMemory(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		s := servers.Start(t, kind, nil)
		_, err := s.Do("CONFIG", "SET", "maxmemory", "1")
		require.NoError(t, err)
		requireCode(t, "OOM", s, "SET", "key", "value")
		_, err = s.Do("CONFIG", "SET", "maxmemory", "0")
		require.NoError(t, err)
		set(t, s, "key", "value")
	})
}

func TestServerWithoutReplicas(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		s := servers.Start(t, kind, nil)
		_, err := s.Do("CONFIG", "SET", "min-replicas-to-write", "1")
		require.NoError(t, err)
		requireCode(t, "NOREPLICAS", s, "SET", "key", "value")
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
		eventually(t, func() bool {
			_, err := s.Do("GET", "key0")
			var server *backend.ServerError
			return errors.As(err, &server) && server.Code == "LOADING"
		}, "it replies LOADING")
		require.NoError(t, <-restarted)
		require.Len(t, get(t, s, "key0"), 100)
	})
}
