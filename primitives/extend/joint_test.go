package extend_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives/extend"
)

// TestJointIsNotSavedByALatePart regains a part when too few are left already: others may have held the
// object since.
func TestJointIsNotSavedByALatePart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer()
		seat := newSeat(t, s.client(t))
		first, err := seat.take(t.Context())
		require.NoError(t, err)
		joint, err := extend.NewJoint(extend.JointConfig{
			Name: "seats", Parts: []*extend.Lease{first, nil}, Need: 1, Pause: time.Second,
			Regain: func(ctx context.Context, _ int) (*extend.Lease, error) {
				late, err := seat.take(ctx)
				first.Forget()
				return late, err
			},
		})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.ErrorIs(t, joint.Err(), extend.ErrLost)
		require.Equal(t, 1, s.called("seat_leave"), "the late part is released")
		require.ErrorIs(t, joint.Release(t.Context()), extend.ErrNotHeld)
	})
}
