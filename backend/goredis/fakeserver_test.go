package goredisbackend_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/hasp-go/hasp/backend/adapter/testdata/adaptertest"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
)

// none as an answer is none.
const none = ""

func newFakeServer(t *testing.T, answer func(words []string) string) *adaptertest.Server {
	t.Helper()
	return (&adaptertest.Server{Answer: answer}).Listen(t)
}

// closing returns a client, which closes with the test.
func closing[C redis.UniversalClient](t *testing.T, client C) C {
	t.Helper()
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// connect returns a backend over a client of s.
func connect(t *testing.T, s *adaptertest.Server, opts redis.Options) *goredisbackend.Backend {
	t.Helper()
	opts.Addr = s.Addr
	return over(t, closing(t, redis.NewClient(&opts)))
}

// connectOne returns one with a single connection to a server, which listens from now on.
func connectOne(t *testing.T, s *adaptertest.Server) adaptertest.Adapter {
	t.Helper()
	return connect(t, s.Listen(t), redis.Options{PoolSize: 1})
}
