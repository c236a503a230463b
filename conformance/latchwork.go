package conformance

import (
	"context"
	"fmt"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/history"
	"github.com/hasp-go/hasp/conformance/model"
	"github.com/hasp-go/hasp/primitives"
)

// latchWorkload sets a latch, counts it down, deletes it, and waits.
func latchWorkload() Workload {
	return Workload{
		Name: "Latch", Clause: "Latch.Waiting", Model: model.Latch,
		Look:   model.LatchInput{Op: model.LatchCount},
		Seen:   func(n int64) any { return model.LatchOutput{Left: n} },
		Ops:    []string{"Set", "CountDown", "CountDown", "Wait", "Wait", "Wait", "Count", "Delete"},
		Always: []string{"opening"},
		Wake:   wakeLatch,
		Actor: func(a *Actor) func(context.Context, Step) error {
			return (&latchActor{a, a.Client.NewCountDownLatch(a.Object)}).step
		},
		machine: newLatchMachine, acts: latchActs,
	}
}

func wakeLatch(ctx context.Context, waiter, waker Named) error {
	l := waker.Client.NewCountDownLatch(waker.Name)
	if _, err := l.TrySetCount(ctx, 1); err != nil {
		return err
	}
	return woken(ctx, waiter.Client.NewCountDownLatch(waiter.Name).Wait, func() error {
		_, err := l.CountDown(ctx)
		return err
	})
}

type latchActor struct {
	*Actor
	latch *primitives.CountDownLatch
}

func (a *latchActor) step(ctx context.Context, s Step) error {
	switch s.Op {
	case "Set":
		n := int64(1 + s.N%3)
		call := a.Process.Call(model.LatchInput{Op: model.LatchSet, N: n})
		set, err := a.latch.TrySetCount(ctx, n)
		a.record(call, model.LatchOutput{Done: set}, err)
	case "CountDown":
		call := a.Process.Call(model.LatchInput{Op: model.LatchCountDown})
		left, err := a.latch.CountDown(ctx)
		a.record(call, model.LatchOutput{Left: left}, err)
	case "Count":
		call := a.Process.Call(model.LatchInput{Op: model.LatchCount})
		count, err := a.latch.Count(ctx)
		a.record(call, model.LatchOutput{Left: count}, err)
	case "Delete":
		call := a.Process.Call(model.LatchInput{Op: model.LatchDelete})
		deleted, err := a.latch.Delete(ctx)
		a.record(call, model.LatchOutput{Done: deleted}, err)
	case "Wait":
		a.wait(ctx, s)
	default:
		return fmt.Errorf("no such step: %s", s.Op)
	}
	return nil
}

// wait waits for a bounded time, since nobody may ever count down.
func (a *latchActor) wait(ctx context.Context, s Step) {
	patience := s.Patience
	if patience == 0 {
		patience = workPatience
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	call := a.Process.Call(model.LatchInput{Op: model.LatchWait})
	if err := a.latch.Wait(patient); err != nil {
		call.Drop()
		return
	}
	a.Reach("opening")
	call.Return(model.LatchOutput{})
}

func (a *latchActor) record(call *history.Call, out model.LatchOutput, err error) {
	switch {
	case err == nil:
		call.Return(out)
	case backend.MayHaveRun(err):
		a.Reach("change without an answer")
		call.Unknown(model.LatchOutput{Unknown: true})
	default:
		call.Drop()
	}
}
