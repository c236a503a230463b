package barrier_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/servers"
)

// TestDeclared judges the barrier by all that follows from its declaration, in virtual time.
func TestDeclared(t *testing.T) {
	t.Parallel()
	conformance.RunPrimitive(t, onEmbedded(), declared)
}

// TestDeclaredInRealTime is [TestDeclared] in real time.
func TestDeclaredInRealTime(t *testing.T) {
	t.Parallel()
	h := onEmbedded()
	h.Bubble, h.Rounds = nil, histories
	conformance.RunPrimitive(t, h, declared)
}

// TestDeclaredOnServer judges the barrier and the limiter on a real server.
func TestDeclaredOnServer(t *testing.T) {
	t.Parallel()
	h := onRedis(t)
	for _, of := range []engine.Subject{declared, declaredLimiter} {
		report := conformance.RunPrimitive(t, h, of)
		require.Subset(t, servers.Skips(h), report.Reasons())
	}
}

// onRedis returns a harness on a server that ends with the test.
func onRedis(t *testing.T) *conformance.Harness {
	t.Helper()
	h := servers.Harness(t, servers.Redis, func(_ context.Context, addr string) (*conformance.Instance, error) {
		client := redis.NewClient(&redis.Options{Addr: addr})
		b, err := goredisbackend.New(client, nil)
		return &conformance.Instance{
			Backend: b,
			Close:   func() { _ = client.Close() },
			Ping:    func(ctx context.Context) error { return client.Ping(ctx).Err() },
		}, err
	})
	h.Batches, h.WaitsForReplicas, h.Scans, h.Rounds = true, true, true, histories
	return h
}

// histories is how many run in real time: enough for some calls to pass.
const histories = 15

// onEmbedded returns a harness on a server within the process.
func onEmbedded() *conformance.Harness {
	return servers.InProcess(embedded.NewServer, func(server *embedded.Server) (backend.Backend, error) {
		return embedded.New(server, nil)
	})
}
