package main

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/valkey-io/valkey-go"

	"github.com/hasp-go/hasp/backend/embedded"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	valkeybackend "github.com/hasp-go/hasp/backend/valkey"
	"github.com/hasp-go/hasp/primitives"
)

// open makes a client of primitives with a driver's client of its own, as a process of its own would
// have it, and returns what closes both.
type open func(opts *primitives.Options) (client *primitives.Client, closeAll func(), err error)

// opener returns how clients over the named driver are opened.
func opener(driver, addr string) (open, error) {
	switch driver {
	case "embedded":
		return openEmbedded(embedded.NewServer()), nil
	case "rueidis":
		return openRueidis(addr), nil
	case "valkey":
		return openValkey(addr), nil
	case "goredis":
		return openGoRedis(addr), nil
	}
	return nil, fmt.Errorf("-backend %q: there are embedded, rueidis, valkey, goredis", driver)
}

func openEmbedded(server *embedded.Server) open {
	return func(opts *primitives.Options) (*primitives.Client, func(), error) {
		client, err := embedded.NewClient(server, opts)
		return closing(client, err, func() {})
	}
}

func openRueidis(addr string) open {
	return func(opts *primitives.Options) (*primitives.Client, func(), error) {
		conn, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
		if err != nil {
			return nil, nil, err
		}
		client, err := rueidisbackend.NewClient(conn, opts)
		return closing(client, err, conn.Close)
	}
}

func openValkey(addr string) open {
	return func(opts *primitives.Options) (*primitives.Client, func(), error) {
		conn, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{addr}})
		if err != nil {
			return nil, nil, err
		}
		client, err := valkeybackend.NewClient(conn, opts)
		return closing(client, err, conn.Close)
	}
}

func openGoRedis(addr string) open {
	return func(opts *primitives.Options) (*primitives.Client, func(), error) {
		conn := redis.NewClient(&redis.Options{Addr: addr})
		client, err := goredisbackend.NewClient(conn, opts)
		return closing(client, err, func() { _ = conn.Close() })
	}
}

// closing joins a client and what closes the driver's client below it.
func closing(client *primitives.Client, err error, closeConn func()) (*primitives.Client, func(), error) {
	if err != nil {
		closeConn()
		return nil, nil, err
	}
	return client, func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = client.Close(ctx) // Nothing is held any more.
		closeConn()
	}, nil
}
