package recipes_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/examples/recipes"
	"github.com/hasp-go/hasp/primitives"
)

// TestServeFinishesUnderTheLock sends SIGTERM while a request holds a lock: no connection is accepted after
// that, the request keeps its lock, its user gets the answer, and the client is closed.
//
// It is one test and not one for each server, since the signal is for the whole process.
func TestServeFinishesUnderTheLock(t *testing.T) {
	t.Parallel()
	process := onEmbedded(t, embedded.NewServer())
	client, slow := process(), newGate()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := listener.Addr().String()
	served, answered := make(chan error, 1), make(chan int, 1)
	go func() { served <- recipes.Serve(listener, recipes.PerUser(client, byHeader, slow), client) }()
	go func() { answered <- post(t.Context(), addr) }()
	receive(t, slow.entered)

	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	require.NoError(t, self.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool { return refuses(t.Context(), addr) }, patience, time.Millisecond)
	locked, err := process().NewLock("user:ann", nil).IsLocked(t.Context())
	require.NoError(t, err)
	require.True(t, locked)
	require.Empty(t, served)

	slow.leave <- struct{}{}
	require.Equal(t, http.StatusOK, receive(t, answered))
	require.NoError(t, receive(t, served))
	_, err = client.NewLock("user:ann", nil).TryLock(t.Context())
	require.ErrorIs(t, err, primitives.ErrClosed)
	locked, err = process().NewLock("user:ann", nil).IsLocked(t.Context())
	require.NoError(t, err)
	require.False(t, locked)
}

// post sends ann's request, and returns the status of the answer, or 0.
func post(ctx context.Context, addr string) int {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr, http.NoBody)
	if err != nil {
		return 0
	}
	r.Header.Set("User", "ann")
	r.Close = true
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// refuses reports whether nobody listens at addr.
func refuses(ctx context.Context, addr string) bool {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err == nil {
		_ = conn.Close()
	}
	return err != nil
}
