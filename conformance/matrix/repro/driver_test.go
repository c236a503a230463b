package repro

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

const (
	consumers   = 4
	blockFor    = 6 * time.Second // two leases
	starveLease = 3 * time.Second
)

// TestBlockingCommandsBesideALease holds a lock while the application's consumers block. If they have all connections
// of go-redis's pool, renewals wait for one, and the holder loses the lease on a healthy server. What package
// goredisbackend says to set keeps the lease. rueidis blocks on connections of another pool than that of scripts.
func TestBlockingCommandsBesideALease(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	for name, c := range map[string]struct {
		size      int // of the pool that hasp has; 0: of rueidis
		own, lost bool
	}{
		"SamePool": {size: consumers, lost: true}, "LargerPool": {size: consumers + 1},
		"ClientOfItsOwn": {size: consumers, own: true}, "Rueidis": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := servers.Start(t, servers.Redis, nil)
			if c.size == 0 {
				b, block := overRueidis(t, s)
				require.NoError(t, heldWhileOthersBlock(t, s, b, block))
				return
			}
			ours := pool(t, s, c.size)
			theirs := ours
			if c.own {
				theirs = pool(t, s, c.size)
			}
			b := cells.Got(goredisbackend.New(ours, nil))(t)
			err := heldWhileOthersBlock(t, s, b, func() { _ = theirs.BLPop(t.Context(), blockFor, "queue").Err() })
			if c.lost {
				require.ErrorIs(t, err, primitives.ErrLost)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

func pool(t *testing.T, s *servers.Server, size int) *redis.Client {
	t.Helper()
	r := redis.NewClient(&redis.Options{Addr: s.Addr(), PoolSize: size, PipelinePoolSize: -1})
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func overRueidis(t *testing.T, s *servers.Server) (b backend.Backend, block func()) {
	t.Helper()
	r, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr()}, BlockingPoolSize: consumers})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	b = cells.Got(rueidisbackend.New(r, nil))(t)
	return b, func() {
		_ = r.Do(t.Context(), r.B().Blpop().Key("queue").Timeout(blockFor.Seconds()).Build()).Error()
	}
}

// heldWhileOthersBlock holds a lock while consumers block, one call of block each, and returns the error of its lease
// then.
func heldWhileOthersBlock(t *testing.T, s *servers.Server, b backend.Backend, block func()) error {
	t.Helper()
	lease := lock(t, cells.Over(t, b, &primitives.Options{WatchdogLease: starveLease}), "x")
	done := make(chan struct{}, consumers)
	for range consumers {
		go func() { block(); done <- struct{}{} }()
	}
	require.Eventually(t, func() bool {
		info, err := s.Info("clients")
		return err == nil && info["blocked_clients"] == "4"
	}, 5*time.Second, 5*time.Millisecond, "the consumers were to block")
	for range consumers {
		<-done
	}
	return lease.Err()
}
