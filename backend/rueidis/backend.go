package rueidisbackend

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter"
	"github.com/hasp-go/hasp/backend/fanout"
	"github.com/hasp-go/hasp/primitives"
)

// Options adjusts a [Backend]. The zero value, like nil, means the defaults.
type Options struct {
	// Sharded says whether subscriptions in a cluster use sharded pub/sub. Zero asks the server.
	Sharded backend.Sharding

	// PubSub adjusts pings, time-outs and queues of subscriptions. Nil means the defaults.
	PubSub *fanout.Options

	// RefusedFor is as in [evalsha.Options].
	RefusedFor time.Duration

	_ struct{}
}

// Backend runs scripts and subscribes over a [rueidis.Client]. It implements [backend.Backend],
// [backend.Batcher], [backend.ReplicaWaiter], [backend.Locator] and [backend.Scanner]. It is safe for concurrent use.
//
// Its methods are those of [adapter.Full], and NodeOf. RunThenWait takes one round trip to each node, on a connection
// from the client's pool for blocking commands.
type Backend struct {
	full
	driver *driver
}

type full = adapter.Full

var _ backend.Locator = (*Backend)(nil)

// New returns a backend over client, which the caller keeps and closes, after the backend. In a
// cluster, unless opts.Sharded says otherwise, it asks all nodes whether they know sharded pub/sub,
// for up to 5 s, and fails if none answers. Else it sends nothing.
func New(client rueidis.Client, opts *Options) (*Backend, error) {
	if client == nil {
		return nil, errors.New("rueidisbackend: client is nil")
	}
	opts = cmp.Or(opts, new(Options))
	can := backend.Capabilities{PubSub: true, Cluster: client.Mode() == rueidis.ClientModeCluster}
	d := &driver{client: client, pools: &pools{}}
	if can.Cluster {
		d.slots = &slots{client: client}
		var err error
		if can.Sharded, err = adapter.Sharded(opts.Sharded, d.all); err != nil {
			return nil, fmt.Errorf("rueidisbackend: %w", err)
		}
	}
	f, err := adapter.NewFull(d, &dialer{client: client, pools: d.pools, sharded: can.Sharded, slots: d.slots},
		&adapter.Options{Can: can, PubSub: opts.PubSub, RefusedFor: opts.RefusedFor})
	if err != nil {
		return nil, fmt.Errorf("rueidisbackend: %w", err)
	}
	return &Backend{full: f, driver: d}, nil
}

// NewClient returns a client of primitives over conn, which the caller keeps, and closes after the client. The client
// owns its backend, which has the default options: for others call [New], and then [primitives.NewClosing]. NewClient
// fails as these do, and leaves nothing open then.
func NewClient(conn rueidis.Client, opts *primitives.Options) (*primitives.Client, error) {
	b, err := New(conn, nil)
	if err != nil {
		return nil, err
	}
	return primitives.NewClosing(b, opts)
}

// Close implements [backend.Backend]. It blocks while the connections of subscriptions are closed:
// up to a second if a link is silent.
func (b *Backend) Close() error {
	defer b.driver.close()
	return b.full.Close()
}

// NodeOf implements [backend.Locator].
func (b *Backend) NodeOf(key string) string {
	if b.driver.slots == nil {
		return ""
	}
	return b.driver.Node(key)
}
