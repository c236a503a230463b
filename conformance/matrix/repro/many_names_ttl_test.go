package repro

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// TestManyNamesOnAServer uses many names on a server, with an expiry that a test can wait for.
func TestManyNamesOnAServer(t *testing.T) {
	t.Parallel()
	const names = 500
	s := servers.Start(t, servers.Redis, nil)
	c := goRedisWith(t, s.Addr(), &primitives.Options{TokenTTL: time.Second})
	for i := range names {
		useOnce(t, c, fmt.Sprint("order:", i))
	}
	last := pttl(t, s, fmt.Sprintf("redisson_lock_token:{order:%d}", names-1))
	require.Positive(t, last, "no token key was made")
	require.LessOrEqual(t, last, int64(1000))
	require.Eventually(t, func() bool {
		size, err := s.Do("DBSIZE")
		require.NoError(t, err)
		keys, err := size.Int()
		require.NoError(t, err)
		return keys == 0
	}, 20*time.Second, 50*time.Millisecond)
}

// TestTokenOutlivesAClockSetBack has a token that is ahead of the server's clock, as after a step
// back: it is kept until the clock has passed it by TokenTTL. Else tokens would fall.
func TestTokenOutlivesAClockSetBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const key, back = "redisson_lock_token:{x}", 5 * time.Hour
		server, c := inProcess(t, &primitives.Options{TokenTTL: time.Minute})
		before := time.Now().Add(back).UnixMicro()
		do(t, server, "SET", key, strconv.FormatInt(before, 10))
		require.Equal(t, before+1, useOnce(t, c, "x"))
		left, err := strconv.Atoi(do(t, server, "PTTL", key))
		require.NoError(t, err)
		require.InDelta(t, (back + time.Minute).Milliseconds(), left, 1)
		server.Advance(back + time.Minute - time.Millisecond)
		require.Greater(t, useOnce(t, c, "x"), before+1)
	})
}
