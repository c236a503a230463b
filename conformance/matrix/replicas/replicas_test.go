// Package replicas has tests on a primary and replicas that lag, stop or leave: what a lagging replica
// forgets when it is promoted, and locks that wait for replicas.
package replicas

import (
	"os"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"github.com/valkey-io/valkey-go"

	"github.com/hasp-go/hasp/backend"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	valkeybackend "github.com/hasp-go/hasp/backend/valkey"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// TestReadsGoToThePrimary reads behind a client that sends what only reads to a replica, which lags (R8).
func TestReadsGoToThePrimary(t *testing.T) {
	t.Parallel()
	for kind, open := range map[servers.Kind]func(t *testing.T, primary, replica string) backend.Backend{
		servers.Redis: readingRueidis, servers.Valkey: readingValkey,
	} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			r := servers.StartReplicated(t, kind, 1, nil)
			readFresh(t, open(t, r.Primary().Addr(), r.Replicas()[0].Addr()), r)
		})
	}
}

func readingRueidis(t *testing.T, primary, replica string) backend.Backend {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:    []string{primary},
		Standalone:     rueidis.StandaloneOption{ReplicaAddress: []string{replica}},
		SendToReplicas: func(cmd rueidis.Completed) bool { return cmd.IsReadOnly() },
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	b := cells.Got(rueidisbackend.New(client, nil))(t)
	return b
}

func readingValkey(t *testing.T, primary, replica string) backend.Backend {
	t.Helper()
	client, err := valkey.NewClient(valkey.ClientOption{
		InitAddress:    []string{primary},
		Standalone:     valkey.StandaloneOption{ReplicaAddress: []string{replica}},
		SendToReplicas: func(cmd valkey.Completed) bool { return cmd.IsReadOnly() },
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	b := cells.Got(valkeybackend.New(client, nil))(t)
	return b
}

// readFresh writes what the replica does not get, and reads it.
func readFresh(t *testing.T, b backend.Backend, r *servers.Replicated) {
	t.Helper()
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	read := backend.NewScript("read", "return redis.call('get', KEYS[1])", 1, backend.RetryReadOnly)
	plain := backend.NewScript("read", "return redis.call('get', KEYS[1])", 1, backend.RetryReadOnly)
	plain.Command = "GET"
	require.NoError(t, cells.Err(b.Run(t.Context(), read, []string{"k"}, nil)))
	require.NoError(t, r.Sync())
	require.NoError(t, r.Lag())
	require.NoError(t, cells.Err(r.Primary().Do("SET", "k", "fresh")))
	for range 20 {
		for _, script := range []*backend.Script{read, plain} {
			cells.Want(t, backend.StringReply("fresh"))(b.Run(t.Context(), script, []string{"k"}, nil))
		}
	}
}
