package goredisbackend

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/hasp-go/hasp/backend/fanout"
)

var errNoNode = errors.New("the client does not know the node as a primary")

// dialer implements [fanout.Dialer].
type dialer struct {
	driver  *driver
	sharded bool
	stale   atomic.Bool // a node was lost: what the client knows of the cluster may be out of date
	named   sync.Map    // the *redis.Client of each address that Node named
}

// Node names the primary of channel's slot, also for channels that are not sharded: scripts
// publish there, so messages need not cross the cluster's bus.
func (d *dialer) Node(ctx context.Context, channel string) (string, error) {
	if d.driver.cluster == nil {
		return "", nil
	}
	if d.stale.Swap(false) {
		d.driver.cluster.ReloadState(ctx)
	}
	var node *redis.Client
	err := promptError(ctx, func() (err error) {
		node, err = d.driver.primary(ctx, channel)
		return err
	})
	if err != nil {
		return "", err
	}
	d.named.Store(node.Options().Addr, node)
	return node.Options().Addr, nil
}

// Dial connects, outside the client's pool.
func (d *dialer) Dial(ctx context.Context, node string, events fanout.Events) (fanout.Link, error) {
	client, err := d.find(ctx, node)
	if err != nil {
		return nil, err
	}
	l := &link{
		dialer: d, events: events, pubsub: client.Subscribe(ctx), node: node,
		lost: make(chan struct{}),
	}
	l.subscribe, l.unsubscribe = l.pubsub.Subscribe, l.pubsub.Unsubscribe
	if d.sharded {
		l.subscribe, l.unsubscribe = l.pubsub.SSubscribe, l.pubsub.SUnsubscribe
	}
	l.ask(pong, "") // the driver connects with the first command
	err = promptError(ctx, func() (err error) {
		// The address is read before the ping: if a failover comes in between, the next ping finds it.
		if l.home, err = d.primaryAddr(ctx); err != nil {
			return err
		}
		return l.pubsub.Ping(ctx)
	})
	if err != nil {
		d.stale.Store(true)
		go func() { _ = l.pubsub.Close() }() // once it has connected
		return nil, err
	}
	go l.receive()
	return l, nil
}

// ofSentinel is what the driver calls the address of a client of Sentinel.
const ofSentinel = "FailoverClient"

// primaryAddr returns the address that a client of Sentinel now connects to; "" for other clients.
// The driver does not name it. But its dialer asks a sentinel each time, which also makes the
// driver drop the pool's connections to a primary that was replaced, should it have missed the
// message. So this dials, and closes the connection at once, without a command: it needs no permission,
// no connection of the pool, and no more of the server than to accept.
func (d *dialer) primaryAddr(ctx context.Context) (string, error) {
	if d.driver.single == nil || d.driver.single.Options().Addr != ofSentinel {
		return "", nil
	}
	options := d.driver.single.Options()
	conn, err := options.Dialer(ctx, options.Network, options.Addr)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	return conn.RemoteAddr().String(), nil
}

// find returns the client of a node. It asks the cluster only for one that Node has not just named:
// where links have gone silent, the question may take long.
func (d *dialer) find(ctx context.Context, address string) (*redis.Client, error) {
	if d.driver.single != nil {
		return d.driver.single, nil
	}
	if node, ok := d.named.LoadAndDelete(address); ok {
		return node.(*redis.Client), nil
	}
	return d.findPrimary(ctx, address)
}

// findPrimary returns the client of the primary at address, or errNoNode. It asks the cluster.
func (d *dialer) findPrimary(ctx context.Context, address string) (*redis.Client, error) {
	nodes, err := d.driver.primaries(ctx)
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		if node.Options().Addr == address {
			return node, nil
		}
	}
	return nil, fmt.Errorf("%w: %s", errNoNode, address)
}
