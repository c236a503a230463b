package rueidisbackend

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/redis/rueidis"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/evalsha"
	"github.com/hasp-go/hasp/backend/fanout"
	"github.com/hasp-go/hasp/primitives"
)

// detectWithin bounds the question to the server in New.
const detectWithin = 5 * time.Second

// Options adjusts a [Backend]. The zero value, like nil, means the defaults.
type Options struct {
	// Sharded says whether subscriptions in a cluster use sharded pub/sub. Zero asks the server.
	Sharded backend.Sharding

	// PubSub adjusts pings, time-outs and queues of subscriptions. Nil means the defaults.
	PubSub *fanout.Options

	// RefusedFor is how long a command that the server or the network refuses is offered again, as it is while
	// a server restarts, a replica is promoted or a slot moves. A shorter time lets calls fail in such moments.
	// Zero means 3 s. Negative means one try.
	RefusedFor time.Duration

	_ struct{}
}

// Backend runs scripts and subscribes over a [rueidis.Client]. It implements [backend.Backend],
// [backend.Batcher], [backend.ReplicaWaiter], [backend.Locator] and [backend.Scanner]. It is safe for concurrent use.
type Backend struct {
	driver *driver
	runner *evalsha.Runner
	hub    *fanout.Hub
	can    backend.Capabilities
}

var (
	_ backend.Backend       = (*Backend)(nil)
	_ backend.Batcher       = (*Backend)(nil)
	_ backend.ReplicaWaiter = (*Backend)(nil)
	_ backend.Locator       = (*Backend)(nil)
	_ backend.Scanner       = (*Backend)(nil)
)

// New returns a backend over client, which the caller keeps and closes, after the backend. In a
// cluster, unless opts.Sharded says otherwise, it asks all nodes whether they know sharded pub/sub,
// for up to 5 s, and fails if none answers. Else it sends nothing.
func New(client rueidis.Client, opts *Options) (*Backend, error) {
	if client == nil {
		return nil, errors.New("rueidisbackend: client is nil")
	}
	if opts == nil {
		opts = &Options{}
	}
	can := backend.Capabilities{PubSub: true, Cluster: client.Mode() == rueidis.ClientModeCluster}
	if can.Cluster {
		var err error
		if can.Sharded, err = sharded(client, opts.Sharded); err != nil {
			return nil, fmt.Errorf("rueidisbackend: is sharded pub/sub known? %w", err)
		}
	}
	p := &pools{}
	d := &driver{client: client, pools: p}
	if can.Cluster {
		d.slots = &slots{client: client}
	}
	hub, err := fanout.New(
		&dialer{client: client, pools: p, sharded: can.Sharded, slots: d.slots}, opts.PubSub)
	if err != nil {
		return nil, fmt.Errorf("rueidisbackend: Options.PubSub: %w", err)
	}
	runner := evalsha.New(d, &evalsha.Options{Cluster: can.Cluster, RefusedFor: opts.RefusedFor})
	return &Backend{driver: d, runner: runner, hub: hub, can: can}, nil
}

// NewClient returns a client of primitives over conn. The client owns its backend, which has the
// default options: Close of the client closes the backend, too. The caller keeps conn, and closes it
// after the client. NewClient asks the servers as [New] does, and fails as New and [primitives.NewClosing]
// do. After an error nothing is left open.
//
// For other options of the backend call New, and then [primitives.NewClosing].
func NewClient(conn rueidis.Client, opts *primitives.Options) (*primitives.Client, error) {
	b, err := New(conn, nil)
	if err != nil {
		return nil, err
	}
	return primitives.NewClosing(b, opts)
}

// sharded decides by option, or by asking all nodes: those that answer must all know it. Some may be down.
func sharded(client rueidis.Client, option backend.Sharding) (bool, error) {
	switch option {
	case backend.ShardedOn:
		return true, nil
	case backend.ShardedOff:
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), detectWithin)
	defer cancel()
	nodes := client.Nodes()
	answers := make(chan evalsha.Result[error], len(nodes))
	for _, node := range nodes {
		go func() {
			answers <- evalsha.Catch(func() error { return failure(node.Do(ctx, node.B().PubsubShardnumsub().Build())) })
		}()
	}
	known, errs := false, []error{rueidis.ErrNoSlot}
	for range nodes {
		err := (<-answers).Get()
		var server *backend.ServerError
		if errors.As(err, &server) && server.Code == "ERR" {
			return false, nil // the subcommand is unknown
		}
		known, errs = known || err == nil, append(errs, err)
	}
	if known {
		return true, nil
	}
	return false, errors.Join(errs...)
}

// Capabilities implements [backend.Backend].
func (b *Backend) Capabilities() backend.Capabilities { return b.can }

// Close implements [backend.Backend]. It blocks while the connections of subscriptions are closed:
// up to a second if a link is silent.
func (b *Backend) Close() error {
	b.runner.Close()
	b.driver.close()
	b.hub.Close()
	return nil
}

// Run implements [backend.ScriptRunner].
func (b *Backend) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	return b.runner.Run(ctx, script, keys, args)
}

// RunBatch implements [backend.Batcher]: one round trip to each node, side by side.
func (b *Backend) RunBatch(
	ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome),
) {
	b.runner.RunBatch(ctx, b.driver, calls, report)
}

// RunThenWait implements [backend.ReplicaWaiter], in one round trip to each node, on a connection from
// the client's pool for blocking commands.
func (b *Backend) RunThenWait(
	ctx context.Context, calls []backend.Call, replicas int, timeout time.Duration,
	report func(place int, outcome backend.Outcome),
) {
	b.driver.learn(ctx, calls)
	b.runner.RunThenWait(ctx, b.driver, calls, replicas, timeout, report)
}

// NodeOf implements [backend.Locator].
func (b *Backend) NodeOf(key string) string {
	if !b.can.Cluster {
		return ""
	}
	return b.driver.Node(key)
}

// Scan implements [backend.Scanner].
func (b *Backend) Scan(ctx context.Context, pattern string, step int) iter.Seq2[[]string, error] {
	return b.runner.Scan(ctx, b.driver.primaries, pattern, step)
}

// Subscribe implements [backend.Subscriber].
func (b *Backend) Subscribe(
	ctx context.Context, channel string, handler backend.Handler,
) (backend.Subscription, error) {
	return b.hub.Subscribe(ctx, channel, handler)
}
