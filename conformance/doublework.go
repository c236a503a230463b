package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/hasp-go/hasp/conformance/model"
	"github.com/hasp-go/hasp/primitives"
)

// doubleWorkload changes a double in all ways. Its values are whole eighths, of which sums are exact
// on every server: the model is that of a long which counts them.
func doubleWorkload() Workload {
	return Workload{
		Name: "AtomicDouble", Clause: "Atomic.Exact", Model: model.Long, Ops: numberOps,
		Look:  model.LongInput{Op: model.LongLoad},
		Seen:  func(n int64) any { return model.LongOutput{Value: n} },
		Parts: oneInEighths, Always: []string{"answer"},
		Actor: func(a *Actor) func(context.Context, Step) error {
			return (&numberActor{a, eighths{a.Client.NewAtomicDouble(a.Object)}, someEighths}).step
		},
		machine: newDoubleMachine, acts: longActs,
	}
}

// oneInEighths is 1 as the model counts it.
const oneInEighths = 8

var someEighths = []int64{0, 1, -1, 3, -8, 1 << 40, -1 << 45}

// newDoubleMachine returns a machine of doubles whose sums are exact.
func newDoubleMachine(
	ctx context.Context, e *env, s setting, virtual bool, reach func(string),
) (machine, error) {
	m := &longMachine{
		values: someEighths, most: 1 << 45,
		number: func(c *primitives.Client, name string) wholeNumber {
			return eighths{c.NewAtomicDouble(name)}
		},
	}
	err := m.start(ctx, e, s, virtual, reach)
	if err == nil {
		m.parts = oneInEighths
	}
	return m, err
}

// eighths is a double that is counted in eighths.
type eighths struct{ *primitives.AtomicDouble }

func (e eighths) Load(ctx context.Context) (int64, error) { return toEighths(e.AtomicDouble.Load(ctx)) }

func (e eighths) Store(ctx context.Context, n int64) error {
	return e.AtomicDouble.Store(ctx, fromEighths(n))
}

func (e eighths) Add(ctx context.Context, n int64) (int64, error) {
	return toEighths(e.AtomicDouble.Add(ctx, fromEighths(n)))
}

// Increment adds one, which is eight of them.
func (e eighths) Increment(ctx context.Context) (int64, error) {
	return toEighths(e.AtomicDouble.Increment(ctx))
}

func (e eighths) Decrement(ctx context.Context) (int64, error) {
	return toEighths(e.AtomicDouble.Decrement(ctx))
}

func (e eighths) LoadAndAdd(ctx context.Context, n int64) (int64, error) {
	return toEighths(e.AtomicDouble.LoadAndAdd(ctx, fromEighths(n)))
}

func (e eighths) Swap(ctx context.Context, n int64) (int64, error) {
	return toEighths(e.AtomicDouble.Swap(ctx, fromEighths(n)))
}

func (e eighths) LoadAndDelete(ctx context.Context) (int64, error) {
	return toEighths(e.AtomicDouble.LoadAndDelete(ctx))
}

func (e eighths) CompareAndSwap(ctx context.Context, old, n int64) (bool, error) {
	return e.AtomicDouble.CompareAndSwap(ctx, fromEighths(old), fromEighths(n))
}

func (e eighths) StoreIfLess(ctx context.Context, bound, n int64) (bool, error) {
	return e.AtomicDouble.StoreIfLess(ctx, fromEighths(bound), fromEighths(n))
}

func (e eighths) StoreIfGreater(ctx context.Context, bound, n int64) (bool, error) {
	return e.AtomicDouble.StoreIfGreater(ctx, fromEighths(bound), fromEighths(n))
}

// fromEighths is what n eighths are.
func fromEighths(n int64) float64 { return float64(n) / oneInEighths }

// toEighths is how many eighths a value is.
func toEighths(value float64, err error) (int64, error) {
	if err != nil {
		return 0, err
	}
	return wholeParts(value, oneInEighths)
}

// errNotWhole is of a number that is no whole number of the parts that it was made of.
var errNotWhole = errors.New("no whole number of parts")

// wholeParts returns how many parts of 1 a value is.
func wholeParts(value float64, parts int64) (int64, error) {
	n := int64(value * float64(parts))
	if float64(n)/float64(parts) != value {
		return 0, fmt.Errorf("%w: %v of 1/%d", errNotWhole, value, parts)
	}
	return n, nil
}
