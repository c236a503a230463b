package engine

import (
	"context"
	"fmt"
	"slices"
	"strconv"
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

// endsKey returns the key of the sorted set whose scores are the ends of an object's holds, if that is
// another key than the object's own, else "".
func (p *Primitive[S, I, O]) endsKey(name string) string {
	if p.Hold == nil || p.Hold.Until == nil {
		return ""
	}
	keys := p.Stored(name, p.Hold.Until(time.Now()))
	i := slices.IndexFunc(keys, func(k Key) bool { return k.Set != nil })
	if i <= 0 {
		return ""
	}
	return keys[i].Name
}

// leaseLeft implements leasable.
func (p *Primitive[S, I, O]) leaseLeft(ctx context.Context, e *harness.Env, name string) time.Duration {
	set := p.endsKey(name)
	if set == "" {
		return must.Get(e.Command(ctx, "PTTL", p.keyOf(name)).Duration(time.Millisecond))
	}
	last := texts(must.Get(e.Command(ctx, "ZRANGE", set, "-1", "-1", "WITHSCORES").Items()))
	if len(last) == 0 || must.Get(e.Command(ctx, "EXISTS", name).Int()) == 0 {
		return -time.Millisecond
	}
	var score float64
	must.Get(fmt.Sscan(last[1], &score))
	return time.Duration(int64(score)-serverMillis(ctx, e, name)) * time.Millisecond
}

// isFree reports whether nobody holds an object by the server. What has expired is nobody's, also if no call has
// collected it yet.
func (p *Primitive[S, I, O]) isFree(ctx context.Context, e *harness.Env, name string) bool {
	reply, err := p.read(ctx, e, name)
	set := p.endsKey(name)
	if set == "" || err != nil || reply.IsNil() {
		return holds(p.Stored(name, p.Init)[0], reply, err)
	}
	now := strconv.FormatInt(serverMillis(ctx, e, set), 10)
	return must.Get(e.Command(ctx, "ZCOUNT", set, now, "+inf").Int()) == 0
}
