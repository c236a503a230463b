package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/history"
	"github.com/hasp-go/hasp/conformance/model"
	"github.com/hasp-go/hasp/primitives"
)

const (
	// workLease is the watchdog's lease of a history's clients: short, so that losses happen.
	workLease = time.Second
	// fixedLease is that of the step "LockFixed", which is often kept for longer.
	fixedLease = 300 * time.Millisecond
)

// lockWorkload takes a lock in all ways, re-enters it, keeps it beyond a lease that nobody renews,
// and deletes its key.
func lockWorkload() Workload {
	return Workload{
		Name: "Lock", Clause: "Lock.Exclusion", Model: model.Lock,
		Ops:     []string{"Lock", "Lock", "Lock", "TryLock", "TryLock", "LockFixed", "Reenter", "Delete"},
		Waiting: "Lock",
		Attempt: "lock_acquire",
		Doubt:   model.LockInput{Op: model.LockAcquire},
		Doubted: model.LockOutput{Unknown: true},
		Always:  []string{"grant"},
		Wake:    wakeLock,
		Rest: func(ctx context.Context, c *primitives.Client, name string) error {
			return eventually(ctx, "a free lock", func() (bool, error) {
				locked, err := c.NewLock(name, nil).IsLocked(ctx)
				return !locked, err
			})
		},
		Lapse:    model.LockInput{Op: model.LockLapse},
		Recovery: model.LockInput{Op: model.LockRecovery},
		Reaches: []string{
			"grant", "refusal", "impatience", "acquire without an answer", "re-entry", "deletion", "loss",
			"release without an answer", "lock_acquire without an answer",
			"lock_release without an answer", "lock_renew without an answer",
		},
		Actor: func(a *Actor) func(context.Context, Step) error {
			return (&lockActor{
				Actor: a, lock: a.Client.NewLock(a.Object, nil),
				fixed: a.Client.NewLock(a.Object, &primitives.LockOptions{Lease: fixedLease}),
			}).step
		},
		machine: newLockMachine, acts: lockActs,
	}
}

func wakeLock(ctx context.Context, waiter, waker Named) error {
	lease, err := waker.Client.NewLock(waker.Name, nil).Lock(ctx)
	if err != nil {
		return err
	}
	return woken(ctx, func(ctx context.Context) error {
		next, err := waiter.Client.NewLock(waiter.Name, nil).Lock(ctx)
		if err != nil {
			return err
		}
		return next.Unlock(ctx)
	}, func() error { return lease.Unlock(ctx) })
}

// lockActor records its acquires, releases, and that a lease says of itself that it is held.
type lockActor struct {
	*Actor
	lock, fixed *primitives.Lock
}

func (a *lockActor) step(ctx context.Context, s Step) error {
	switch s.Op {
	case "Lock":
		return a.hold(ctx, s, a.lock.Lock, 0)
	case "TryLock":
		return a.hold(ctx, s, a.lock.TryLock, 0)
	case "LockFixed":
		return a.hold(ctx, s, a.fixed.Lock, 0)
	case "Reenter":
		return a.hold(ctx, s, a.lock.Lock, 1+s.N%2)
	case "Delete":
		return a.delete(ctx)
	}
	return fmt.Errorf("no such step: %s", s.Op)
}

// hold takes the lock, keeps it, and frees it, with so many re-entered leases in it.
func (a *lockActor) hold(
	ctx context.Context, s Step, acquire func(context.Context) (*primitives.Lease, error), depth int,
) error {
	call := a.Process.Call(model.LockInput{Op: model.LockAcquire})
	lease, err := within(ctx, s.Patience, acquire)
	if err != nil {
		return a.refused(call, err)
	}
	h := &lockHold{lockActor: a, lease: lease, number: int(call.Time())}
	h.belief = call.Time()
	call.Return(model.LockOutput{Hold: h.number, Token: lease.Token()})
	a.Reach("grant")
	return h.run(context.WithoutCancel(ctx), s.Hold, depth)
}

