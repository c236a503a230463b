package embedded_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
)

func publish(t *testing.T, server *embedded.Server, channel, payload string) int64 {
	t.Helper()
	reply := must(server.Do("PUBLISH", channel, payload))(t)
	return must(reply.Int())(t)
}

func TestEachBackendIsAClient(t *testing.T) {
	t.Parallel()
	server := embedded.NewServer()
	one, two := newBackend(t, server), newBackend(t, server)
	got := map[*embedded.Backend]chan string{one: make(chan string, 9), two: make(chan string, 9)}
	for b, payloads := range got {
		for range 2 { // share the client's subscription
			require.NoError(t, errOf(b.Subscribe(t.Context(), "c", func(e backend.Event) { payloads <- e.Payload })))
		}
	}
	require.EqualValues(t, 2, publish(t, server, "c", "x"))
	for _, payloads := range got {
		require.Equal(t, []string{"x", "x"}, []string{<-payloads, <-payloads})
	}
	require.NoError(t, one.Close())
	require.EqualValues(t, 1, publish(t, server, "c", "y"))
	require.Equal(t, []string{"y", "y"}, []string{<-got[two], <-got[two]})
	require.Empty(t, got[one])
}
