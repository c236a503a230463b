package primitives

import "context"

// DoubleAdder is to float64 what [LongAdder] is to int64, with the same answers to what goes wrong. A sum
// that is infinite or no number is [ErrOverflow].
//
// Each process adds as float64 does, and the server as it does for an [AtomicDouble]: which of several
// processes answers first may matter to the last digit.
//
// Source: Redisson's RDoubleAdder, with the channel and the keys of RLongAdder.
type DoubleAdder struct{ adder }

// OpenDoubleAdder returns an adder called name, which takes part in sums from now on, until it is closed. It
// waits, and fails, as [Client.OpenLongAdder] does.
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

// Sum asks all adders of that name, and returns the sum of their answers. It waits, and fails, as that of a
// [LongAdder] does.
func (a *DoubleAdder) Sum(ctx context.Context) (float64, error) {
	sum, err := a.ask(ctx, "sum", adderSum)
	return sum.double, err
}
