package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// serverMillis returns the time in milliseconds of the server that has a key.
func serverMillis(ctx context.Context, e *harness.Env, key string) int64 {
	items := must.Get(must.Get(e.Do(ctx, key, "TIME")).Tuple(2))
	seconds, micros := must.Get(items[0].Int()), must.Get(items[1].Int())
	return seconds*1000 + micros/1000
}

// endAfter makes the leases of all that is in the set [Hold.Ends] end after a time.
func (p *Primitive[S, I, O]) endAfter(ctx context.Context, e *harness.Env, name string, lease time.Duration) {
	set := p.Hold.Ends(name)
	ends := fmt.Sprint(serverMillis(ctx, e, name) + lease.Milliseconds())
	for _, member := range texts(must.Get(e.Command(ctx, "ZRANGE", set, "0", "-1").Items())) {
		e.Command(ctx, "ZADD", set, ends, member)
	}
}

// leaseLeft implements leasable.
func (p *Primitive[S, I, O]) leaseLeft(ctx context.Context, e *harness.Env, name string) time.Duration {
	if p.Hold.Ends == nil {
		return must.Get(e.Command(ctx, "PTTL", name).Duration(time.Millisecond))
	}
	last := texts(must.Get(e.Command(ctx, "ZRANGE", p.Hold.Ends(name), "-1", "-1", "WITHSCORES").Items()))
	if len(last) == 0 || must.Get(e.Command(ctx, "EXISTS", name).Int()) == 0 {
		return -time.Millisecond
	}
	var score float64
	must.Get(fmt.Sscan(last[1], &score))
	return time.Duration(int64(score)-serverMillis(ctx, e, name)) * time.Millisecond
}

// isFree reports whether nobody holds an object by the server.
func (p *Primitive[S, I, O]) isFree(ctx context.Context, e *harness.Env, name string) bool {
	reply, err := p.read(ctx, e, name)
	if p.Hold == nil || p.Hold.Ends == nil || err != nil || reply.IsNil() {
		return holds(p.Stored(name, p.Init)[0], reply, err)
	}
	return must.Get(e.Command(ctx, "ZCARD", p.Hold.Ends(name)).Int()) == 0
}
