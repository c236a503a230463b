package repro

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// TestBlockedLogSinkStopsNoLock blocks the log, as a full pipe or a slow disk does, while one channel
// is refused: other callers lock and unlock meanwhile.
func TestBlockedLogSinkStopsNoLock(t *testing.T) {
	t.Parallel()
	log, blocked, release := blockingLog()
	b := unsubscribable{backendOf(t, embedded.NewServer())}
	c := cells.Over(t, b, &primitives.Options{Logger: log})
	defer release()
	lock(t, c, "held")
	waiting, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _, _ = c.NewLock("held", nil).Lock(waiting) }()
	cells.Within(t, 10*time.Second, "nothing was logged", blocked)
	done := make(chan error, 1)
	go func() { done <- cells.LockUnlock(t.Context(), c.NewLock("free", nil)) }()
	require.NoError(t, cells.Within(t, 10*time.Second, "locking a free lock", done))
}

// unsubscribable is a backend whose user has no access to channels.
type unsubscribable struct{ backend.Backend }

func (unsubscribable) Subscribe(
	context.Context, string, backend.Handler,
) (backend.Subscription, error) {
	return nil, backend.ParseServerError("NOPERM No permissions to access a channel")
}

// blockingLog returns a logger that blocks with each entry until release is called, and a channel
// that receives when one does.
func blockingLog() (log *zap.Logger, blocked <-chan struct{}, release func()) {
	released, release := context.WithCancel(context.Background())
	entries := make(chan struct{}, 1)
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()),
		zapcore.AddSync(io.Discard), zap.DebugLevel)
	return zap.New(zapcore.RegisterHooks(core, func(zapcore.Entry) error {
		select {
		case entries <- struct{}{}:
		default:
		}
		<-released.Done()
		return nil
	})), entries, release
}
