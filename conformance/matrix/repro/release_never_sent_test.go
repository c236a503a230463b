package repro

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// TestReleaseThatWasNeverSentIsGivenUp releases a permit while nobody can connect, under a context
// that has ended, as "defer sem.Release(ctx, 1)" may: the permit once was gone after 3 s. The host
// refuses connections, or answers nothing at all.
func TestReleaseThatWasNeverSentIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, client := range map[string]func(*testing.T, *road) *primitives.Client{
		"goredis": goRedisBy, "rueidis": rueidisBy,
	} {
		for outage, silent := range map[string]bool{"Refused": false, "Silent": true} {
			t.Run(name+outage, func(t *testing.T) {
				t.Parallel()
				releaseWithoutAServer(t, client, silent)
			})
		}
	}
}

func releaseWithoutAServer(
	t *testing.T, client func(*testing.T, *road) *primitives.Client, silent bool,
) {
	t.Helper()
	s := servers.Start(t, servers.Redis, nil)
	r := &road{proxy: servers.StartProxy(t, s.Addr(), nil)}
	sem := client(t, r).NewSemaphore("s", nil)
	_, err := sem.TrySetPermits(t.Context(), 3)
	require.NoError(t, err)
	require.NoError(t, sem.Acquire(t.Context(), 3))
	r.silent.Store(silent)
	r.proxy.Refuse() // The server's host restarts.
	r.proxy.Cut()
	require.Eventually(t, func() bool { // The driver has noticed, and dials.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := sem.AvailablePermits(ctx)
		var op *net.OpError
		return silent && r.dials.Load() > 0 || errors.As(err, &op) && op.Op == "dial"
	}, 30*time.Second, time.Millisecond)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, sem.Release(ended, 1), backend.ErrIndeterminate)
	require.ErrorIs(t, sem.Release(ended, 1), backend.ErrIndeterminate)

	time.Sleep(7 * time.Second) // Longer than an adapter tries, and a client waits, by itself.
	r.silent.Store(false)
	require.NoError(t, r.proxy.Accept())
	free := func() int {
		n, err := sem.AvailablePermits(t.Context())
		if err != nil {
			return -1
		}
		return n
	}
	require.Eventually(t, func() bool { return free() == 2 }, 30*time.Second, 50*time.Millisecond)
	require.NoError(t, sem.Release(t.Context(), 1))
	require.Equal(t, 3, free())
}

// road leads to a server, or into silence.
type road struct {
	proxy  *servers.Proxy
	silent atomic.Bool
	dials  atomic.Int32 // under way while silent
}

// dial dials the server. Into silence a dial lasts until ctx ends, for 6 s at most.
func (r *road) dial(ctx context.Context) (net.Conn, error) {
	if r.silent.Load() {
		r.dials.Add(1)
		defer r.dials.Add(-1)
		select {
		case <-ctx.Done():
		case <-time.After(6 * time.Second):
		}
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("nothing answers")}
	}
	return new(net.Dialer).DialContext(ctx, "tcp", r.proxy.Addr())
}

func goRedisBy(t *testing.T, way *road) *primitives.Client {
	t.Helper()
	r := redis.NewClient(&redis.Options{
		Addr:   way.proxy.Addr(),
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) { return way.dial(ctx) },
	})
	t.Cleanup(func() { _ = r.Close() })
	b, err := goredisbackend.New(r, nil)
	require.NoError(t, err)
	return over(t, b, nil)
}

// rueidisBy has one connection. Of more the client notices an end only when it uses them, a second
// later, and what is written to a connection that has ended may have been executed.
func rueidisBy(t *testing.T, way *road) *primitives.Client {
	t.Helper()
	return rueidisWith(t, rueidis.ClientOption{
		InitAddress:       []string{way.proxy.Addr()},
		PipelineMultiplex: -1,
		DialCtxFn: func(
			ctx context.Context, _ string, _ *net.Dialer, _ *tls.Config,
		) (net.Conn, error) {
			return way.dial(ctx)
		},
	})
}