// refused records an acquire that failed.
func (a *lockActor) refused(call *history.Call, err error) error {
	switch {
	case errors.Is(err, primitives.ErrNotAcquired):
		a.Reach("refusal")
		call.Return(model.LockOutput{})
	case backend.MayHaveRun(err), errors.Is(err, primitives.ErrLost):
		a.Reach("acquire without an answer")
		call.Unknown(model.LockOutput{Unknown: true})
	case errors.Is(err, context.DeadlineExceeded):
		// It may have been granted in that instant, and is given back in the background then.
		a.Reach("impatience")
		call.Unknown(model.LockOutput{Unknown: true})
	default:
		call.Drop()
	}
	return nil
}

// delete frees the lock as an operator does, without a message.
func (a *lockActor) delete(ctx context.Context) error {
	number := int(a.Log.Now())
	call := a.Process.Call(model.LockInput{Op: model.LockForget, Forgetting: number})
	if err := a.Delete(ctx); err != nil {
		call.Unknown(nil)
		return nil //nolint:nilerr // A server that is down may have run it.
	}
	call.Return(nil)
	a.Later(max(a.Lease, fixedLease), model.LockInput{Op: model.LockLearn, Forgetting: number})
	a.Reach("deletion")
	return nil
}

// lockHold is what one acquire got.
type lockHold struct {
	*lockActor
	lease  *primitives.Lease
	number int
	belief int64 // the history's time at which the hold last reported that it is held
}

// run keeps the lock for d, re-entering it so many times for the middle part of that.
func (h *lockHold) run(ctx context.Context, d time.Duration, depth int) error {
	if depth == 0 {
		h.keep(d)
		return h.unlock(ctx)
	}
	h.keep(d / 3)
	if err := h.reenter(ctx, d/3, depth); err != nil {
		return err
	}
	h.keep(d / 3)
	return h.unlock(ctx)
}

// reenter takes the lock again in the lease's own context. It is refused only after a loss.
func (h *lockHold) reenter(ctx context.Context, d time.Duration, depth int) error {
	lease, err := h.lock.TryLock(h.lease.Reenter(ctx))
	if err != nil {
		if h.lease.Err() == nil {
			return fmt.Errorf("re-entering a held lock: %w", err)
		}
		return nil
	}
	h.Reach("re-entry")
	inner := &lockHold{lockActor: h.lockActor, lease: lease, number: h.number, belief: h.belief}
	inner.keep(d)
	if depth > 1 {
		if err := inner.reenter(ctx, d, depth-1); err != nil {
			return err
		}
	}
	h.belief = inner.belief
	if err := lease.Unlock(ctx); err != nil && h.lease.Err() == nil {
		return fmt.Errorf("unlocking a re-entered lease while the outer one is held: %w", err)
	}
	return nil
}

// keep asks the lease again and again whether it is held, for d or until it says no.
func (h *lockHold) keep(d time.Duration) {
	pause := min(d/8, 20*time.Millisecond)
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(pause) {
		if !h.believe() {
			return
		}
	}
	h.believe()
}

// believe records that the lease says that it is held.
func (h *lockHold) believe() bool {
	call := h.Process.Call(model.LockInput{Op: model.LockBelieve, Hold: h.number})
	if h.lease.Err() != nil {
		call.Drop()
		return false
	}
	call.Return(nil)
	h.belief = call.Time()
	return true
}

// unlock frees the lock. A hold that was lost ended at some time after it was last believed in.
func (h *lockHold) unlock(ctx context.Context) error {
	call := h.Process.Call(model.LockInput{Op: model.LockRelease, Hold: h.number})
	err := h.lease.Unlock(ctx)
	switch {
	case err == nil:
		call.Return(model.LockOutput{})
	case errors.Is(err, primitives.ErrNotHeld), errors.Is(err, primitives.ErrLost):
		h.Reach("loss")
		call.Drop()
		h.Log.Since(h.belief, model.LockInput{Op: model.LockEnd, Hold: h.number}, nil)
	default:
		h.Reach("release without an answer")
		call.Unknown(model.LockOutput{Unknown: true})
	}
	return nil
}
