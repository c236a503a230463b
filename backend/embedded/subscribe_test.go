package embedded_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter/testdata/adaptertest"
	"github.com/hasp-go/hasp/backend/embedded"
)

func TestEachBackendIsAClient(t *testing.T) {
	t.Parallel()
	server := embedded.NewServer()
	one, two := newBackend(t, server), newBackend(t, server)
	got := map[*embedded.Backend]chan string{one: make(chan string, 9), two: make(chan string, 9)}
	for b, payloads := range got {
		for range 2 { // share the client's subscription
			require.NoError(t, adaptertest.ErrOf(b.Subscribe(t.Context(), "c", func(e backend.Event) { payloads <- e.Payload })))
		}
	}
	require.Equal(t, backend.IntegerReply(2), adaptertest.Must(server.Do("PUBLISH", "c", "x"))(t))
	for _, payloads := range got {
		require.Equal(t, []string{"x", "x"}, []string{<-payloads, <-payloads})
	}
	require.NoError(t, one.Close())
	require.Equal(t, backend.IntegerReply(1), adaptertest.Must(server.Do("PUBLISH", "c", "y"))(t))
	require.Equal(t, []string{"y", "y"}, []string{<-got[two], <-got[two]})
	require.Empty(t, got[one])
}
