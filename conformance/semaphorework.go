package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/history"
	"github.com/hasp-go/hasp/conformance/model"
	"github.com/hasp-go/hasp/primitives"
)

const (
	// workPermits is how many permits a history's semaphore has.
	workPermits = 4
	// workPatience bounds the waiting for what may be gone for good, such as permits that an answer
	// was lost of.
	workPatience = 2 * time.Second
)

// semaphoreWorkload takes some permits, or all, and releases them, and asks how many are free.
func semaphoreWorkload() Workload {
	return Workload{
		Name: "Semaphore", Clause: "Semaphore.Limit",
		Model:   func() porcupine.Model { return model.Semaphore(workPermits) },
		Look:    model.SemaphoreInput{Op: model.SemaphoreAvailable},
		Seen:    func(n int64) any { return model.SemaphoreOutput{N: int(n)} },
		Ops:     []string{"Acquire", "Acquire", "Acquire", "TryAcquire", "Drain", "Available"},
		Prepare: makeSemaphore,
		Always:  []string{"grant"},
		Wake:    wakeSemaphore,
		Rest: func(ctx context.Context, c *primitives.Client, name string) error {
			return eventually(ctx, "all permits", func() (bool, error) {
				free, err := c.NewSemaphore(name, nil).AvailablePermits(ctx)
				return free == workPermits, err
			})
		},
		Actor: func(a *Actor) func(context.Context, Step) error {
			return (&semaphoreActor{a, a.Client.NewSemaphore(a.Object, nil)}).step
		},
		machine: newSemaphoreMachine, acts: semaphoreActs,
	}
}

// makeSemaphore makes the semaphore, over a link that may have trouble: it is made once, however often
// that is tried.
func makeSemaphore(ctx context.Context, c *primitives.Client, object string) error {
	for {
		_, err := c.NewSemaphore(object, nil).TrySetPermits(ctx, workPermits)
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}

func wakeSemaphore(ctx context.Context, waiter, waker Named) error {
	s := waker.Client.NewSemaphore(waker.Name, nil)
	if _, err := s.TrySetPermits(ctx, 0); err != nil {
		return err
	}
	return woken(ctx, func(ctx context.Context) error {
		return waiter.Client.NewSemaphore(waiter.Name, nil).Acquire(ctx, 1)
	}, func() error { return s.Release(ctx, 1) })
}

type semaphoreActor struct {
	*Actor
	semaphore *primitives.Semaphore
}

func (a *semaphoreActor) step(ctx context.Context, s Step) error {
	switch n := 1 + s.N%workPermits; s.Op {
	case "Acquire":
		return a.take(ctx, s, n, a.semaphore.Acquire)
	case "TryAcquire":
		return a.take(ctx, s, n, a.semaphore.TryAcquire)
	case "Drain":
		return a.drain(ctx, s)
	case "Available":
		return a.available(ctx)
	}
	return fmt.Errorf("no such step: %s", s.Op)
}

func (a *semaphoreActor) take(
	ctx context.Context, s Step, n int, acquire func(context.Context, int) error,
) error {
	call := a.Process.Call(model.SemaphoreInput{Op: model.SemaphoreAcquire, N: n})
	patience := s.Patience
	if patience == 0 {
		patience = workPatience
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch err := acquire(patient, n); {
	case err == nil:
		call.Return(model.SemaphoreOutput{Taken: true})
		a.Reach("grant")
		time.Sleep(s.Hold)
		return a.putBack(ctx, n)
	case errors.Is(err, primitives.ErrNotAcquired):
		call.Return(model.SemaphoreOutput{})
		a.Reach("refusal")
	case backend.MayHaveRun(err):
		a.unanswered(call, err)
	default:
		call.Drop()
	}
	return nil
}

// unanswered records an acquire or a drain without an answer. What it takes, if anything, may come
// back if its caller has left.
func (a *semaphoreActor) unanswered(call *history.Call, err error) {
	a.Reach("acquire without an answer")
	left := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
	call.Return(model.SemaphoreOutput{Unknown: true, Left: left})
}

func (a *semaphoreActor) putBack(ctx context.Context, n int) error {
	call := a.Process.Call(model.SemaphoreInput{Op: model.SemaphoreAdd, N: n})
	switch err := a.semaphore.Release(context.WithoutCancel(ctx), n); {
	case err == nil:
		call.Return(model.SemaphoreOutput{})
	case backend.MayHaveRun(err):
		a.Reach("release without an answer")
		call.Return(model.SemaphoreOutput{Unknown: true})
	default:
		call.Drop()
	}
	return nil
}

func (a *semaphoreActor) drain(ctx context.Context, s Step) error {
	call := a.Process.Call(model.SemaphoreInput{Op: model.SemaphoreDrain})
	n, err := within(ctx, s.Patience, a.semaphore.DrainPermits)
	switch {
	case backend.MayHaveRun(err):
		a.unanswered(call, err)
		return nil
	case err != nil:
		call.Drop()
		return nil //nolint:nilerr // What may fail in a step is no error of it.
	}
	call.Return(model.SemaphoreOutput{N: n})
	time.Sleep(s.Hold)
	if n == 0 {
		return nil
	}
	return a.putBack(ctx, n)
}

func (a *semaphoreActor) available(ctx context.Context) error {
	call := a.Process.Call(model.SemaphoreInput{Op: model.SemaphoreAvailable})
	n, err := a.semaphore.AvailablePermits(ctx)
	if err != nil {
		call.Drop()
		return nil //nolint:nilerr // What may fail in a step is no error of it.
	}
	call.Return(model.SemaphoreOutput{N: n})
	return nil
}
