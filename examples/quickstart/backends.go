package main

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
	"github.com/hasp-go/hasp/primitives"
)

// open makes a backend with a driver's client of its own, as a process of its own would have it,
// and returns what closes both.
type open func() (b backend.Backend, closeAll func(), err error)

// opener returns how backends of the named driver are opened.
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
	return func() (backend.Backend, func(), error) {
		b, err := embedded.New(server, nil)
		return closing(b, err, func() {})
	}
}

func openRueidis(addr string) open {
	return func() (backend.Backend, func(), error) {
		conn, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
		if err != nil {
			return nil, nil, err
		}
		b, err := rueidisbackend.New(conn, nil)
		return closing(b, err, conn.Close)
	}
}

func openValkey(addr string) open {
	return func() (backend.Backend, func(), error) {
		conn, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{addr}})
		if err != nil {
			return nil, nil, err
		}
		b, err := valkeybackend.New(conn, nil)
		return closing(b, err, conn.Close)
	}
}

func openGoRedis(addr string) open {
	return func() (backend.Backend, func(), error) {
		conn := redis.NewClient(&redis.Options{Addr: addr})
		b, err := goredisbackend.New(conn, nil)
		return closing(b, err, func() { _ = conn.Close() })
	}
}

// closing joins a backend and what closes the client below it.
func closing(b backend.Backend, err error, closeConn func()) (backend.Backend, func(), error) {
	if err != nil {
		closeConn()
		return nil, nil, err
	}
	return b, func() {
		_ = b.Close()
		closeConn()
	}, nil
}

// connect makes a client of primitives over a backend of its own, and returns what closes both.
func connect(open open, opts *primitives.Options) (*primitives.Client, func(), error) {
	b, closeAll, err := open()
	if err != nil {
		return nil, nil, err
	}
	client, err := primitives.New(b, opts)
	if err != nil {
		closeAll()
		return nil, nil, err
	}
	return client, func() {
		_ = client.Close(context.Background()) // Nothing is held any more.
		closeAll()
	}, nil
}
