package extend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// defaultReplicaTimeout is the default of ReplicaTimeout, unless the lease is short.
const defaultReplicaTimeout = time.Second

// replicas has the number of replicas that must acknowledge a grant, and the timeout.
type replicas struct {
	count   int // 0: none
	timeout time.Duration
}

// newReplicas returns the replicas of config, for leases of the given length.
func (c *Core) newReplicas(config LeaseConfig, lease time.Duration) (replicas, error) {
	r := replicas{count: config.Replicas, timeout: config.ReplicaTimeout}
	if config.ReplicaTimeout == 0 {
		r.timeout = min(defaultReplicaTimeout, (lease / 3).Truncate(time.Millisecond))
	}
	switch {
	case r.count < 0:
		return r, &FieldError{"Replicas", fmt.Sprintf("%d is negative", r.count)}
	case r.count > 0 && !c.calls.WaitsForReplicas():
		return r, &FieldError{"Replicas", "the backend cannot wait for replicas"}
	case r.timeout >= lease:
		return r, &FieldError{"ReplicaTimeout", fmt.Sprintf("%s is not under Lease, %s", r.timeout, lease)}
	}
	err := AtLeast("ReplicaTimeout", r.timeout, time.Millisecond)
	r.timeout = r.timeout.Truncate(time.Millisecond)
	return r, err
}

// timeoutUnder returns how long a call under ctx waits for replicas. A quarter of ctx's remaining
// time is left for the rest of the call, so its caller learns of a shortage.
func (r replicas) timeoutUnder(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return r.timeout
	}
	left := time.Until(deadline)
	return max(min(r.timeout, (left-left/4).Truncate(time.Millisecond)), time.Millisecond)
}

// shortageMayPass reports whether another try may succeed after err, which wraps
// [backend.ErrReplicas]: whether the server can wait for replicas.
func shortageMayPass(err error) bool {
	return !errors.Is(err, backend.ErrNoPermission) && !errors.Is(err, backend.ErrNotSupported)
}
