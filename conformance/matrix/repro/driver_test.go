package repro

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/fanout"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/proxy"
	"github.com/hasp-go/hasp/primitives"
)

// TestCallersTellBusyFromDown ends the contexts of callers while another holds the lock, and while no
// server accepts connections. The patience of a caller may be shorter or longer than the adapter's.
func TestCallersTellBusyFromDown(t *testing.T) {
	cells.Proof(t)
	side(t, func(t *testing.T, a cells.Adapter) {
		s := servers.Start(t, servers.Redis, nil)
		p := proxy.Start(t, s.Addr(), nil)
		c := a.Primitives(t, cells.At(p.Addr()), nil)
		lock(t, client(t, s.Addr()), "busy")
		var err error
		require.Eventually(t, func() bool { // An attempt may be under way at the end: a slow machine.
			err = lockFor(t, c, "busy", time.Second)
			return !errors.Is(err, primitives.ErrIndeterminate)
		}, 2*time.Minute, time.Millisecond)
		require.ErrorIs(t, err, primitives.ErrNotAcquired)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, primitives.ErrUnavailable)
		p.Refuse()
		for _, patience := range []time.Duration{2 * time.Second, time.Minute} {
			require.Eventually(t, func() bool { // The connection that was cut may have sent the first.
				err := lockFor(t, c, "free", patience)
				return errors.Is(err, primitives.ErrUnavailable) &&
					!errors.Is(err, primitives.ErrIndeterminate)
			}, 2*time.Minute, time.Millisecond)
		}
		p.Restore()
	})
}

// lockFor returns the error of a Lock that cannot succeed.
func lockFor(t *testing.T, c *primitives.Client, name string, patience time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	lease, err := c.NewLock(name, nil).Lock(ctx)
	require.Nil(t, lease)
	return err
}

// patient is a connection on which a driver waits for ever, whatever its own time-outs are.
type patient struct{ net.Conn }

func (patient) SetDeadline(time.Time) error     { return nil }
func (patient) SetReadDeadline(time.Time) error { return nil }

// TestCallersLeaveAStoppedServer stops the server right after an answer. A caller whose context ends after 100 ms gets its
// error then, and so does a Release after its grace.
func TestCallersLeaveAStoppedServer(t *testing.T) {
	cells.Proof(t)
	side(t, func(t *testing.T, a cells.Adapter) {
		s := servers.Start(t, servers.Redis, nil)
		at := cells.At(s.Addr())
		at.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return patient{conn}, err
		}
		c := a.Primitives(t, at, nil)
		require.NoError(t, lock(t, c, "x").Release(context.Background()))
		lease := lock(t, c, "x")
		require.NoError(t, s.Pause())
		defer func() { require.NoError(t, s.Resume()) }()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		left := make(chan error)
		go func() { left <- lease.Release(ctx) }()
		go func() { left <- lockFor(t, c, "free", 100*time.Millisecond) }()
		for range 2 {
			select {
			case err := <-left:
				require.ErrorIs(t, err, context.DeadlineExceeded)
			case <-time.After(time.Minute):
				require.Fail(t, "a caller waits for the driver")
			}
		}
	})
}

// R9: while the application has all connections of the pool for blocking commands, attempts to
// subscribe leave one goroutine in all that waits for the pool, and none once the pool yields.
func TestDialsOfAUsedUpPoolPileUp(t *testing.T) { //nolint:paralleltest // It counts goroutines.
	s := servers.Start(t, servers.Redis, nil)
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.Addr()}, BlockingPoolSize: 1,
	})
	require.NoError(t, err)
	defer client.Close()
	application, release := client.Dedicate()
	require.NoError(t, application.Do(t.Context(), application.B().Ping().Build()).Error())
	b, err := rueidisbackend.New(client, &rueidisbackend.Options{
		PubSub: &fanout.Options{DialWithin: 100 * time.Millisecond, SubscribeTimeout: 100 * time.Millisecond},
	})
	require.NoError(t, err)
	for range 6 {
		_, err := b.Subscribe(t.Context(), "c", func(backend.Event) {})
		require.ErrorIs(t, err, context.DeadlineExceeded, "the pool was to be used up")
		require.Eventually(t, func() bool { return goroutinesIn("rueidis.(*pool).Acquire") == 1 },
			10*time.Second, time.Millisecond)
	}
	require.NoError(t, b.Close())
	require.Eventually(t, func() bool { return goroutinesIn("backend/rueidis.") == 1 },
		10*time.Second, time.Millisecond, "after Close")
	release()
	require.Eventually(t, func() bool { return goroutinesIn("backend/rueidis.") == 0 },
		10*time.Second, 10*time.Millisecond, "once the pool yields")

	next, release := client.Dedicate() // The pool has its connection again.
	defer release()
	require.NoError(t, next.Do(t.Context(), next.B().Ping().Build()).Error())
}

