package matrix

import (
	"context"
	"errors"
	"testing"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/servers"
)

// target is a server or a cluster that a client can be made for.
type target struct {
	nodes   []*servers.Server
	cluster *servers.Cluster // nil: one server
}

// standalone starts a server of the test's own.
func standalone(tb testing.TB, kind servers.Kind) *target {
	tb.Helper()
	return &target{nodes: []*servers.Server{servers.Start(tb, kind, nil)}}
}

// clusterOf3 starts a cluster of the test's own.
func clusterOf3(tb testing.TB, kind servers.Kind) *target {
	tb.Helper()
	c := servers.StartCluster(tb, kind, 3, nil)
	return &target{nodes: c.Nodes, cluster: c}
}

func (t *target) addrs() []string {
	addrs := make([]string, len(t.nodes))
	for i, node := range t.nodes {
		addrs[i] = node.Addr()
	}
	return addrs
}

// owner returns the node that owns key.
func (t *target) owner(key string) (*servers.Server, error) {
	if t.cluster == nil || key == "" {
		return t.nodes[0], nil
	}
	i, err := t.cluster.Owner(backend.Slot(key))
	return t.nodes[i], err
}

func (t *target) do(_ context.Context, key string, args ...string) (backend.Reply, error) {
	node, err := t.owner(key)
	if err != nil {
		return backend.Reply{}, err
	}
	return node.Do(args...)
}

func (t *target) doAll(_ context.Context, args ...string) ([]backend.Reply, error) {
	replies := make([]backend.Reply, len(t.nodes))
	for i, node := range t.nodes {
		var err error
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
	return t.nodes[0].Restart(data)
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
	m, err := t.cluster.BeginMigration(slot, (from+1)%len(t.nodes))
	if err != nil {
		return nil, err
	}
	if err := m.MoveKeys(); err != nil {
		return nil, err
	}
	return func(context.Context) error { return errors.Join(m.MoveKeys(), m.Finish()) }, nil
}

// record collects what clients send to all nodes.
func (t *target) record(context.Context) (func() ([][]string, error), error) {
	return servers.Record(t.nodes...)
}
