package goredisbackend_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer func() { _ = ring.Close() }()
	_, err := goredisbackend.New(ring, nil)
	require.ErrorIs(t, err, backend.ErrNotSupported)
	require.ErrorContains(t, err, "Ring")
	_, err = goredisbackend.New(nil, nil)
	require.ErrorContains(t, err, "client is nil")
	_, err = goredisbackend.New((*redis.Client)(nil), nil)
	require.ErrorContains(t, err, "client is nil")
	_, err = goredisbackend.New((*redis.ClusterClient)(nil), nil)
	require.ErrorContains(t, err, "client is nil")
	_, err = goredisbackend.New(struct{ redis.UniversalClient }{ring}, nil)
	require.ErrorIs(t, err, backend.ErrNotSupported)
	require.ErrorContains(t, err, "without a method Unwrap() redis.UniversalClient")
	_, err = goredisbackend.New(holder{holder{ring}}, nil)
	require.ErrorContains(t, err, "Ring")
	_, err = goredisbackend.New(holder{}, nil)
	require.ErrorContains(t, err, "client is nil")
}

// holder is an application's wrapper.
type holder struct{ redis.UniversalClient }

func (h holder) Unwrap() redis.UniversalClient { return h.UniversalClient }

func TestWrappedClient(t *testing.T) {
	t.Parallel()
	s := newFakeServer(t, func([]string) string { return ":1\r\n" })
	client := redis.NewClient(&redis.Options{Addr: s.addr, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = client.Close() })
	b := over(t, holder{holder{client}})
	require.True(t, b.Capabilities().Deadlines, "those of the client in the wrapper")
	_, err := b.Run(t.Context(), script, []string{"k"}, nil)
	require.NoError(t, err)
}

// TestDeadlinesOfTheDriver: by default the driver reads beyond them.
func TestDeadlinesOfTheDriver(t *testing.T) {
	t.Parallel()
	for _, heeded := range []bool{false, true} {
		client := redis.NewClient(&redis.Options{ContextTimeoutEnabled: heeded})
		t.Cleanup(func() { _ = client.Close() })
		require.Equal(t, heeded, over(t, client).Capabilities().Deadlines)
	}
}

// over returns a backend over client.
func over(t *testing.T, client redis.UniversalClient) *goredisbackend.Backend {
	t.Helper()
	b, err := goredisbackend.New(client, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}
