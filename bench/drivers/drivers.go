// Package drivers has the drivers of this repository for package benchmark, with the other libraries that use them.
package drivers

import (
	"context"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/valkey-io/valkey-go"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	valkeybackend "github.com/hasp-go/hasp/backend/valkey"
	"github.com/hasp-go/hasp/bench/benchmark"
)

// All returns the drivers: rueidis, goredis, valkey, and the embedded server, which has no driver.
func All() []benchmark.Driver {
	return []benchmark.Driver{
		{Name: "rueidis", Open: openRueidis, Peers: []benchmark.Peer{
			{Name: "redsync", Open: redsyncOverRueidis}, {Name: "rueidislock", Open: openRueidislock},
		}},
		{Name: "goredis", Open: openGoRedis, Peers: []benchmark.Peer{
			{Name: "redsync", Open: redsyncOverGoRedis}, {Name: "redislock", Open: openRedislock},
			{Name: "redis_rate", Limiter: redisRate}, {Name: "throttled", Limiter: throttledLimiter},
		}},
		{Name: "valkey", Open: openValkey, Peers: []benchmark.Peer{{Name: "valkeylock", Open: openValkeylock}}},
		{Name: "embedded", Open: openEmbedded, InProcess: true},
	}
}

// closing returns a backend that ends with s.
func closing[B backend.Backend](s *benchmark.Setup, b B, err error) backend.Backend {
	s.Must(err)
	s.Close(b.Close)
	return b
}

func openEmbedded(s *benchmark.Setup, _ bool) *benchmark.Client {
	b, err := embedded.New(s.Embedded, nil)
	return &benchmark.Client{Backend: closing(s, b, err)}
}

// single is rueidis' and valkey-go's setting for one connection of the pipelined kind.
const single = -1

// rueidisOptions returns a driver's options.
func rueidisOptions(addr string, many bool) rueidis.ClientOption {
	o := rueidis.ClientOption{InitAddress: []string{addr}}
	if many {
		o.PipelineMultiplex, o.ReadBufferEachConn, o.WriteBufferEachConn = single, 1<<14, 1<<14
	}
	return o
}

// valkeyOptions does as rueidisOptions.
func valkeyOptions(addr string, many bool) valkey.ClientOption {
	o := valkey.ClientOption{InitAddress: []string{addr}}
	if many {
		o.PipelineMultiplex, o.ReadBufferEachConn, o.WriteBufferEachConn = single, 1<<14, 1<<14
	}
	return o
}

func newRueidis(s *benchmark.Setup, many bool) rueidis.Client {
	conn, err := rueidis.NewClient(rueidisOptions(s.Addr, many))
	s.Must(err)
	s.Cleanup(conn.Close)
	return conn
}

func openRueidis(s *benchmark.Setup, many bool) *benchmark.Client {
	conn := newRueidis(s, many)
	b, err := rueidisbackend.New(conn, nil)
	return &benchmark.Client{Backend: closing(s, b, err), Send: func(ctx context.Context, words ...string) error {
		message, err := conn.Do(ctx, conn.B().Arbitrary(words...).Build()).ToMessage()
		switch {
		case rueidis.IsRedisNil(err):
			return nil
		case err != nil:
			return err
		}
		return decode(&message)
	}}
}

func openValkey(s *benchmark.Setup, many bool) *benchmark.Client {
	conn, err := valkey.NewClient(valkeyOptions(s.Addr, many))
	s.Must(err)
	s.Cleanup(conn.Close)
	b, err := valkeybackend.New(conn, nil)
	return &benchmark.Client{Backend: closing(s, b, err), Send: func(ctx context.Context, words ...string) error {
		message, err := conn.Do(ctx, conn.B().Arbitrary(words...).Build()).ToMessage()
		switch {
		case valkey.IsValkeyNil(err):
			return nil
		case err != nil:
			return err
		}
		return decode(&message)
	}}
}

// message is a reply of rueidis and of valkey-go.
type message interface {
	IsArray() bool
	IsInt64() bool
	AsIntSlice() ([]int64, error)
	AsInt64() (int64, error)
}

// decode takes the integers out of a reply, since a caller needs them: without that the bare commands would cost less.
func decode(m message) (err error) {
	switch {
	case m.IsArray():
		_, err = m.AsIntSlice()
	case m.IsInt64():
		_, err = m.AsInt64()
	}
	return err
}

func newGoRedis(s *benchmark.Setup) *redis.Client {
	conn := redis.NewClient(&redis.Options{Addr: s.Addr, ContextTimeoutEnabled: true})
	s.Close(conn.Close)
	return conn
}

func openGoRedis(s *benchmark.Setup, _ bool) *benchmark.Client {
	conn := newGoRedis(s)
	b, err := goredisbackend.New(conn, nil)
	return &benchmark.Client{Backend: closing(s, b, err), Send: func(ctx context.Context, words ...string) error {
		args := make([]any, len(words))
		for i, word := range words {
			args[i] = word
		}
		if err := conn.Do(ctx, args...).Err(); err != nil && err != redis.Nil { //nolint:errorlint // Bare.
			return err
		}
		return nil
	}}
}
