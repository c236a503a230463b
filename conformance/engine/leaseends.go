package engine

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// isFree implements leasable. An expired hold is nobody's, even if no call has collected it yet: the ends of holds
// are the scores of a sorted set, if that is another key than the object's own.
func (p *Primitive[S, I, O]) isFree(ctx context.Context, e *harness.Env, name string) bool {
	reply, err := p.read(ctx, e, name)
	if p.Hold != nil && p.Hold.Until != nil && err == nil && !reply.IsNil() {
		keys := p.Stored(name, p.Hold.Until(time.Now()))
		if i := slices.IndexFunc(keys, func(k Key) bool { return k.Set != nil }); i > 0 {
			now := must.Get(must.Get(must.Get(e.Do(ctx, name, "TIME")).Tuple(2))[0].Int())
			from := strconv.FormatInt(now*1000, 10) // To the second: rest asks again.
			return must.Get(e.Command(ctx, "ZCOUNT", keys[i].Name, from, "+inf").Int()) == 0
		}
	}
	return holds(p.Stored(name, p.Init)[0], reply, err)
}
