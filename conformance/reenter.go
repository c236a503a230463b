package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

func checkReenter(ctx context.Context, e *env) error {
	a, b, err := e.pair(ctx, nil)
	if err != nil {
		return err
	}
	outer, err := a.Lock(ctx)
	if err != nil {
		return err
	}
	inside := outer.Reenter(ctx)
	for range 3 {
		inner, err := a.Lock(inside)
		if err != nil {
			return err
		}
		if inner.Token() != outer.Token() || inner.Owner() != outer.Owner() {
			return errors.New("a re-entered lease is another owner's")
		}
		if err := inner.Unlock(ctx); err != nil {
			return err
		}
		if err := inner.Unlock(ctx); !errors.Is(err, primitives.ErrNotHeld) {
			return fmt.Errorf("a second inner Unlock returned %w, want ErrNotHeld", err)
		}
		if err := outer.Err(); err != nil {
			return fmt.Errorf("after an inner Unlock: %w", err)
		}
	}
	// Another client's lock is not re-entered.
	if _, err := b.TryLock(inside); !errors.Is(err, primitives.ErrNotAcquired) {
		return fmt.Errorf("another client's TryLock returned %w, want ErrNotAcquired", err)
	}
	if err := wantState(ctx, b, outer.Owner(), true, 1, time.Second, 30*time.Second); err != nil {
		return err
	}
	if err := outer.Unlock(ctx); err != nil {
		return err
	}
	return e.awaitFree(ctx, e.key("lock"), Patience/6)
}

func checkReenterLease(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	outer, err := c.NewLock(e.key("lock"), nil).Lock(ctx)
	if err != nil {
		return err
	}
	inner := c.NewLock(e.key("lock"), &primitives.LockOptions{Lease: time.Second})
	_, err = inner.Lock(outer.Reenter(ctx))
	if err := wantField([]error{err}, "Lease"); err != nil {
		return err
	}
	if err := outer.Err(); err != nil {
		return fmt.Errorf("after the refusal: %w", err)
	}
	reply, err := e.Do(ctx, e.key("lock"), "PTTL", e.key("lock"))
	if err != nil {
		return err
	}
	if left, err := reply.Duration(time.Millisecond); err != nil || left < 2*time.Second {
		return fmt.Errorf("the hold was shortened to %v, %w", left, err)
	}
	return outer.Unlock(ctx)
}

// checkReenterLast releases the outer lease first.
func checkReenterLast(ctx context.Context, e *env) error {
	a, b, err := e.pair(ctx, nil)
	if err != nil {
		return err
	}
	outer, err := a.Lock(ctx)
	if err != nil {
		return err
	}
	inner, err := a.TryLock(outer.Reenter(ctx))
	if err != nil {
		return err
	}
	if err := outer.Unlock(ctx); err != nil {
		return err
	}
	if _, err := b.TryLock(ctx); !errors.Is(err, primitives.ErrNotAcquired) {
		return fmt.Errorf("the lock was freed under an inner lease: %w", err)
	}
	if err := errors.Join(inner.Err(), inner.Unlock(ctx)); err != nil {
		return err
	}
	next, err := b.TryLock(ctx)
	if err != nil {
		return err
	}
	return next.Unlock(ctx)
}
