package number

import (
	"context"
	"errors"
	"math"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// plainCommands looks at what is sent where there is a command.
func plainCommands(ctx context.Context, e *harness.Env) {
	c, in := engine.NewClient(ctx, e, nil)
	n := c.NewAtomicLong(e.Key("long"))
	must.Get(n.Load(ctx))
	stop := in.Link.Record()
	must.Get(n.Load(ctx))
	must.Get(n.Add(ctx, 1))
	sent := harness.Matching(stop(), e.Tag)
	must.Not(len(sent) != 2 || !harness.IsCommand(sent[0], "GET") || !harness.IsCommand(sent[1], "INCRBY"),
		"sent %q, want GET and INCRBY", sent)
}

func followsFloat64(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	d := c.NewAtomicDouble(e.Key("double"))
	for _, x := range []float64{0, 1, -1.5, 0.1, 1e21, -1e-7, math.MaxFloat64, math.Pi, 1 << 60} {
		must.Do(d.Store(ctx, x))
		must.Return("Load", x)(d.Load(ctx))
		must.Return("CompareAndSwap of another", false)(d.CompareAndSwap(ctx, x/2+1, 0))
		must.Return("StoreIfLess than itself", false)(d.StoreIfLess(ctx, x, 0))
		must.Return("StoreIfGreater than itself", false)(d.StoreIfGreater(ctx, x, 0))
		must.Return("CompareAndSwap", true)(d.CompareAndSwap(ctx, x, 2))
		must.Return("Swap", 2.0)(d.Swap(ctx, x))
		must.Return("LoadAndDelete", x)(d.LoadAndDelete(ctx))
	}
	must.Return("Add", 0.5)(d.Add(ctx, 0.5))
	must.Return("LoadAndAdd", 0.5)(d.LoadAndAdd(ctx, 2))
}

func doubleErrors(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	d := c.NewAtomicDouble(e.Key("double"))
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		err := d.Store(ctx, x)
		must.Not(!errors.As(err, new(*primitives.FieldError)), "storing %v returned %v, want a FieldError", x, err)
	}
	must.Do(d.Store(ctx, math.MaxFloat64))
	must.Refuse[float64]("Add", primitives.ErrOverflow)(d.Add(ctx, math.MaxFloat64))
	must.Return("Load", math.MaxFloat64)(d.Load(ctx))
}
