package limiter

import (
	"context"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// cases are about states that the model does not have: permits of one client, and keys of other programs, or lost.
func cases() []harness.Case {
	return []harness.Case{
		harness.NewCase(Promises, "RateLimiterHasOwnPermitsForEachClient", "RateLimiter.Life", nil, perClient),
		harness.NewCase(Promises, "RateLimiterForeignGrantsCount", "RateLimiter.Wire", nil, foreign),
		harness.NewCase(Promises, "RateLimiterHealsWhatIsLost", "RateLimiter.Rate", nil, heals),
	}
}

// scene is a limiter of a client, and the keys of its grants.
type scene struct {
	*harness.Env
	*primitives.RateLimiter
	value, grants string
}

// begin sets a rate.
func begin(ctx context.Context, e *harness.Env, rate primitives.Rate) *scene {
	c, _ := engine.NewClient(ctx, e, nil)
	l := c.NewRateLimiter(e.Key("rate"), primitives.Rate{}, opts)
	must.Do(l.SetRate(ctx, rate))
	return &scene{e, l, l.Name() + ":value", l.Name() + ":permits"}
}

// anHour is a rate whose permits are not free again by themselves.
func anHour(permits int) primitives.Rate {
	return primitives.Rate{Permits: permits, Interval: time.Hour}
}

// refuses fails unless Allow of n permits is refused, for no longer than most, as times are rounded.
func refuses(ctx context.Context, l *primitives.RateLimiter, n int, most time.Duration) {
	wait := must.Get(l.Allow(ctx, n)).RetryAfter
	must.Not(wait <= 0 || wait > most+2*time.Millisecond, "%d are free in %v, want up to %v", n, wait, most)
}

// put stores a grant of n permits as another program does, with some random bytes. Its time is the server's, less
// an age.
func (s *scene) put(ctx context.Context, age time.Duration, bytes, n int) {
	now := must.Get(must.Get(s.Do(ctx, s.grants, "TIME")).Tuple(2))
	at := must.Get(now[0].Int())*1000 - age.Milliseconds()
	g := grant{N: n, ID: ID(fmt.Sprintf("%c%0*d", rune(bytes), bytes, at%1e8))}
	s.Command(ctx, "ZADD", s.grants, fmt.Sprint(at), g.member())
}

// perClient has two clients whose permits are their own. A client leaves no key for longer than an interval.
func perClient(ctx context.Context, e *harness.Env) {
	clients := engine.Clients(ctx, e, 2)
	rate := primitives.Rate{Permits: 2, Interval: time.Hour, Mode: primitives.RatePerClient}
	for _, c := range clients {
		l := c.NewRateLimiter(e.Key("rate"), rate, opts)
		must.Do(l.Wait(ctx, 2))
		refuses(ctx, l, 1, time.Hour)
		for _, key := range []string{":value:", ":permits:"} {
			left := must.Get(e.Command(ctx, "PTTL", l.Name()+key+c.Core().ID()).Int())
			must.Not(left <= 0 || left > time.Hour.Milliseconds()+2, "%s ends in %d ms", key, left)
		}
		must.Do(l.Return(ctx, 1))
		must.Not(must.Get(l.State(ctx)).Remaining != 1, "not one is free")
	}
	one, other := clients[0].NewRateLimiter(e.Key("rate"), rate, opts), clients[1].NewRateLimiter(e.Key("rate"), rate, opts)
	rate.KeepAlive = time.Hour // By default.
	must.Return("Rate", rate)(one.Rate(ctx))
	must.Do(one.SetRate(ctx, anHour(2))) // Now both clients share the permits.
	must.Do(one.Wait(ctx, 2))
	refuses(ctx, other, 1, time.Hour)
	must.Return("EXISTS", "0")(e.Command(ctx, "EXISTS", one.Name()+":value:"+clients[0].Core().ID()).Text())
}

// foreign has grants of other programs, some of them with 8 random bytes: they count until they are old.
func foreign(ctx context.Context, e *harness.Env) {
	s := begin(ctx, e, anHour(10))
	s.put(ctx, 2*time.Hour, 16, 2)
	s.put(ctx, time.Minute, 8, 3)
	s.put(ctx, 0, 16, 4)
	e.Command(ctx, "SET", s.value, "1")
	must.Not(must.Get(s.State(ctx)).Remaining != 3, "not three are free")
	refuses(ctx, s.RateLimiter, 4, 59*time.Minute+time.Second)
	refuses(ctx, s.RateLimiter, 7, time.Hour+2*time.Second)
	must.Do(s.Wait(ctx, 3))
	e.WantText(ctx, s.value, "0")
	must.Return("ZCARD", "3")(e.Command(ctx, "ZCARD", s.grants).Text())
	e.Command(ctx, "HSET", s.Name(), "rate", "many")
	must.Refuse[primitives.Rate]("Rate", primitives.ErrConflict)(s.Rate(ctx))
	must.Refuse[primitives.Decision]("Allow", primitives.ErrConflict)(s.Allow(ctx, 1))
	must.Refuse[primitives.Decision]("State", primitives.ErrConflict)(s.State(ctx))
	must.Wrap(s.Return(ctx, 1), primitives.ErrConflict)
}

// heals loses a key, or has keys that do not fit each other: that costs no permits for good, and allows no more
// than the rate.
func heals(ctx context.Context, e *harness.Env) {
	s := begin(ctx, e, anHour(3))
	must.Do(s.Wait(ctx, 2))
	e.Command(ctx, "DEL", s.value)
	must.Not(must.Get(s.State(ctx)).Remaining != 1, "not one is free")
	refuses(ctx, s.RateLimiter, 2, time.Hour)
	e.Command(ctx, "SET", s.value, "3")
	must.Not(must.Get(s.State(ctx)).Remaining != 1, "not one is free")
	must.Do(s.Wait(ctx, 1))
	refuses(ctx, s.RateLimiter, 1, time.Hour)
	e.Command(ctx, "DEL", s.grants)
	refuses(ctx, s.RateLimiter, 3, time.Second)
	must.Not(!must.Get(s.Allow(ctx, 3)).Allowed, "lost grants count")
}
