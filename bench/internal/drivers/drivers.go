// Package drivers opens the drivers that are compared, each with what sends bare commands by it.
package drivers

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/valkey-io/valkey-go"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	valkeybackend "github.com/hasp-go/hasp/backend/valkey"
	"github.com/hasp-go/hasp/bench/internal/measure"
)

// Names are the drivers, by the names of their backends.
var Names = []string{"rueidis", "valkey", "goredis", "embedded"}

// Embedded is the one without a server.
const Embedded = "embedded"

// Send sends one command and reads the reply, which is of integers or nil, or is not looked at.
type Send func(ctx context.Context, words ...string) error

// Client is a client of a server, as an application has one.
type Client struct {
	Backend backend.Backend
	Send    Send // nil: bare commands are what the backend runs

	Rueidis rueidis.Client // these are nil, but for one
	Valkey  valkey.Client
	GoRedis *redis.Client
}

// Place is where a client connects to.
type Place struct {
	Addr     string
	Embedded *embedded.Server
}

// Open opens a client that ends with s. With many of them, each has one connection for commands.
func Open(s *measure.Scope, driver string, at Place, many bool) *Client {
	switch driver {
	case "rueidis":
		return openRueidis(s, Rueidis(at.Addr, many))
	case "valkey":
		return openValkey(s, Valkey(at.Addr, many))
	case "goredis":
		return openGoRedis(s, at.Addr)
	case Embedded:
		b, err := embedded.New(at.Embedded, nil)
		return &Client{Backend: closing(s, b, err)}
	}
	s.Must(fmt.Errorf("no driver %q: there are %v", driver, Names))
	return nil
}

// closing returns a backend that ends with s.
func closing[B backend.Backend](s *measure.Scope, b B, err error) backend.Backend {
	s.Must(err)
	s.Close(b.Close)
	return b
}

// single is rueidis' and valkey-go's setting for one connection of the pipelined kind.
const single = -1

// Rueidis returns a driver's options.
func Rueidis(addr string, many bool) rueidis.ClientOption {
	o := rueidis.ClientOption{InitAddress: []string{addr}}
	if many {
		o.PipelineMultiplex, o.ReadBufferEachConn, o.WriteBufferEachConn = single, 1<<14, 1<<14
	}
	return o
}

// Valkey does as Rueidis.
func Valkey(addr string, many bool) valkey.ClientOption {
	o := valkey.ClientOption{InitAddress: []string{addr}}
	if many {
		o.PipelineMultiplex, o.ReadBufferEachConn, o.WriteBufferEachConn = single, 1<<14, 1<<14
	}
	return o
}

func openRueidis(s *measure.Scope, o rueidis.ClientOption) *Client {
	conn, err := rueidis.NewClient(o)
	s.Must(err)
	s.Cleanup(conn.Close)
	b, err := rueidisbackend.New(conn, nil)
	return &Client{Backend: closing(s, b, err), Rueidis: conn, Send: func(ctx context.Context, words ...string) error {
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

func openValkey(s *measure.Scope, o valkey.ClientOption) *Client {
	conn, err := valkey.NewClient(o)
	s.Must(err)
	s.Cleanup(conn.Close)
	b, err := valkeybackend.New(conn, nil)
	return &Client{Backend: closing(s, b, err), Valkey: conn, Send: func(ctx context.Context, words ...string) error {
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

func openGoRedis(s *measure.Scope, addr string) *Client {
	conn := redis.NewClient(&redis.Options{Addr: addr})
	s.Close(conn.Close)
	b, err := goredisbackend.New(conn, nil)
	return &Client{Backend: closing(s, b, err), GoRedis: conn, Send: func(ctx context.Context, words ...string) error {
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
