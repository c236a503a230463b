package primitives

import "context"

// DoubleAdder is a [LongAdder] for float64, with the same errors. If a sum is infinite or NaN, the
// error is [ErrOverflow].
//
// Each process adds in float64, and the server adds as for an [AtomicDouble]: the last digit may
// depend on the order in which processes answer.
//
// Source: Redisson's RDoubleAdder, with the channel and the keys of RLongAdder.
type DoubleAdder struct{ adder }

// OpenDoubleAdder returns an adder called name. Sums include it from now on, until it is closed. It
// waits and fails like [Client.OpenLongAdder].
func (c *Client) OpenDoubleAdder(ctx context.Context, name string) (*DoubleAdder, error) {
	a := new(DoubleAdder)
	if err := a.open(ctx, c, doubleAdderKind, name); err != nil {
		return nil, err
	}
	return a, nil
}

// Add adds x. It sends nothing, and never fails.
func (a *DoubleAdder) Add(x float64) { a.addDouble(x) }

// Increment adds 1.
func (a *DoubleAdder) Increment() { a.Add(1) }

// Decrement subtracts 1.
func (a *DoubleAdder) Decrement() { a.Add(-1) }

// Sum asks all adders of the name, and returns the sum of their answers. It waits and fails like
// [LongAdder.Sum].
func (a *DoubleAdder) Sum(ctx context.Context) (float64, error) {
	sum, err := a.sum(ctx)
	return sum.Double, err
}
