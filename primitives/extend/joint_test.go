package extend_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/leases"
	"github.com/hasp-go/hasp/primitives/lease"
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
		joint, err := newJoint(leases.JointConfig{
			Name: "seats", Parts: []*leases.Lease{(*leases.Lease)(first), nil}, Need: 1, Pause: time.Second,
			Regain: func(ctx context.Context, _ int) (*leases.Lease, error) {
				late, err := seat.take(ctx)
				first.Forget()
				return (*leases.Lease)(late), err
			},
		})
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.ErrorIs(t, joint.Err(), lease.ErrLost)
		require.Equal(t, 1, s.called("seat_leave"), "the late part is released")
		require.ErrorIs(t, joint.Release(t.Context()), lease.ErrNotHeld)
	})
}

// TestJointRegains a part after each pause, until it has the part, or its client is closed: then no try can succeed.
func TestJointRegains(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fails error
		tries int // in a minute
	}{
		"Refused":     {extend.ErrNotAcquired, 60},
		"Unavailable": {backend.ErrUnavailable, 60},
		"Closed":      {backend.ErrClosed, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newFakeServer()
				first, err := newSeat(t, s.client(t)).take(t.Context())
				require.NoError(t, err)
				var tries atomic.Int64
				joint, err := newJoint(leases.JointConfig{
					Name: "seats", Parts: []*leases.Lease{(*leases.Lease)(first), nil}, Need: 1, Pause: time.Second,
					Regain: func(context.Context, int) (*leases.Lease, error) {
						tries.Add(1)
						return nil, fmt.Errorf("take a seat: %w", c.fails)
					},
				})
				require.NoError(t, err)
				time.Sleep(time.Minute + time.Millisecond)
				require.EqualValues(t, c.tries, tries.Load())
				require.NoError(t, joint.Release(t.Context()))
				time.Sleep(time.Minute)
				require.EqualValues(t, c.tries, tries.Load(), "it was released")
			})
		})
	}
}

// TestJointOfManyIsReleased: the release of a joint lease asks each of its parts a few times, however many there are.
func TestJointOfManyIsReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const count = 100
		var asked atomic.Int64
		parts := make([]*leases.Lease, count)
		for i := range parts {
			p := &countedPart{asked: &asked}
			p.Init(p)
			parts[i] = p.First()
		}
		joint, err := newJoint(leases.JointConfig{Name: "many", Parts: parts, Need: count})
		require.NoError(t, err)
		require.NoError(t, joint.Release(t.Context()))
		synctest.Wait()
		require.Less(t, asked.Load(), int64(10*count))
	})
}

// countedPart is the target of a part, which is always held.
type countedPart struct {
	leases.Group
	leases.Target // has the methods that are not called
	asked         *atomic.Int64
}

func (p *countedPart) Remaining() (time.Duration, error) {
	p.asked.Add(1)
	return time.Minute, nil
}

func (p *countedPart) Release(_ context.Context, l *leases.Lease, _ leases.ReleaseWait) error {
	_, err := p.EndLease(l)
	return err
}

func (*countedPart) Describe(_ context.Context, _ string, err error) error { return err }

func newJoint(config leases.JointConfig) (*lease.Lease, error) {
	joint, err := leases.NewJoint(config)
	return (*lease.Lease)(joint), err
}
