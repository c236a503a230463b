package extend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/renew"
	"github.com/hasp-go/hasp/primitives/trace"
)

// minLease is the shortest lease. It leaves time for a renewal, and for the clock drift.
const minLease = 100 * time.Millisecond

// Options configure a [Core]. Users of primitives set primitives.Options instead, which describes
// them in full. The zero value of each field means its default.
type Options struct {
	KeyPrefix, IDPrefix    string
	WatchdogLease, MaxHold time.Duration
	Replicas               int
	ClockDrift             time.Duration
	PollInterval           time.Duration
	Logger                 *zap.Logger
	Tracer                 *trace.Tracer

	// ClosesBackend says that Close closes the backend, after the releases.
	ClosesBackend bool

	_ struct{}
}

func (o *Options) withDefaults() Options {
	opts := *cmp.Or(o, new(Options))
	opts.WatchdogLease = cmp.Or(opts.WatchdogLease, 30*time.Second)
	opts.PollInterval = cmp.Or(opts.PollInterval, 5*time.Second)
	opts.Tracer = cmp.Or(opts.Tracer, new(trace.Tracer))
	if opts.Logger == nil {
		opts.Logger = zap.NewNop()
	}
	return opts
}

// idPrefix is the form of an IDPrefix. alien.lua and the messages of a mutex rely on it.
var idPrefix = regexp.MustCompile(`^[A-Za-z0-9._-]{0,64}$`)

func (o *Options) validate() error {
	if !idPrefix.MatchString(o.IDPrefix) {
		return &FieldError{"IDPrefix", fmt.Sprintf("%q is not up to 64 letters, digits and . _ -", o.IDPrefix)}
	}
	return cmp.Or(
		AtLeast("PollInterval", o.PollInterval, 10*time.Millisecond),
		validateMaxHold(o.MaxHold, "WatchdogLease", o.WatchdogLease),
		o.validateLease("WatchdogLease", o.WatchdogLease),
	)
}

// validateMaxHold checks a bound on the time for which the watchdog renews a lease. The given field has
// the length of the lease.
func validateMaxHold(bound time.Duration, field string, lease time.Duration) error {
	if bound != 0 && bound < lease {
		return &FieldError{"MaxHold", fmt.Sprintf("%s is less than %s, %s", bound, field, lease)}
	}
	return nil
}

// validateLease checks a lease of the given field, in whole milliseconds, together with the clock
// drift.
func (o *Options) validateLease(field string, lease time.Duration) error {
	if err := AtLeast(field, lease, minLease); err != nil {
		return err
	}
	lease = lease.Truncate(time.Millisecond)
	if o.ClockDrift < 0 || o.ClockDrift >= lease/2 {
		return &FieldError{"ClockDrift", fmt.Sprintf(
			"%s is not between 0 and half of %s, %s", o.ClockDrift, field, lease)}
	}
	return nil
}

// AtLeast returns a [*FieldError] if d, the value of the given field or argument, is less than
// least.
func AtLeast(field string, d, least time.Duration) error {
	if d < least {
		return &FieldError{field, fmt.Sprintf("%s is less than the minimum, %s", d, least)}
	}
	return nil
}

func (o *Options) driftFor(lease time.Duration) time.Duration {
	if o.ClockDrift > 0 {
		return o.ClockDrift
	}
	return max(lease/10, 2*time.Millisecond)
}

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
