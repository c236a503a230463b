package embedded_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
)

// waitFor waits until as many payloads as wanted have come, and compares them.
func (i *inbox) waitFor(t *testing.T, want ...string) {
	t.Helper()
	require.Eventually(t, func() bool { return len(i.payloads()) >= len(want) },
		10*time.Second, time.Millisecond)
	require.Equal(t, want, i.payloads())
}

func publish(t *testing.T, server *embedded.Server, channel, payload string) int64 {
	t.Helper()
	reply := must(server.Do("PUBLISH", channel, payload))(t)
	return must(reply.Int())(t)
}

func TestEachBackendIsAClient(t *testing.T) {
	t.Parallel()
	server := embedded.NewServer()
	one, two := newBackend(t, server), newBackend(t, server)
	var first, second inbox
	for b, i := range map[*embedded.Backend]*inbox{one: &first, two: &second} {
		for range 2 { // share the client's subscription
			require.NoError(t, errOf(b.Subscribe(t.Context(), "c", i.handle)))
		}
	}
	require.EqualValues(t, 2, publish(t, server, "c", "x"))
	first.waitFor(t, "x", "x")
	second.waitFor(t, "x", "x")
	require.NoError(t, one.Close())
	require.EqualValues(t, 1, publish(t, server, "c", "y"))
	second.waitFor(t, "x", "x", "y", "y")
	require.Equal(t, []string{"x", "x"}, first.payloads())
}
