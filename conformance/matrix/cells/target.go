package cells

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
)

// Target is what runs of one topology, and a client can be made for.
type Target struct {
	nodes   []*servers.Server // those with data
	cluster *servers.Cluster  // nil: no cluster
	client  Client            // what clients must know; nil Addrs: those of nodes

	// primary returns the primary as it now is; nil: nodes has one, and always the same. A cluster has several.
	primary func() (*servers.Server, error)

	// failOverTo makes a replica the primary; nil: there is none.
	failOverTo func(slot int, unseen func() error) error

	// isolatePrimary replaces a primary that keeps running; nil: that cannot be done.
	isolatePrimary func(slot int) (rejoin func() error, err error)

	// restart restarts all nodes.
	restart func(data servers.Data) error
}

// Variant is how a client is set up, beyond the defaults.
type Variant struct {
	RESP2   bool
	Sharded backend.Sharding
}

// Client returns what clients of the target must know.
func (t *Target) Client() Client {
	c := t.client
	c.Cluster = t.cluster != nil
	if c.Addrs == nil {
		for _, node := range t.nodes {
			c.Addrs = append(c.Addrs, node.Addr())
		}
	}
	return c
}

// Harness judges an adapter on a target that nobody else uses.
func (t *Target) Harness(a Adapter, v Variant) *conformance.Harness {
	c := t.Client()
	c.Name, c.RESP2, c.Sharded = "conformance", v.RESP2, v.Sharded
	h := &conformance.Harness{
		New: func(ctx context.Context) (*conformance.Instance, error) {
			return servers.Behind(c.TLS, func(p *proxy.Proxy) (*conformance.Instance, error) {
				c := c
				c.Dial = p.DialContext
				return a.Open(ctx, c)
			})
		},
		Do:           t.do,
		Nodes:        t.doAll,
		Capabilities: backend.Capabilities{PubSub: true, Deadlines: a.Deadlines && t.cluster == nil && c.TLS == nil},
		Batches:      true, WaitsForReplicas: true, Scans: true, ListsClients: true, Faults: true,
		OneEndpoint: c.OneEndpoint,
		Spares: func(refusal string) bool {
			return c.Master != "" && a.Spared != "" && strings.HasPrefix(refusal, a.Spared)
		},
		Restart: func(_ context.Context, keep bool) error { return t.restart(servers.Data(keep)) },
		Pause:   t.pause,
	}
	if t.failOverTo != nil {
		h.FailOver = t.failOver
	}
	if t.isolatePrimary != nil {
		h.Isolate = func(_ context.Context, key string) (func() error, error) {
			return t.isolatePrimary(backend.Slot(key))
		}
	}
	if t.cluster != nil {
		h.Migrate = t.migrate
		h.Capabilities.Cluster = true
		h.Capabilities.Sharded = v.Sharded != backend.ShardedOff
	}
	return h
}

