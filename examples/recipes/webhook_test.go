package recipes_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/examples/recipes"
)

// TestWebhook delivers an event whose work fails, and then twice at once, and again.
func TestWebhook(t *testing.T) {
	onServers(t, func(t *testing.T, process processes) {
		entered, leave := make(chan string), make(chan error)
		work := func(_ context.Context, event []byte) error {
			entered <- string(event)
			return <-leave
		}
		one, other := recipes.Webhook(process(), work), recipes.Webhook(process(), work)
		deliver := func(h http.Handler) <-chan int {
			status := make(chan int, 1)
			go func() {
				r, w := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("paid")), httptest.NewRecorder()
				r.Header.Set("Webhook-Id", "evt_1")
				h.ServeHTTP(w, r)
				status <- w.Code
			}()
			return status
		}
		first := deliver(one)
		require.Equal(t, "paid", receive(t, entered))
		leave <- errors.New("no database")
		require.Equal(t, http.StatusServiceUnavailable, receive(t, first))

		first = deliver(one)
		receive(t, entered)
		second := deliver(other)
		leave <- nil
		for _, delivery := range []<-chan int{first, second, deliver(one), deliver(other)} {
			require.Equal(t, http.StatusOK, receive(t, delivery))
		}
	})
}
