package barrier

import (
	"context"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/examples/ownprimitive/internal/script"
	"github.com/hasp-go/hasp/primitives/extend"
)

// last stands for the generation of a member that was the last to arrive, and waits for nothing.
const last = 0

// members are what owners hold of a barrier: each is one arrival. Arriving is never refused.
type members Barrier

// Acquire implements [extend.Leasable]. The token is the generation that the member waits in, or last.
func (m *members) Acquire(
	ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
) (int64, extend.Answer, error) {
	generation, err := script.Arrive(ctx, r, m.object.Key(), owner, int64(m.parties),
		lease.Milliseconds(), m.object.Core().Capabilities().Publish(), m.want.Channel)
	return generation, extend.Answer{Granted: true}, err
}

// Release implements [extend.Leasable]. It wakes nobody: that there is one less helps no other.
func (m *members) Release(
	ctx context.Context, r backend.ScriptRunner, owner string,
) (bool, error) {
	now, err := script.Leave(ctx, r, m.object.Key(), owner)
	return now.Left, err
}

// kind renews and releases members of many barriers.
type kind struct{}

// Renew implements [extend.LeasableKind].
func (kind) Renew(
	ctx context.Context, r backend.ScriptRunner, keys, owners []string, lease time.Duration,
) ([]extend.Status, error) {
	return statuses(script.Renew(ctx, r, keys, lease.Milliseconds(), owners))
}

// ReleaseAll implements [extend.LeasableKind].
func (kind) ReleaseAll(
	ctx context.Context, r backend.ScriptRunner, keys, owners []string,
) ([]extend.Status, error) {
	return statuses(script.LeaveAll(ctx, r, keys, owners))
}

// statuses are those of scripts that reply 1 for done, 0 for not held, -1 for no barrier and -2 for a command that the
// server refuses, which says nothing of the member: extend repeats the request.
func statuses(replies []int64, err error) ([]extend.Status, error) {
	if err != nil {
		return nil, fmt.Errorf("barriers: %w", err)
	}
	result := make([]extend.Status, len(replies))
	for i, reply := range replies {
		switch reply {
		case 1:
			result[i] = extend.Done
		case 0:
			result[i] = extend.NotHeld
		case -1:
			result[i] = extend.OtherKind // Nobody waits where there is no barrier.
		default:
			result[i] = extend.Failed
		}
	}
	return result, nil
}
