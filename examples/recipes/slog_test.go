package recipes_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/examples/recipes"
	"github.com/hasp-go/hasp/primitives"
)

// TestSlog writes warnings of zap, and no less, as a handler of log/slog is set.
func TestSlog(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	handler := slog.NewTextHandler(&out, &slog.HandlerOptions{
		Level: slog.LevelWarn,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})
	logger := recipes.Zap(slog.New(handler))
	logger.Info("nothing")
	logger.With(zap.String("kind", "lock")).Warn("lease lost", zap.String("name", "x"), zap.Error(errors.New("why")))
	logger.Error("worse", zap.Int("count", 3))
	require.Equal(t, `level=WARN msg="lease lost" kind=lock name=x error=why
level=ERROR msg=worse count=3
`, out.String())
}

// TestSlogOfClient gives a client a logger of log/slog.
func TestSlogOfClient(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	b, err := embedded.New(embedded.NewServer(), nil)
	require.NoError(t, err)
	logger := slog.New(slog.NewTextHandler(&out, nil))
	client, err := primitives.New(b, &primitives.Options{Logger: recipes.Zap(logger)})
	require.NoError(t, err)
	_, err = client.NewLock("x", nil).Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, b.Close())
	require.Error(t, client.Close(t.Context()), "the backend was closed first")
	require.Contains(t, out.String(), `level=WARN msg="gave up releasing"`)
}
