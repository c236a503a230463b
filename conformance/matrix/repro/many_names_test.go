package repro

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// TestManyNames uses many names once: each left a token key of about 150 bytes for 30 days.
func TestManyNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const names = 200
		server, c := inProcess(t, nil)
		for i := range names {
			useOnce(t, c, fmt.Sprint("order:", i))
		}
		require.Equal(t, strconv.Itoa(names), do(t, server, "DBSIZE"))
		require.Equal(t, "3600000", do(t, server, "PTTL", "redisson_lock_token:{order:0}"))
		server.Advance(time.Hour)
		require.Equal(t, "0", do(t, server, "DBSIZE"))
	})
}

// useOnce locks and unlocks a name, and returns the token.
func useOnce(t *testing.T, c *primitives.Client, name string) int64 {
	t.Helper()
	lease, err := c.NewLock(name, nil).Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, lease.Unlock(t.Context()))
	return lease.Token()
}
