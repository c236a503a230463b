package extend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/renew"
)

// defaultReplicaTimeout is the default of ReplicaTimeout, unless the lease is short.
const defaultReplicaTimeout = time.Second

// noReplicas is the value of Replicas that stands for none, whatever the client's default is.
const noReplicas = -1

// checkReplicas returns a [*FieldError] if leases cannot wait for that number of replicas.
func (c *Core) checkReplicas(count int) error {
	switch {
	case count < 0:
		return &FieldError{"Replicas", fmt.Sprintf("%d is negative", count)}
	case count > 0 && !c.calls.WaitsForReplicas():
		return &FieldError{"Replicas", "the backend cannot wait for replicas"}
	}
	return nil
}

// setReplicas sets the replicas of config for leases with the terms.
func (c *Core) setReplicas(terms *renew.Terms, config LeaseConfig) error {
	if terms.Replicas = cmp.Or(config.Replicas, c.opts.Replicas); config.Replicas == noReplicas {
		terms.Replicas = 0
	}
	timeout := cmp.Or(config.ReplicaTimeout, min(defaultReplicaTimeout, terms.Lease/3))
	terms.ReplicaTimeout = timeout.Truncate(time.Millisecond)
	if err := c.checkReplicas(terms.Replicas); err != nil {
		return err
	}
	if timeout >= terms.Lease {
		return &FieldError{"ReplicaTimeout", fmt.Sprintf("%s is not under Lease, %s", timeout, terms.Lease)}
	}
	return AtLeast("ReplicaTimeout", timeout, time.Millisecond)
}

// replicaTimeout returns how long an acquire under ctx waits for replicas. A quarter of ctx's remaining
// time is left for the rest of the call, so its caller learns of a shortage.
func (h *hold) replicaTimeout(ctx context.Context) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return h.ReplicaTimeout
	}
	left := time.Until(deadline)
	return max(min(h.ReplicaTimeout, (left-left/4).Truncate(time.Millisecond)), time.Millisecond)
}

// shortageMayPass reports whether another try may succeed after err, which wraps
// [backend.ErrReplicas]: whether the server can wait for replicas.
func shortageMayPass(err error) bool {
	return !errors.Is(err, backend.ErrNoPermission) && !errors.Is(err, backend.ErrNotSupported)
}
