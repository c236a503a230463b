package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// checkBadInput counts the calls that reach the backend.
func checkBadInput(ctx context.Context, e *env) error {
	b, err := e.backend(ctx)
	if err != nil {
		return err
	}
	counted := &counter{Backend: b}
	c, err := primitives.New(counted, nil)
	if err != nil {
		return err
	}
	short := primitives.LockOptions{Lease: 50 * time.Millisecond}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := errors.Join(
		wantField(lockError(ctx, c.NewLock("", nil)), "name"),
		wantField(lockError(ctx, c.NewLock(e.key("lock"), &short)), "Lease"),
		wantError(lockError(ended, c.NewLock(e.key("lock"), nil)), context.Canceled),
		wantField(clientError(nil, nil), "backend"),
		wantField(clientError(b, &primitives.Options{WatchdogLease: 1}), "WatchdogLease"),
		wantField(clientError(b, &primitives.Options{PollInterval: 1}), "PollInterval"),
		wantField(clientError(b, &primitives.Options{Allowance: never}), "Allowance"),
		c.Close(ctx),
		wantError(lockError(ctx, c.NewLock(e.key("lock"), nil)), primitives.ErrClosed),
	); err != nil {
		return err
	}
	if n := counted.calls.Load(); n != 0 {
		return fmt.Errorf("%d calls reached the backend", n)
	}
	return nil
}

// counter counts the calls of a backend, and the runs that have ended.
type counter struct {
	backend.Backend
	calls, ended atomic.Int64
}

// countedClient makes a client whose backend's calls are counted.
func (e *env) countedClient(ctx context.Context, o *primitives.Options) (
	*primitives.Client, *Instance, *counter, error,
) {
	var counted *counter
	c, in, err := e.clientOver(ctx, o, func(b backend.Backend) backend.Backend {
		counted = &counter{Backend: b}
		return counted
	})
	return c, in, counted, err
}

func (c *counter) Run(
	ctx context.Context, s *backend.Script, keys, args []string,
) (backend.Reply, error) {
	c.calls.Add(1)
	defer c.ended.Add(1)
	return c.Backend.Run(ctx, s, keys, args)
}

func (c *counter) Subscribe(
	ctx context.Context, channel string, handler backend.Handler,
) (backend.Subscription, error) {
	c.calls.Add(1)
	return c.Backend.Subscribe(ctx, channel, handler)
}

// lockError returns the errors of all that a lock can be asked.
func lockError(ctx context.Context, l *primitives.Lock) []error {
	_, lockErr := l.Lock(ctx)
	_, tryErr := l.TryLock(ctx)
	_, forceErr := l.ForceUnlock(ctx)
	_, lockedErr := l.IsLocked(ctx)
	_, heldErr := l.IsHeldBy(ctx, "x")
	_, countErr := l.HoldCount(ctx, "x")
	_, remainingErr := l.Remaining(ctx)
	return []error{lockErr, tryErr, forceErr, lockedErr, heldErr, countErr, remainingErr}
}

func clientError(b backend.Backend, o *primitives.Options) []error {
	_, err := primitives.New(b, o)
	return []error{err}
}

func wantField(errs []error, field string) error {
	for i, err := range errs {
		var bad *primitives.FieldError
		if !errors.As(err, &bad) || bad.Field != field {
			return fmt.Errorf("call %d returned %w, want a FieldError of %s", i, err, field)
		}
	}
	return nil
}

func wantError(errs []error, want error) error {
	for i, err := range errs {
		if !errors.Is(err, want) || backend.MayHaveRun(err) {
			return fmt.Errorf("call %d returned %w, want %w", i, err, want)
		}
	}
	return nil
}
