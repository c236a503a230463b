package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/model"
	"github.com/hasp-go/hasp/primitives"
)

// longWorkload changes a number in all ways, around the edges of int64.
func longWorkload() Workload {
	return Workload{
		Name: "AtomicLong", Clause: "Atomic.Exact", Model: model.Long,
		Look: model.LongInput{Op: model.LongLoad},
		Seen: func(n int64) any { return model.LongOutput{Value: n} },
		Ops:  []string{"Load", "Store", "Add", "Swap", "Take", "CompareAndSwap", "Less", "Greater"},
		Actor: func(a *Actor) func(context.Context, Step) error {
			return (&longActor{a, a.Client.NewAtomicLong(a.Object)}).step
		},
		machine: newLongMachine, acts: longActs,
	}
}

type longActor struct {
	*Actor
	number *primitives.AtomicLong
}

// step takes its numbers from the step's times, which are drawn.
func (a *longActor) step(ctx context.Context, s Step) error {
	x, y := edges[(s.N+int(s.Hold.Milliseconds()))%len(edges)], edges[int(s.Pause.Milliseconds())%len(edges)]
	in, out, err := model.LongInput{A: x, B: y}, model.LongOutput{}, error(nil)
	ops := map[string]struct {
		op  model.LongOp
		run func()
	}{
		"Load":  {model.LongLoad, func() { out.Value, err = a.number.Load(ctx) }},
		"Store": {model.LongStore, func() { err = a.number.Store(ctx, x) }},
		"Add":   {model.LongAdd, func() { out.Value, err = a.number.Add(ctx, x) }},
		"Swap":  {model.LongSwap, func() { out.Value, err = a.number.Swap(ctx, x) }},
		"Take":  {model.LongLoadAndDelete, func() { out.Value, err = a.number.LoadAndDelete(ctx) }},
		"CompareAndSwap": {model.LongCompareAndSwap, func() {
			out.Done, err = a.number.CompareAndSwap(ctx, x, y)
		}},
		"Less":    {model.LongStoreIfLess, func() { out.Done, err = a.number.StoreIfLess(ctx, x, y) }},
		"Greater": {model.LongStoreIfGreater, func() { out.Done, err = a.number.StoreIfGreater(ctx, x, y) }},
	}
	op, ok := ops[s.Op]
	if !ok {
		return fmt.Errorf("no such step: %s", s.Op)
	}
	in.Op = op.op
	call := a.Process.Call(in)
	op.run()
	switch {
	case errors.Is(err, primitives.ErrOverflow):
		a.Reach("overflow")
		call.Return(model.LongOutput{Overflow: true})
	case err == nil:
		call.Return(out)
	case backend.MayHaveRun(err):
		a.Reach("change without an answer")
		call.Unknown(model.LongOutput{Unknown: true})
	default:
		call.Drop()
	}
	return nil
}