const (
	consumers   = 4
	blockFor    = 6 * time.Second // two leases
	starveLease = 3 * time.Second
)

// lockWhileOthersBlock holds a lock over c while consumers block, one call of block each, and
// returns the lease and its context as they are when these have returned.
func lockWhileOthersBlock(
	t *testing.T, s *servers.Server, c *primitives.Client, block func(queue string),
) (*primitives.Lease, context.Context) {
	t.Helper()
	lease := lock(t, c, "x")
	ctx := lease.Context(t.Context())
	done := make(chan struct{}, consumers)
	for range consumers {
		go func() { block("queue"); done <- struct{}{} }()
	}
	require.Eventually(t, func() bool {
		info, err := s.Info("clients")
		return err == nil && info["blocked_clients"] == "4"
	}, 5*time.Second, 5*time.Millisecond, "the consumers were to block")
	for range consumers {
		<-done
	}
	return lease, ctx
}

// renewing returns a client of primitives over b, whose leases are short.
func renewing(t *testing.T, b backend.Backend, err error) *primitives.Client {
	t.Helper()
	require.NoError(t, err)
	return cells.Over(t, b, &primitives.Options{WatchdogLease: starveLease})
}

// starved takes a lock over a pool of go-redis while another, or the same, has to serve consumers who
// block.
func starved(
	t *testing.T, s *servers.Server, ours, theirs *redis.Client,
) (*primitives.Lease, context.Context) {
	t.Helper()
	b, err := goredisbackend.New(ours, nil)
	return lockWhileOthersBlock(t, s, renewing(t, b, err), func(queue string) {
		_ = theirs.BLPop(t.Context(), blockFor, queue).Err()
	})
}

func pool(t *testing.T, s *servers.Server, size int) *redis.Client {
	t.Helper()
	r := redis.NewClient(&redis.Options{Addr: s.Addr(), PoolSize: size, PipelinePoolSize: -1})
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// The application's blocking commands have all connections of go-redis's pool: renewals wait for
// one, and the lease is lost, on a healthy server. The holder learns of it.
func TestBlockingCommandsCostTheLease(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	s := servers.Start(t, servers.Redis, nil)
	r := pool(t, s, consumers)
	lease, ctx := starved(t, s, r, r)
	require.ErrorIs(t, lease.Err(), primitives.ErrLost)
	require.ErrorIs(t, context.Cause(ctx), primitives.ErrLost)
	<-lease.Done()
	require.Equal(t, "0", cells.Text(t, s, "EXISTS", "x"))
}

// What package goredisbackend says to set keeps the lease.
func TestBlockingCommandsBesideALease(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	type holding = func(t *testing.T, s *servers.Server) (*primitives.Lease, context.Context)
	for name, hold := range map[string]holding{
		"LargerPool": func(t *testing.T, s *servers.Server) (*primitives.Lease, context.Context) {
			r := pool(t, s, consumers+1)
			return starved(t, s, r, r)
		},
		"ClientOfItsOwn": func(t *testing.T, s *servers.Server) (*primitives.Lease, context.Context) {
			return starved(t, s, pool(t, s, consumers), pool(t, s, consumers))
		},
		"Rueidis": rueidisWhileOthersBlock,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lease, ctx := hold(t, servers.Start(t, servers.Redis, nil))
			require.NoError(t, lease.Err())
			require.NoError(t, ctx.Err())
			require.NoError(t, lease.Release(t.Context()))
		})
	}
}

// rueidis blocks on connections of another pool than that of scripts.
func rueidisWhileOthersBlock(t *testing.T, s *servers.Server) (*primitives.Lease, context.Context) {
	t.Helper()
	r, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{s.Addr()}, BlockingPoolSize: consumers,
	})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	b, err := rueidisbackend.New(r, nil)
	return lockWhileOthersBlock(t, s, renewing(t, b, err), func(queue string) {
		_ = r.Do(t.Context(), r.B().Blpop().Key(queue).Timeout(blockFor.Seconds()).Build()).Error()
	})
}
