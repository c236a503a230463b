package primitives_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// TestLockReachesTheBackendInFewFrames: a reader who asks how a free lock is acquired reads each of them.
func TestLockReachesTheBackendInFewFrames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &stacks{}
		client, err := primitives.New(b, nil)
		require.NoError(t, err)
		ctx, lock := context.Background(), client.NewLock("x", nil)
		for range 2 { // After an answer, a caller sends its call itself, unless another call is under way.
			lease, err := lock.Lock(ctx)
			require.NoError(t, err)
			require.NoError(t, lease.Release(ctx))
			synctest.Wait()
		}
		require.NoError(t, client.Close(ctx))
		require.LessOrEqual(t, len(b.frames), 16, strings.Join(b.frames, "\n"))
		require.Contains(t, b.frames[len(b.frames)-1], "exclusiveLock).Lock")
	})
}

// stacks is freeLocks that notes the frames of hasp from the last call of Lock to here.
type stacks struct {
	freeLocks
	frames []string
}

func (s *stacks) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	if script.Name == "lock_acquire" {
		var pcs [64]uintptr
		frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
		s.frames = nil
		for frame, more := frames.Next(); more && !strings.HasPrefix(frame.Function, "testing."); frame, more = frames.Next() {
			if !strings.Contains(frame.Function, "primitives_test.") {
				s.frames = append(s.frames, frame.Function)
			}
		}
	}
	return s.freeLocks.Run(ctx, script, keys, args)
}
