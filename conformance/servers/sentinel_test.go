package servers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

func TestSentinelFailOver(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		s := servers.StartSentinel(t, kind, 2, nil)
		require.Len(t, s.Addrs(), 3)
		old := sentinelPrimary(t, s)
		require.Same(t, s.Nodes[0], old)
		set(t, old, "seen", "1")
		require.NoError(t, s.FailOver(func() error {
			set(t, old, "unseen", "1")
			return nil
		}))
		next := sentinelPrimary(t, s)
		require.NotSame(t, old, next)
		require.Equal(t, "1", get(t, next, "seen"))
		require.Empty(t, get(t, next, "unseen"))
		require.Empty(t, get(t, old, "unseen"))
		requireCode(t, "READONLY", old, "SET", "key", "value")

		set(t, next, "key", "value")
		require.NoError(t, s.FailOver(nil))
		require.Equal(t, "value", get(t, sentinelPrimary(t, s), "key"))
	})
}

func TestSentinelRestart(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		s := servers.StartSentinel(t, kind, 2, nil)
		set(t, s.Nodes[0], "key", "value")
		require.NoError(t, s.Restart(servers.KeepData))
		require.Equal(t, "value", get(t, sentinelPrimary(t, s), "key"))
		require.NoError(t, s.Restart(servers.DropData))
		require.Empty(t, get(t, sentinelPrimary(t, s), "key"))
	})
}

func TestSentinelIsolate(t *testing.T) {
	eachKind(t, func(t *testing.T, kind servers.Kind) {
		s := servers.StartSentinel(t, kind, 2, nil)
		old := sentinelPrimary(t, s)
		listener := dial(t, old.Addr(), "SUBSCRIBE", "news")
		rejoin := must(s.Isolate())(t)
		next := sentinelPrimary(t, s)
		require.NotSame(t, old, next)
		set(t, next, "key", "next")
		set(t, old, "key", "old")
		require.NoError(t, errOf(listener.Do("PING")), "its clients' connections live on")

		require.NoError(t, rejoin())
		require.Same(t, next, sentinelPrimary(t, s))
		require.Equal(t, "next", get(t, old, "key"))
		requireCode(t, "READONLY", old, "SET", "key", "value")
		require.NoError(t, s.FailOver(nil))
	})
}

func sentinelPrimary(t *testing.T, s *servers.Sentinel) *servers.Server {
	t.Helper()
	return must(s.Primary())(t)
}
