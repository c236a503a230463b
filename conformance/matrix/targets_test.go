package matrix

import (
	"context"
	"errors"
	"slices"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers"
)

// target is what runs of one topology, and a client can be made for.
type target struct {
	nodes   []*servers.Server // those with data
	cluster *servers.Cluster  // nil: no cluster
	client  clientOptions     // what clients must know; nil addrs: those of nodes
	proxy   servers.ProxyOptions

	// primary returns the primary as it now is; nil: nodes has one, and always the same. A cluster
	// has several.
	primary func() (*servers.Server, error)

	// failOverTo makes a replica the primary; nil: there is none.
	failOverTo func(slot int, unseen func() error) error

	// isolatePrimary replaces a primary that lives on; nil: that cannot be done.
	isolatePrimary func(slot int) (rejoin func() error, err error)

	// restartAll restarts all nodes; nil: there is one.
	restartAll func(data servers.Data) error
}

func (t *target) addrs() []string {
	if t.client.addrs != nil {
		return t.client.addrs
	}
	addrs := make([]string, len(t.nodes))
	for i, node := range t.nodes {
		addrs[i] = node.Addr()
	}
	return addrs
}

// owner returns the node that owns key; in a cluster any primary if key is empty.
func (t *target) owner(key string) (*servers.Server, error) {
	switch {
	case t.cluster != nil:
		i, err := t.cluster.Owner(backend.Slot(key))
		return t.nodes[i], err
	case t.primary != nil:
		return t.primary()
	}
	return t.nodes[0], nil
}

// primaries returns all nodes that own keys.
func (t *target) primaries() ([]*servers.Server, error) {
	if t.cluster != nil {
		return t.cluster.Primaries(), nil
	}
	primary, err := t.owner("")
	return []*servers.Server{primary}, err
}

func (t *target) do(_ context.Context, key string, args ...string) (backend.Reply, error) {
	node, err := t.owner(key)
	if err != nil {
		return backend.Reply{}, err
	}
	return node.Do(args...)
}

func (t *target) doAll(_ context.Context, args ...string) ([]backend.Reply, error) {
	nodes, err := t.primaries()
	if err != nil {
		return nil, err
	}
	replies := make([]backend.Reply, len(nodes))
	for i, node := range nodes {
		if replies[i], err = node.Do(args...); err != nil {
			return nil, err
		}
	}
	return replies, nil
}

func (t *target) restart(_ context.Context, keep bool) error {
	data := servers.DropData
	if keep {
		data = servers.KeepData
	}
	if t.restartAll != nil {
		return t.restartAll(data)
	}
	return t.nodes[0].Restart(data)
}

func (t *target) failOver(
	ctx context.Context, key string, unseen func(ctx context.Context) error,
) error {
	if unseen == nil {
		return t.failOverTo(backend.Slot(key), nil)
	}
	return t.failOverTo(backend.Slot(key), func() error { return unseen(ctx) })
}

func (t *target) isolate(_ context.Context, key string) (func() error, error) {
	return t.isolatePrimary(backend.Slot(key))
}

// pause stops the node that owns key.
func (t *target) pause(_ context.Context, key string) (func() error, error) {
	node, err := t.owner(key)
	if err != nil {
		return nil, err
	}
	return node.Resume, node.Pause()
}

// migrate moves the slot of key to the next node.
func (t *target) migrate(_ context.Context, key string) (func(context.Context) error, error) {
	slot := backend.Slot(key)
	from, err := t.cluster.Owner(slot)
	if err != nil {
		return nil, err
	}
	to := t.nextPrimary(t.nodes[from])
	m, err := t.cluster.BeginMigration(slot, slices.Index(t.nodes, to))
	if err != nil {
		return nil, err
	}
	if err := m.MoveKeys(); err != nil {
		return nil, err
	}
	return func(context.Context) error { return errors.Join(m.MoveKeys(), m.Finish()) }, nil
}

// nextPrimary returns the cluster's primary after the given one.
func (t *target) nextPrimary(node *servers.Server) *servers.Server {
	primaries := t.cluster.Primaries()
	return primaries[(slices.Index(primaries, node)+1)%len(primaries)]
}

// record collects what clients send to all primaries.
func (t *target) record(context.Context) (func() ([][]string, error), error) {
	// Replicas show what their primary sends them.
	nodes, err := t.primaries()
	if err != nil {
		return nil, err
	}
	return servers.Record(nodes...)
}
