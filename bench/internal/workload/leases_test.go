package workload

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/bench/internal/drivers"
	"github.com/hasp-go/hasp/bench/internal/measure"
	"github.com/hasp-go/hasp/conformance/servers"
)

// TestLeases holds a few leases for a moment, of which none is lost.
func TestLeases(t *testing.T) {
	t.Parallel()
	servers.Need(t, servers.Redis)
	require.NoError(t, measure.Within(func(scope *measure.Scope) {
		server := servers.Start(scope, servers.Redis, nil)
		s := &Setup{
			Scope: scope, Driver: "rueidis", Server: server, Place: drivers.Place{Addr: server.Addr()}, Size: 50,
		}
		turn := s.hold(time.Millisecond)[0].Turn
		o, err := turn(t.Context())
		scope.Must(err)
		require.Equal(t, 50, o.Ops)
		require.Zero(t, o.Other["lost%"])
		require.Positive(t, o.Other["B/lease"])
		require.Contains(t, o.Other, "scripts/s")
	}))
}
