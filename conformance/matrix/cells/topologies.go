package cells

import (
	"testing"

	"github.com/hasp-go/hasp/conformance/servers"
)

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
		{"Cluster", Cluster},
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
	return One(servers.Start(tb, kind, &servers.Options{Config: User(suiteRules())}), Client{User: "hasp", Password: "secret"})
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