// owner returns the node that owns key; in a cluster any primary if key is empty.
func (t *Target) owner(key string) (*servers.Server, error) {
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
func (t *Target) primaries() ([]*servers.Server, error) {
	if t.cluster != nil {
		return t.cluster.Primaries(), nil
	}
	primary, err := t.owner("")
	return []*servers.Server{primary}, err
}

func (t *Target) do(_ context.Context, key string, args ...string) (backend.Reply, error) {
	node, err := t.owner(key)
	if err != nil {
		return backend.Reply{}, err
	}
	return node.Do(args...)
}

func (t *Target) doAll(_ context.Context, args ...string) ([]backend.Reply, error) {
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

func (t *Target) failOver(ctx context.Context, key string, unseen func(ctx context.Context) error) error {
	if unseen == nil {
		return t.failOverTo(backend.Slot(key), nil)
	}
	return t.failOverTo(backend.Slot(key), func() error { return unseen(ctx) })
}

// pause stops the node that owns key.
func (t *Target) pause(_ context.Context, key string) (func() error, error) {
	node, err := t.owner(key)
	if err != nil {
		return nil, err
	}
	return node.Resume, node.Pause()
}

// migrate moves the slot of key to the next primary.
func (t *Target) migrate(_ context.Context, key string) (func(context.Context) error, error) {
	slot := backend.Slot(key)
	from, err := t.cluster.Owner(slot)
	if err != nil {
		return nil, err
	}
	primaries := t.cluster.Primaries()
	next := (slices.Index(primaries, t.nodes[from]) + 1) % len(primaries)
	m, err := t.cluster.BeginMigration(slot, slices.Index(t.nodes, primaries[next]))
	if err != nil {
		return nil, err
	}
	if err := m.MoveKeys(); err != nil {
		return nil, err
	}
	return func(context.Context) error { return errors.Join(m.MoveKeys(), m.Finish()) }, nil
}

// Topology is a way to run servers.
type Topology struct {
	Name string

	// Start starts servers of the test's own.
	Start func(tb testing.TB, kind servers.Kind) *Target
}

// Topologies are all that the suite runs on.
func Topologies() []Topology {
	return []Topology{
		{"Standalone", Standalone},
		{"TLS", withTLS},
		{"ACL", withACL},
		{"Replicated", replicated},
		{"Sentinel", Sentinel},
		{"Cluster", clusterWithACL},
		{"ClusterWithReplicas", clusterWithReplicas},
		{"OneEndpoint", func(tb testing.TB, kind servers.Kind) *Target { // as a cluster behind a proxy
			tb.Helper()
			return One(servers.StartCluster(tb, kind, 1, nil).Nodes[0], Client{OneEndpoint: true})
		}},
	}
}

// Standalone starts a server of the test's own.
func Standalone(tb testing.TB, kind servers.Kind) *Target {
	tb.Helper()
	return One(servers.Start(tb, kind, nil), Client{})
}

// One returns a target that is one server, of which clients must know c.
func One(s *servers.Server, c Client) *Target {
	return &Target{nodes: []*servers.Server{s}, client: c, restart: s.Restart}
}

// withTLS starts a server whose clients speak TLS, and have certificates.
func withTLS(tb testing.TB, kind servers.Kind) *Target {
	tb.Helper()
	s := servers.Start(tb, kind, &servers.Options{TLS: true})
	return One(s, Client{Addrs: []string{s.TLSAddr()}, TLS: s.TLSConfig()})
}

// withACL starts a server whose clients are a user of few permissions.
func withACL(tb testing.TB, kind servers.Kind) *Target {
	tb.Helper()
	return One(servers.Start(tb, kind, &servers.Options{Config: user("")}), Client{User: "hasp", Password: "secret"})
}

// clusterWithACL starts a cluster whose clients are such a user.
func clusterWithACL(tb testing.TB, kind servers.Kind) *Target {
	tb.Helper()
	_, more := ACLCommands()
	_, more, _ = strings.Cut(more, " app ")
	c := servers.StartCluster(tb, kind, 3, &servers.ClusterOptions{Config: user(more)})
	return &Target{nodes: c.Nodes, cluster: c, restart: c.Restart, client: Client{User: "hasp", Password: "secret"}}
}

// replicated starts a primary with two replicas behind an address that leads to the primary.
func replicated(tb testing.TB, kind servers.Kind) *Target {
	tb.Helper()
	r := servers.StartReplicated(tb, kind, 2, nil)
	return &Target{
		nodes: r.Nodes, client: Client{Addrs: []string{r.Addr()}}, restart: r.Restart,
		primary:    func() (*servers.Server, error) { return r.Primary(), nil },
		failOverTo: func(_ int, unseen func() error) error { return r.FailOver(unseen) },
	}
}

// Sentinel starts a primary with two replicas, and 3 sentinels, which clients ask for it.
func Sentinel(tb testing.TB, kind servers.Kind) *Target {
	tb.Helper()
	s := servers.StartSentinel(tb, kind, 2, nil)
	return &Target{
		nodes:          s.Nodes,
		client:         Client{Addrs: s.Addrs(), Master: servers.MasterName},
		primary:        s.Primary,
		failOverTo:     func(_ int, unseen func() error) error { return s.FailOver(unseen) },
		restart:        s.Restart,
		isolatePrimary: func(int) (func() error, error) { return s.Isolate() },
	}
}

// Cluster starts a cluster of the test's own.
func Cluster(tb testing.TB, kind servers.Kind) *Target {
	tb.Helper()
	c := servers.StartCluster(tb, kind, 3, nil)
	return &Target{nodes: c.Nodes, cluster: c, restart: c.Restart}
}

// clusterWithReplicas starts a cluster of 3 primaries with a replica each.
func clusterWithReplicas(tb testing.TB, kind servers.Kind) *Target {
	tb.Helper()
	c := servers.StartCluster(tb, kind, 3, &servers.ClusterOptions{Replicas: 1})
	return &Target{nodes: c.Nodes, cluster: c, restart: c.Restart, failOverTo: c.FailOver, isolatePrimary: c.Isolate}
}
