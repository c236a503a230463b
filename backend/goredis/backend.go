package goredisbackend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter"
	"github.com/hasp-go/hasp/backend/fanout"
	"github.com/hasp-go/hasp/primitives"
)

// Options adjusts a [Backend]. The zero value, like nil, means the defaults.
type Options struct {
	// Sharded says whether subscriptions in a cluster use sharded pub/sub. Zero asks the servers.
	Sharded backend.Sharding

	// PubSub adjusts pings, time-outs and queues of subscriptions. Nil means the defaults.
	PubSub *fanout.Options

	// RefusedFor is as in [evalsha.Options].
	RefusedFor time.Duration

	_ struct{}
}

// Backend runs scripts and subscribes over a go-redis client. It implements [backend.Backend],
// [backend.Batcher], [backend.ReplicaWaiter], [backend.Locator] and [backend.Scanner]. It is safe for concurrent use.
//
// Its methods are those of [adapter.Full], and NodeOf. RunThenWait takes two round trips to each node, on a connection
// from the client's pool.
type Backend struct {
	full
	driver *driver
}

type full = adapter.Full

var _ backend.Locator = (*Backend)(nil)

// New returns a backend over client, which the caller keeps and closes, after the backend. client is a [*redis.Client] or
// a [*redis.ClusterClient], those of Sentinel included, or has a method Unwrap() redis.UniversalClient that returns one;
// any other type is refused with [backend.ErrNotSupported]. In a cluster, unless opts.Sharded says otherwise, New asks
// the primaries whether they know sharded pub/sub, for up to 5 s, and fails if none answers. Else it sends nothing.
func New(client redis.UniversalClient, opts *Options) (*Backend, error) {
	d, err := newDriver(client)
	if err != nil {
		return nil, fmt.Errorf("goredisbackend: %w", err)
	}
	opts = cmp.Or(opts, new(Options))
	can := backend.Capabilities{PubSub: true, Cluster: d.cluster != nil, Deadlines: d.prompt}
	if can.Cluster {
		if can.Sharded, err = adapter.Sharded(opts.Sharded, d.Nodes); err != nil {
			return nil, fmt.Errorf("goredisbackend: %w", err)
		}
	}
	f, err := adapter.NewFull(d, &dialer{driver: d, sharded: can.Sharded},
		&adapter.Options{Can: can, PubSub: opts.PubSub, RefusedFor: opts.RefusedFor})
	if err != nil {
		return nil, fmt.Errorf("goredisbackend: %w", err)
	}
	return &Backend{full: f, driver: d}, nil
}

// NewClient returns a client of primitives over conn, which the caller keeps, and closes after the client. The client
// owns its backend, which has the default options: for others call [New], and then [primitives.NewClosing]. NewClient
// fails as these do, and leaves nothing open then.
func NewClient(conn redis.UniversalClient, opts *primitives.Options) (*primitives.Client, error) {
	b, err := New(conn, nil)
	if err != nil {
		return nil, err
	}
	return primitives.NewClosing(b, opts)
}

func newDriver(client redis.UniversalClient) (*driver, error) {
	switch c := client.(type) {
	case *redis.Client:
		if c != nil {
			return &driver{client: c, single: c, prompt: c.Options().ContextTimeoutEnabled}, nil
		}
	case *redis.ClusterClient:
		if c != nil {
			return &driver{client: c, cluster: c}, nil
		}
	case *redis.Ring:
		return nil, fmt.Errorf("%w: *redis.Ring, which shards by itself", backend.ErrNotSupported)
	case interface{ Unwrap() redis.UniversalClient }:
		return newDriver(c.Unwrap())
	case nil:
	default:
		return nil, fmt.Errorf("%w: %T without a method Unwrap() redis.UniversalClient", backend.ErrNotSupported, client)
	}
	return nil, errors.New("client is nil")
}

// NodeOf implements [backend.Locator].
func (b *Backend) NodeOf(key string) string {
	if b.driver.cluster == nil {
		return ""
	}
	node := b.driver.Node(key)
	if node == "" {
		b.driver.cluster.ReloadState(context.Background()) // In the background.
	}
	return node
}
