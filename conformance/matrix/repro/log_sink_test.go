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
	"github.com/hasp-go/hasp/primitives"
)

// TestBlockedLogSinkStopsNoLock blocks the log, as a full pipe or a slow disk does, while one channel
// is refused: other callers lock and unlock meanwhile.
func TestBlockedLogSinkStopsNoLock(t *testing.T) {
	t.Parallel()
	b, err := embedded.New(embedded.NewServer(), nil)
	require.NoError(t, err)
	log, blocked, release := blockingLog()
	c := over(t, unsubscribable{b}, &primitives.Options{Logger: log})
	defer release()
	_, err = c.NewLock("held", nil).Lock(t.Context())
	require.NoError(t, err)
	waiting, stop := context.WithCancel(t.Context())
	defer stop()
	go func() { _, _ = c.NewLock("held", nil).Lock(waiting) }()
	select {
	case <-blocked:
	case <-time.After(10 * time.Second):
		require.FailNow(t, "nothing was logged")
	}
	done := make(chan error, 1)
	go func() {
		lease, err := c.NewLock("free", nil).Lock(t.Context())
		if err == nil {
			err = lease.Unlock(t.Context())
		}
		done <- err
	}()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(10 * time.Second):
		require.FailNow(t, "a free lock cannot be locked while the log is blocked")
	}
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
