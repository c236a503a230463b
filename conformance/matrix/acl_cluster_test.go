package matrix

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// TestACLInACluster contends for locks of all nodes as a user with the documented rights.
func TestACLInACluster(t *testing.T) {
	t.Parallel()
	rules := append([]string{"on", ">secret"}, clusterRules("app:")...)
	c := servers.StartCluster(t, servers.Valkey, 3, &servers.ClusterOptions{
		Server: servers.Options{Config: map[string]string{"user hasp": strings.Join(rules, " ")}},
	})
	on := &target{
		nodes: c.Nodes, cluster: c, client: clientOptions{user: "hasp", password: "secret"},
	}
	for _, a := range adapters() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			// No poll: a message that is refused is missed.
			o := &primitives.Options{KeyPrefix: "app:", PollInterval: time.Hour}
			one, _ := openClient(t, a, on, o)
			other, _ := openClient(t, a, on, o)
			for _, name := range []string{"1", "2", "3", "4", "5", "6"} {
				handOver(t, one.NewLock(a.name+name, nil), other.NewLock(a.name+name, nil))
			}
			require.NoError(t, c.Each("SCRIPT", "FLUSH"))
			handOver(t, other.NewLock(a.name, nil), one.NewLock(a.name, nil))
		})
	}
}

// handOver makes waiter wait for what holder has.
func handOver(t *testing.T, holder, waiter *primitives.Lock) {
	t.Helper()
	lease, err := holder.Lock(t.Context())
	require.NoError(t, err)
	got := make(chan error, 1)
	go func() {
		next, err := waiter.Lock(t.Context())
		if err == nil {
			err = next.Unlock(t.Context())
		}
		got <- err
	}()
	_, err = waiter.TryLock(t.Context())
	require.ErrorIs(t, err, primitives.ErrNotAcquired)
	require.NoError(t, lease.Unlock(t.Context()))
	select {
	case err := <-got:
		require.NoError(t, err)
	case <-time.After(conformance.Patience):
		require.FailNow(t, "the waiter was not woken")
	}
}
