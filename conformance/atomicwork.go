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
		Ops:  numberOps, Always: []string{"answer"},
		Actor: func(a *Actor) func(context.Context, Step) error {
			return (&numberActor{a, a.Client.NewAtomicLong(a.Object), edges}).step
		},
		machine: newLongMachine, acts: longActs,
	}
}

// numberOps are the steps of a numberActor.
var numberOps = []string{
	"Load", "Store", "Add", "Swap", "Take", "CompareAndSwap", "Less", "Greater",
}

// numberActor changes an atomic number.
type numberActor struct {
	*Actor
	number atomicNumber
	values []int64 // that it uses
}

// atomicNumber is what the methods of an AtomicLong are.
type atomicNumber interface {
	Load(ctx context.Context) (int64, error)
	Store(ctx context.Context, value int64) error
	Add(ctx context.Context, delta int64) (int64, error)
	Swap(ctx context.Context, value int64) (int64, error)
	LoadAndDelete(ctx context.Context) (int64, error)
	CompareAndSwap(ctx context.Context, old, value int64) (bool, error)
	StoreIfLess(ctx context.Context, bound, value int64) (bool, error)
	StoreIfGreater(ctx context.Context, bound, value int64) (bool, error)
}

// step takes its numbers from the step's times, which are drawn.
func (a *numberActor) step(ctx context.Context, s Step) error {
	x := a.values[(s.N+int(s.Hold.Milliseconds()))%len(a.values)]
	y := a.values[int(s.Pause.Milliseconds())%len(a.values)]
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
	case errors.Is(err, errNotWhole):
		return err
	case errors.Is(err, primitives.ErrOverflow):
		a.Reach("overflow")
		call.Return(model.LongOutput{Overflow: true})
	case err == nil:
		a.Reach("answer")
		call.Return(out)
	case backend.MayHaveRun(err):
		a.Reach("change without an answer")
		call.Unknown(model.LongOutput{Unknown: true})
	default:
		call.Drop()
	}
	return nil
}
