package repro

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"
	"github.com/valkey-io/valkey-go"

	"github.com/hasp-go/hasp/backend"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	valkeybackend "github.com/hasp-go/hasp/backend/valkey"
	"github.com/hasp-go/hasp/conformance/servers"
)

// closable are backends of a server at an address, and what closes their clients, by the driver.
var closable = map[string]func(t *testing.T, addr string) (backend.Backend, func()){
	"goredis": func(t *testing.T, addr string) (backend.Backend, func()) {
		t.Helper()
		client := redis.NewClient(&redis.Options{Addr: addr})
		b, err := goredisbackend.New(client, nil)
		require.NoError(t, err)
		return b, func() { _ = client.Close() }
	},
	"rueidis": func(t *testing.T, addr string) (backend.Backend, func()) {
		t.Helper()
		client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}})
		require.NoError(t, err)
		b, err := rueidisbackend.New(client, nil)
		require.NoError(t, err)
		return b, client.Close
	},
	"valkey": func(t *testing.T, addr string) (backend.Backend, func()) {
		t.Helper()
		client, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{addr}})
		require.NoError(t, err)
		b, err := valkeybackend.New(client, nil)
		require.NoError(t, err)
		return b, client.Close
	},
}

var incr = backend.NewScript("incr", "return redis.call('incr', KEYS[1])", 1, backend.Never)

// The driver's client is closed before the backend, as a wrong order of defers does. A call that
// begins then is surely not sent: it fails at once, with an error that is the same for all drivers.
func TestCloseAfterTheDriver(t *testing.T) {
	t.Parallel()
	for name, open := range closable {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			closeAfterTheDriver(t, servers.Start(t, servers.Redis, nil), open)
		})
		// Given the address of a cluster's node, rueidis and valkey-go make another kind of client.
		t.Run(name+"Cluster", func(t *testing.T) {
			t.Parallel()
			c := servers.StartCluster(t, servers.Redis, 3, nil)
			owner, err := c.Owner(backend.Slot("n"))
			require.NoError(t, err)
			closeAfterTheDriver(t, c.Nodes[owner], open)
		})
	}
}

func closeAfterTheDriver(
	t *testing.T, s *servers.Server, open func(t *testing.T, addr string) (backend.Backend, func()),
) {
	t.Helper()
	b, end := open(t, s.Addr())
	call := backend.Call{Script: incr, Keys: []string{"n"}}
	_, err := b.Run(t.Context(), incr, call.Keys, nil)
	require.NoError(t, err)
	end()
	require.Eventually(t, func() bool { // rueidis closes a cluster's connections in the background
		_, err := b.Run(t.Context(), incr, call.Keys, nil)
		return errors.Is(err, backend.ErrClosed)
	}, 10*time.Second, time.Millisecond)
	ran, err := s.Do("GET", "n")
	require.NoError(t, err)
	began := time.Now()
	for range 3 {
		_, err := b.Run(t.Context(), incr, call.Keys, nil)
		requireClosed(t, err)
		batch := []backend.Call{call, call}
		for _, outcome := range backend.RunAll(t.Context(), b.(backend.Batcher), batch) {
			requireClosed(t, outcome.Err)
		}
		_, _, err = b.(backend.ReplicaWaiter).RunThenWait(t.Context(), call, 0, time.Second)
		requireClosed(t, err)
	}
	require.Less(t, time.Since(began), 2*time.Second, "it was tried again")
	after, err := s.Do("GET", "n")
	require.NoError(t, err)
	require.Equal(t, ran, after)
	require.NoError(t, b.Close())
}

func requireClosed(t *testing.T, err error) {
	t.Helper()
	require.ErrorIs(t, err, backend.ErrClosed)
	require.NotErrorIs(t, err, backend.ErrUnavailable)
	require.False(t, backend.MayHaveRun(err))
}

// The client is closed while calls are in flight on a server that stands still. Those that it has
// got run later: none of them may be reported as one that was not sent.
func TestCloseOfTheDriverInFlight(t *testing.T) {
	t.Parallel()
	const calls = 20
	for name, open := range closable {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, servers.Redis, nil)
			b, end := open(t, s.Addr())
			_, err := b.Run(t.Context(), incr, []string{"n"}, nil)
			require.NoError(t, err)
			require.NoError(t, s.Pause())
			errs := make(chan error, calls)
			for range calls {
				go func() {
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
					defer cancel()
					_, err := b.Run(ctx, incr, []string{"n"}, nil)
					errs <- err
				}()
			}
			time.Sleep(200 * time.Millisecond) // The calls are in flight, or are not: both must be right.
			end()
			require.NoError(t, s.Resume())
			unsent, unknown := 0, 0
			for range calls {
				switch err := <-errs; {
				case err == nil:
				case backend.MayHaveRun(err):
					unknown++
				default:
					requireClosed(t, err)
					unsent++
				}
			}
			reply, err := s.Do("GET", "n")
			require.NoError(t, err)
			n, err := reply.Int()
			require.NoError(t, err)
			t.Logf("%d of %d calls ran; %d unknown, %d not sent", n-1, calls, unknown, unsent)
			require.LessOrEqual(t, int(n)-1, calls-unsent, "a call that was not sent ran")
			require.Positive(t, unknown+int(n)-1, "no call was in flight")
			require.NoError(t, b.Close())
		})
	}
}
