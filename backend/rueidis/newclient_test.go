package rueidisbackend_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	rueidisbackend "github.com/hasp-go/hasp/backend/rueidis"
	"github.com/hasp-go/hasp/primitives"
)

// TestNewClientClosesItsBackend closes a client: its backend is closed, and the driver's client can still be used. So it
// can after a bad option.
func TestNewClientClosesItsBackend(t *testing.T) {
	t.Parallel()
	f := &fakeServer{answer: func([]string) string { return ok }}
	conn := f.client(t)
	client := must(rueidisbackend.NewClient(conn, nil))(t)
	require.NoError(t, client.Close(t.Context()))
	one := backend.NewScript("one", "return 1", 1, backend.RetryReadOnly)
	require.ErrorIs(t, errOf(client.Core().Backend().Run(t.Context(), one, []string{"x"}, nil)), backend.ErrClosed)
	_, err := rueidisbackend.NewClient(conn, &primitives.Options{WatchdogLease: 1})
	require.ErrorAs(t, err, new(*primitives.FieldError))
	require.NoError(t, conn.Do(t.Context(), conn.B().Ping().Build()).Error())
}
