package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/hasp-go/hasp/primitives"
)

func checkDouble(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	d := c.NewAtomicDouble(e.key("double"))
	for _, x := range []float64{0, 1, -1.5, 0.1, 1e21, -1e-7, math.MaxFloat64, math.Pi, 1 << 60} {
		if err := errors.Join(
			d.Store(ctx, x), expect("Load", x)(d.Load(ctx)),
			expect("CompareAndSwap of another", false)(d.CompareAndSwap(ctx, x/2+1, 0)),
			expect("StoreIfLess than itself", false)(d.StoreIfLess(ctx, x, 0)),
			expect("StoreIfGreater than itself", false)(d.StoreIfGreater(ctx, x, 0)),
			expect("CompareAndSwap", true)(d.CompareAndSwap(ctx, x, 2)),
			expect("Swap", 2.0)(d.Swap(ctx, x)),
			expect("LoadAndDelete", x)(d.LoadAndDelete(ctx)),
		); err != nil {
			return fmt.Errorf("with %v: %w", x, err)
		}
	}
	return errors.Join(
		expect("Add", 0.5)(d.Add(ctx, 0.5)), expect("Increment", 1.5)(d.Increment(ctx)),
		expect("Decrement", 0.5)(d.Decrement(ctx)), expect("LoadAndAdd", 0.5)(d.LoadAndAdd(ctx, 2)),
		expect("StoreIfLess", true)(d.StoreIfLess(ctx, 3, 1)),
		expect("StoreIfGreater", true)(d.StoreIfGreater(ctx, 0.5, 4)),
		expect("Delete", true)(d.Delete(ctx)), expect("Load", 0.0)(d.Load(ctx)),
	)
}

func checkDoubleErrors(ctx context.Context, e *env) error {
	c, _, err := e.client(ctx, nil)
	if err != nil {
		return err
	}
	d := c.NewAtomicDouble(e.key("double"))
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		var field *primitives.FieldError
		if err := d.Store(ctx, x); !errors.As(err, &field) {
			return fmt.Errorf("storing %v returned %w, want a FieldError", x, err)
		}
	}
	if err := d.Store(ctx, math.MaxFloat64); err != nil {
		return err
	}
	_, overflow := d.Add(ctx, math.MaxFloat64)
	if err := errors.Join(
		matches(overflow, primitives.ErrOverflow), expect("Load", math.MaxFloat64)(d.Load(ctx)),
	); err != nil {
		return err
	}
	for _, text := range []string{"abc", "1.2.3", " 1", "0x10", "nan", "inf", "-1e400"} {
		if err := errors.Join(
			e.do(ctx, "SET", d.Name(), text), allConflict(doubleCalls(ctx, d)),
			e.wantText(ctx, d.Name(), text),
		); err != nil {
			return fmt.Errorf("over %q: %w", text, err)
		}
	}
	return errors.Join(
		e.do(ctx, "DEL", d.Name()), e.do(ctx, "RPUSH", d.Name(), "1"), allConflict(doubleCalls(ctx, d)),
		e.do(ctx, "LSET", d.Name(), "0", "2"), // It is a list still.
	)
}

// doubleCalls makes each call of a number once.
func doubleCalls(ctx context.Context, d *primitives.AtomicDouble) map[string]error {
	all := map[string]error{"Store": d.Store(ctx, 7)}
	_, all["Load"] = d.Load(ctx)
	_, all["Add"] = d.Add(ctx, 1)
	_, all["Swap"] = d.Swap(ctx, 7)
	_, all["LoadAndDelete"] = d.LoadAndDelete(ctx)
	_, all["CompareAndSwap"] = d.CompareAndSwap(ctx, 1, 2)
	_, all["StoreIfLess"] = d.StoreIfLess(ctx, math.MaxFloat64, 2)
	_, all["StoreIfGreater"] = d.StoreIfGreater(ctx, -math.MaxFloat64, 2)
	return all
}
