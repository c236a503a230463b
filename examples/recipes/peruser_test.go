package recipes_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/examples/recipes"
	"github.com/hasp-go/hasp/primitives"
)

// byHeader names the user of a request.
func byHeader(r *http.Request) string { return r.Header.Get("User") }

// ask has a handler answer one request.
func ask(ctx context.Context, h http.Handler, user string) *http.Response {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", http.NoBody)
	r.Header.Set("User", user)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// gate is a handler whose requests of ann wait until they are let go. Those of others pass.
type gate struct{ entered, leave chan struct{} }

func newGate() *gate { return &gate{make(chan struct{}), make(chan struct{})} }

func (g *gate) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	if byHeader(r) == "ann" {
		g.entered <- struct{}{}
		<-g.leave
	}
}

func TestPerUser(t *testing.T) {
	onServers(t, func(t *testing.T, process processes) {
		slow := newGate()
		one := recipes.PerUser(process(), byHeader, slow)
		other := recipes.PerUser(process(), byHeader, slow)
		first := make(chan int, 1)
		go func() { first <- ask(t.Context(), one, "ann").StatusCode }()
		receive(t, slow.entered)

		refused := ask(t.Context(), other, "ann")
		require.Equal(t, http.StatusTooManyRequests, refused.StatusCode)
		require.Equal(t, "1", refused.Header.Get("Retry-After"))
		require.Equal(t, http.StatusOK, ask(t.Context(), other, "bob").StatusCode)

		slow.leave <- struct{}{}
		require.Equal(t, http.StatusOK, receive(t, first))
		go func() { first <- ask(t.Context(), other, "ann").StatusCode }()
		receive(t, slow.entered)
		slow.leave <- struct{}{}
		require.Equal(t, http.StatusOK, receive(t, first))
	})
}

// TestPerUserUnlocksForUsersWhoLeave ends a request's context before its handler returns.
func TestPerUserUnlocksForUsersWhoLeave(t *testing.T) {
	onServers(t, func(t *testing.T, process processes) {
		ctx, leave := context.WithCancel(t.Context())
		client := process()
		ask(ctx, recipes.PerUser(client, byHeader, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			leave()
			<-r.Context().Done()
		})), "ann")
		locked, err := client.NewLock("user:ann", nil).IsLocked(t.Context())
		require.NoError(t, err)
		require.False(t, locked)
	})
}

// TestPerUserCancelsOnLoss frees the lock by force: the handler's context ends at the next renewal.
func TestPerUserCancelsOnLoss(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, server *embedded.Server, client *primitives.Client) {
		var cause error
		ask(t.Context(), recipes.PerUser(client, byHeader, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			require.NoError(t, server.Revoke("user:ann"))
			<-r.Context().Done()
			cause = context.Cause(r.Context())
		})), "ann")
		require.ErrorIs(t, cause, primitives.ErrLost)
	})
}

func TestPerUserWithoutServer(t *testing.T) {
	t.Parallel()
	client := onEmbedded(t, embedded.NewServer())()
	require.NoError(t, client.Close(t.Context()))
	answer := ask(t.Context(), recipes.PerUser(client, byHeader, newGate()), "ann")
	require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
}
