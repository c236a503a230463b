package throttle

import (
	"context"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// cases are about what takes permits of several throttles, which the model does not have.
func cases() []harness.Case {
	return []harness.Case{
		harness.NewCase(Promises, "ThrottlesOfSeveralSlots", "Throttle.Refusals", nil, severalSlots),
	}
}

// severalSlots takes slot by slot. A refusal of the last gives back what the others granted.
func severalSlots(ctx context.Context, e *harness.Env) {
	c, r := engine.Clients(ctx, e, 1)[0], []*primitives.Throttle{}
	for _, name := range append(e.Slots(), e.Key("third")) {
		r = append(r, c.NewThrottle(name, limit(1, season, 3), &primitives.ThrottleOptions{Unavailable: primitives.Refuse()}))
	}
	all := primitives.NewMultiThrottle(&primitives.MultiThrottleOptions{Steps: true}, r[0].Take(1), r[1].Take(1), r[2].Take(2))
	for _, allowed := range []bool{true, false} {
		d := must.Get(all.Allow(ctx))
		must.Not(d.Allowed != allowed || d.Throttle != r[2], "the decision is %+v", d)
		for i, d := range must.Get(c.ThrottleStates(ctx, r...)) {
			must.Not(d.Remaining != []int{2, 2, 1}[i], "%q has %d permits", r[i].Name(), d.Remaining)
		}
	}
}
