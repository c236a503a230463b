package conformance

import (
	"context"

	"github.com/hasp-go/hasp/conformance/model"
	"github.com/hasp-go/hasp/primitives"
)

// doubleWorkload changes a double in all ways. Its values are whole eighths, of which sums are exact
// on every server: the model is that of a long which counts them.
func doubleWorkload() Workload {
	return Workload{
		Name: "AtomicDouble", Clause: "Atomic.Exact", Model: model.Long, Ops: numberOps,
		Actor: func(a *Actor) func(context.Context, Step) error {
			return (&numberActor{
				a, eighths{a.Client.NewAtomicDouble(a.Object)}, []int64{0, 1, -1, 3, -8, 1 << 40, -1 << 50},
			}).step
		},
	}
}

// eighths is a double that is counted in eighths.
type eighths struct{ number *primitives.AtomicDouble }

func (e eighths) Load(ctx context.Context) (int64, error) { return toEighths(e.number.Load(ctx)) }

func (e eighths) Store(ctx context.Context, n int64) error {
	return e.number.Store(ctx, fromEighths(n))
}

func (e eighths) Add(ctx context.Context, n int64) (int64, error) {
	return toEighths(e.number.Add(ctx, fromEighths(n)))
}

func (e eighths) Swap(ctx context.Context, n int64) (int64, error) {
	return toEighths(e.number.Swap(ctx, fromEighths(n)))
}

func (e eighths) LoadAndDelete(ctx context.Context) (int64, error) {
	return toEighths(e.number.LoadAndDelete(ctx))
}

func (e eighths) CompareAndSwap(ctx context.Context, old, n int64) (bool, error) {
	return e.number.CompareAndSwap(ctx, fromEighths(old), fromEighths(n))
}

func (e eighths) StoreIfLess(ctx context.Context, bound, n int64) (bool, error) {
	return e.number.StoreIfLess(ctx, fromEighths(bound), fromEighths(n))
}

func (e eighths) StoreIfGreater(ctx context.Context, bound, n int64) (bool, error) {
	return e.number.StoreIfGreater(ctx, fromEighths(bound), fromEighths(n))
}

// fromEighths is what n eighths are.
func fromEighths(n int64) float64 { return float64(n) / 8 }

// toEighths is how many eighths a value is.
func toEighths(value float64, err error) (int64, error) { return int64(value * 8), err }
