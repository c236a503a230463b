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
// object since. Nothing but the question how long the first part remains has shown its loss.
func TestJointIsNotSavedByALatePart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, late := newPart(), newPart()
		joint := newJoint(t, leases.JointConfig{
			Name: "seats", Parts: []*leases.Lease{first.First(), nil}, Need: 1, Pause: time.Second,
			Regain: func(context.Context, int) (*leases.Lease, error) {
				first.lost.Store(true)
				return late.First(), nil
			},
		})
		time.Sleep(time.Minute)
		require.ErrorIs(t, joint.Err(), lease.ErrLost)
		require.EqualValues(t, 1, late.released.Load())
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
				var tries atomic.Int64
				joint := newJoint(t, leases.JointConfig{
					Name: "seats", Parts: []*leases.Lease{newPart().First(), nil}, Need: 1, Pause: time.Second,
					Regain: func(context.Context, int) (*leases.Lease, error) {
						tries.Add(1)
						return nil, fmt.Errorf("take a seat: %w", c.fails)
					},
				})
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
		var all []*part
		var parts []*leases.Lease
		for range count {
			all = append(all, newPart())
			parts = append(parts, all[len(all)-1].First())
		}
		joint := newJoint(t, leases.JointConfig{Name: "many", Parts: parts, Need: count})
		require.NoError(t, joint.Release(t.Context()))
		synctest.Wait()
		asked := int64(0)
		for _, p := range all {
			asked += p.asked.Load()
		}
		require.Less(t, asked, int64(10*count))
	})
}

// part is the target of a lease, which is held until it is ended.
type part struct {
	leases.Group
	leases.Target   // has the methods that are not called
	asked, released atomic.Int64
	lost            atomic.Bool
}

func newPart() *part {
	p := &part{}
	p.Init(p)
	return p
}

func (p *part) Remaining() (time.Duration, error) {
	p.asked.Add(1)
	if p.lost.Load() {
		return 0, lease.ErrLost
	}
	return time.Minute, nil
}

func (p *part) Release(_ context.Context, l *leases.Lease, _ leases.ReleaseWait) error {
	p.released.Add(1)
	_, err := p.EndLease(l)
	return err
}

func (*part) Describe(_ context.Context, _ string, err error) error { return err }

func newJoint(t *testing.T, config leases.JointConfig) *lease.Lease {
	t.Helper()
	joint, err := leases.NewJoint(config)
	require.NoError(t, err)
	return (*lease.Lease)(joint)
}
