package slogzap_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hasp-go/hasp/primitives/internal/slogzap"
)

// TestNew writes warnings of zap, and no less, as a handler of log/slog is set.
func TestNew(t *testing.T) {
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
	logger := slogzap.New(slog.New(handler))
	logger.Info("nothing")
	logger.With(zap.String("kind", "lock")).Warn("lease lost", zap.String("name", "x"), zap.Error(errors.New("why")))
	logger.Error("worse", zap.Int("count", 3))
	require.Equal(t, `level=WARN msg="lease lost" kind=lock name=x error=why
level=ERROR msg=worse count=3
`, out.String())
}
