package embedded_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
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

// A handler that blocks holds up neither the server nor other subscriptions.
func TestSlowHandler(t *testing.T) {
	t.Parallel()
	server := embedded.NewServer()
	b := newBackend(t, server)
	release := make(chan struct{})
	defer close(release)
	var got inbox
	require.NoError(t, errOf(b.Subscribe(t.Context(), "c", func(backend.Event) { <-release })))
	require.NoError(t, errOf(b.Subscribe(t.Context(), "c", got.handle)))
	want := make([]string, 100)
	for range want {
		publish(t, server, "c", "")
	}
	got.waitFor(t, want...)
}

// Scripts publish while their server is locked; handlers run scripts.
func TestHandlersRunScripts(t *testing.T) {
	t.Parallel()
	server := embedded.NewServer()
	b := newBackend(t, server)
	relay := backend.NewScript("relay", `
		if redis.call('incr', KEYS[1]) < 200 then redis.call('publish', 'c', 'again') end
		return 1`, 1, backend.RetryNever)
	for range 2 {
		_, err := b.Subscribe(t.Context(), "c", func(backend.Event) {
			_, _ = b.Run(context.Background(), relay, []string{"n"}, nil)
		})
		require.NoError(t, err)
	}
	publish(t, server, "c", "go")
	require.Eventually(t, func() bool {
		reply, err := server.Do("GET", "n")
		n, _ := reply.Int()
		return err == nil && n >= 200
	}, time.Minute, time.Millisecond)
}

// The bubble fails the test if a goroutine is left.
func TestNothingIsLeftAfterClose(t *testing.T) {
	virtual(t, func(t *testing.T, server *embedded.Server) {
		var closing sync.WaitGroup
		for i := range 20 {
			b := must(embedded.New(server, nil))(t)
			for c := range 3 {
				require.NoError(t, errOf(b.Subscribe(t.Context(), fmt.Sprint(c), func(backend.Event) {})))
			}
			closing.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				require.NoError(t, b.Close())
				require.NoError(t, b.Close())
			})
		}
		for range 25 {
			publish(t, server, "1", "x")
			time.Sleep(time.Second)
		}
		closing.Wait()
		require.Zero(t, publish(t, server, "1", "x"))
	})
}

func TestUseAfterClose(t *testing.T) {
	t.Parallel()
	b := newBackend(t, embedded.NewServer())
	require.NoError(t, b.Close())
	require.ErrorIs(t, errOf(b.Subscribe(t.Context(), "c", func(backend.Event) {})), backend.ErrClosed)
	require.ErrorIs(t, errOf(b.Run(t.Context(), getScript, []string{"k"}, nil)), backend.ErrClosed)
}
