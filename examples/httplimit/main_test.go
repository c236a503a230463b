package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/primitives"
)

// permits is the number of requests of an address in an hour.
const permits = 10

func TestOnTheEmbeddedServer(t *testing.T) {
	t.Parallel()
	s := hasptest.New(t)
	servesTen(t, serve(t, s.Client(nil)), serve(t, s.Client(nil)))
}

func TestOnRedis(t *testing.T) {
	t.Parallel()
	addr := servers.Start(t, servers.Redis, nil).Addr()
	servesTen(t, serve(t, connect(t, addr)), serve(t, connect(t, addr)))
}

// servesTen asks two processes in turn.
func servesTen(t *testing.T, one, other string) {
	t.Helper()
	for i := range permits {
		r := get(t, []string{one, other}[i%2])
		require.Equal(t, http.StatusOK, r.StatusCode)
		require.Equal(t, `"hello";q=10;w=3600`, r.Header.Get("RateLimit-Policy"))
	}
	for _, url := range []string{one, other} {
		r := get(t, url)
		require.Equal(t, http.StatusTooManyRequests, r.StatusCode)
		require.NotEmpty(t, r.Header.Get("Retry-After"))
		require.Contains(t, r.Header.Get("RateLimit"), `"hello";r=0;t=`)
	}
}

// TestLosesItsLimiter: a limiter that is deleted keeps no request from being counted.
func TestLosesItsLimiter(t *testing.T) {
	t.Parallel()
	s := hasptest.New(t)
	url := serve(t, s.Client(nil))
	for range permits {
		require.Equal(t, http.StatusOK, get(t, url).StatusCode)
		s.Lose("hello:127.0.0.1")
	}
	require.Equal(t, http.StatusTooManyRequests, get(t, url).StatusCode)
}

// TestAdmitsWithoutServer: greetings go on while the server is away.
func TestAdmitsWithoutServer(t *testing.T) {
	t.Parallel()
	s := hasptest.New(t)
	url := serve(t, s.Client(nil))
	s.Away(time.Hour) // to the end of the test
	for range permits + 1 {
		require.Equal(t, http.StatusOK, get(t, url).StatusCode)
	}
}

// serve returns the address of the program over a client of its own.
func serve(t *testing.T, client *primitives.Client) string {
	t.Helper()
	handler, err := newHandler(client)
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func connect(t *testing.T, addr string) *primitives.Client {
	t.Helper()
	conn := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { require.NoError(t, conn.Close()) })
	client, err := goredisbackend.NewClient(conn, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close(context.Background())) })
	return client
}

// get returns the response without its body.
func get(t *testing.T, url string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	return response
}
