package number

import (
	"context"

	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// oneInEighths is 1 as the model of a double counts it.
const oneInEighths = 8

var eighthsUsed = []int64{0, 1, -1, 3, -8, 1 << 40, -1 << 45}

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

// toEighths is how many eighths a value is that a call returned. It fails if that is no whole number:
// what goes in are eighths.
func toEighths(value float64, err error) (int64, error) {
	n := int64(value * oneInEighths)
	must.If(err == nil && fromEighths(n) != value, "%v is no whole number of eighths", value)
	return n, err
}
