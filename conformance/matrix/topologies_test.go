package matrix

import (
	"strings"
	"testing"

	"github.com/hasp-go/hasp/conformance/servers"
)

// topology is a way to run servers.
type topology struct {
	name  string
	start func(tb testing.TB, kind servers.Kind) *target
}

// topologies are all that the suite runs on.
func topologies() []topology {
	return []topology{
		{"Standalone", standalone},
		{"TLS", withTLS},
		{"ACL", withACL},
		{"Replicated", replicated},
		{"Sentinel", withSentinel},
		{"Cluster", clusterOf3},
		{"ClusterWithReplicas", clusterWithReplicas},
	}
}

// standalone starts a server of the test's own.
func standalone(tb testing.TB, kind servers.Kind) *target {
	tb.Helper()
	return &target{nodes: []*servers.Server{servers.Start(tb, kind, nil)}}
}

// withTLS starts a server whose clients speak TLS, and have certificates.
func withTLS(tb testing.TB, kind servers.Kind) *target {
	tb.Helper()
	s := servers.Start(tb, kind, &servers.Options{TLS: true})
	return &target{
		nodes:  []*servers.Server{s},
		client: clientOptions{addrs: []string{s.TLSAddr()}, tls: s.TLSConfig()},
		proxy:  servers.ProxyOptions{TLS: s.TLSConfig()},
	}
}

// withACL starts a server whose clients are a user of few rights.
func withACL(tb testing.TB, kind servers.Kind) *target {
	tb.Helper()
	rules := append([]string{"on", ">secret"}, suiteRules()...)
	s := servers.Start(tb, kind, &servers.Options{Config: map[string]string{
		"user hasp": strings.Join(rules, " "),
	}})
	return &target{
		nodes:  []*servers.Server{s},
		client: clientOptions{user: "hasp", password: "secret"},
	}
}

// replicated starts a primary with two replicas behind an address that leads to the primary.
func replicated(tb testing.TB, kind servers.Kind) *target {
	tb.Helper()
	r := servers.StartReplicated(tb, kind, 2, nil)
	return &target{
		nodes:      r.Nodes,
		client:     clientOptions{addrs: []string{r.Addr()}},
		primary:    func() (*servers.Server, error) { return r.Primary(), nil },
		failOverTo: func(_ int, unseen func() error) error { return r.FailOver(unseen) },
		restartAll: r.Restart,
	}
}

// withSentinel starts a primary with two replicas, and 3 sentinels, which clients ask for it.
func withSentinel(tb testing.TB, kind servers.Kind) *target {
	tb.Helper()
	s := servers.StartSentinel(tb, kind, 2, nil)
	return &target{
		nodes:      s.Nodes,
		client:     clientOptions{addrs: s.Addrs(), sentinelMaster: servers.MasterName},
		primary:    s.Primary,
		failOverTo: func(_ int, unseen func() error) error { return s.FailOver(unseen) },
		restartAll: s.Restart,

		isolatePrimary: func(int) (func() error, error) { return s.Isolate() },
	}
}

// clusterOf3 starts a cluster of the test's own.
func clusterOf3(tb testing.TB, kind servers.Kind) *target {
	tb.Helper()
	c := servers.StartCluster(tb, kind, 3, nil)
	return &target{nodes: c.Nodes, cluster: c, restartAll: c.Restart}
}

// clusterWithReplicas starts a cluster of 3 primaries with a replica each.
func clusterWithReplicas(tb testing.TB, kind servers.Kind) *target {
	tb.Helper()
	c := servers.StartCluster(tb, kind, 3, &servers.ClusterOptions{Replicas: 1})
	return &target{
		nodes: c.Nodes, cluster: c, restartAll: c.Restart, failOverTo: c.FailOver,
		isolatePrimary: c.Isolate,
	}
}
