package limiter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// interval is a short one.
const interval = 300 * time.Millisecond

// cases are a rate limiter's alone.
func cases() []harness.Case {
	pubsub := []harness.Need{harness.PubSub}
	return []harness.Case{
		newCase("NeverAboveTheRate", "Rate", nil, neverAbove),
		newCase("RefusalSaysWhen", "Refusals", nil, saysWhen),
		newCase("ChangeKeepsGrants", "Rate", nil, changeKeeps),
		newCase("ChangesWakeWaiters", "Waiting", pubsub, changesWake),
		newCase("WaitersReturnErrors", "Refusals", pubsub, waitersReturn),
		newCase("IsMadeOnce", "Life", nil, isMadeOnce),
		newCase("KeepsAliveWhatIsUsed", "Life", nil, keepsAlive),
		newCase("HasOwnPermitsForEachClient", "Life", nil, perClient),
		newCase("StoresWhatRedissonDoes", "Wire", nil, stores),
		newCase("ForeignGrantsCount", "Wire", nil, foreign),
		newCase("ClockIsSetBack", "Rate", nil, clockSetBack),
		newCase("HealsWhatIsLost", "Rate", nil, heals),
	}
}

func newCase(
	name, clause string, needs []harness.Need, run func(context.Context, *harness.Env),
) harness.Case {
	return harness.NewCase(Promises, "RateLimiter"+name, "RateLimiter."+clause, needs, run)
}

// of returns a limiter in c, of a rate that is set.
func of(ctx context.Context, c *primitives.Client, name string, rate primitives.Rate) *primitives.RateLimiter {
	l := c.NewRateLimiter(name, nil)
	must.Do(l.SetRate(ctx, rate))
	return l
}

// anHour is a rate whose permits do not come back by themselves.
func anHour(permits int) primitives.Rate {
	return primitives.Rate{Permits: permits, Interval: time.Hour}
}

// refused fails unless TryAcquire of n permits is refused, for no longer than most, as times are rounded.
func refused(ctx context.Context, l *primitives.RateLimiter, n int, most time.Duration) {
	var limited *primitives.RateLimitError
	err := l.TryAcquire(ctx, n)
	must.If(!errors.As(err, &limited), "TryAcquire of %d returned %w", n, err)
	must.Wrap(err, primitives.ErrNotAcquired)
	must.If(limited.RetryIn <= 0 || limited.RetryIn > most+2*time.Millisecond, "it is to take %v, want up to %v", limited.RetryIn, most)
}

// span is when a call began and ended.
type span struct{ began, ended time.Time }

// neverAbove has callers of several clients take permits for some intervals. Of the calls that surely lie in a
// window of one interval no more were granted than the rate has.
func neverAbove(ctx context.Context, e *harness.Env) {
	const rate, rounds = 5, 4
	clients := engine.Clients(ctx, e, 3)
	of(ctx, clients[0], e.Key("rate"), primitives.Rate{Permits: rate, Interval: interval})
	grants := make([]span, rate*rounds)
	must.Together(len(grants), func(i int) {
		grants[i] = take(ctx, clients[i%len(clients)].NewRateLimiter(e.Key("rate"), nil))
	})
	for _, first := range grants {
		within := 0
		for _, g := range grants {
			if !g.began.Before(first.began) && g.ended.Before(first.began.Add(interval)) {
				within++
			}
		}
		must.If(within > rate, "%d permits were granted within %v, want up to %d", within, interval, rate)
	}
}

// take takes a permit, and returns when it surely was granted. It waits for as long as a refusal says.
func take(ctx context.Context, l *primitives.RateLimiter) span {
	for {
		began := time.Now()
		err := l.TryAcquire(ctx, 1)
		var limited *primitives.RateLimitError
		if !errors.As(err, &limited) {
			must.Do(err)
			return span{began, time.Now()}
		}
		time.Sleep(limited.RetryIn)
	}
}

// saysWhen: what a refusal says is when enough permits are there.
func saysWhen(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	l := of(ctx, c, e.Key("rate"), primitives.Rate{Permits: 3, Interval: time.Minute})
	must.Refuse[struct{}]("TryAcquire of 4", primitives.ErrAboveRate)(struct{}{}, l.TryAcquire(ctx, 4))
	must.Do(l.TryAcquire(ctx, 1))
	refused(ctx, l, 3, time.Minute)
	must.Return("AvailablePermits", 2)(l.AvailablePermits(ctx))
	must.Do(l.TryAcquire(ctx, 2))
	refused(ctx, l, 1, time.Minute)
	must.Do(l.SetRate(ctx, primitives.Rate{Permits: 3, Interval: interval}))
	refusedOrDone := l.TryAcquire(ctx, 3)
	var limited *primitives.RateLimitError
	if errors.As(refusedOrDone, &limited) { // On a slow machine they are back.
		time.Sleep(limited.RetryIn)
		must.Do(l.TryAcquire(ctx, 3))
	}
}

// changeKeeps: what was granted counts on, whatever the rate becomes.
func changeKeeps(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	l := of(ctx, c, e.Key("rate"), anHour(5))
	must.Do(l.Acquire(ctx, 4))
	must.Do(l.SetRate(ctx, anHour(2)))
	must.Return("AvailablePermits of too few", 0)(l.AvailablePermits(ctx))
	e.WantText(ctx, e.Key("rate")+":value", "-2")
	refused(ctx, l, 1, time.Hour)
	must.Return("UpdateRate", true)(l.UpdateRate(ctx, anHour(6)))
	must.Return("AvailablePermits", 2)(l.AvailablePermits(ctx))
	must.Return("TrySetRate", false)(l.TrySetRate(ctx, anHour(9)))
	must.Do(l.Release(ctx, 9))
	must.Return("AvailablePermits", 6)(l.AvailablePermits(ctx))
	must.Return("Delete", true)(l.Delete(ctx))
	must.Return("UpdateRate of none", false)(l.UpdateRate(ctx, anHour(6)))
	must.Refuse[int]("AvailablePermits", primitives.ErrNoRate)(l.AvailablePermits(ctx))
	must.Return("TrySetRate", true)(l.TrySetRate(ctx, anHour(1)))
}

// waiting has so many callers of a client wait for n permits each, and returns when it listens.
func waiting(ctx context.Context, e *harness.Env, c *primitives.Client, name string, callers, n int) []<-chan error {
	all := make([]<-chan error, callers)
	for i := range all {
		done := make(chan error, 1)
		go func() { done <- c.NewRateLimiter(name, nil).Acquire(ctx, n) }()
		all[i] = done
	}
	e.AwaitSubscribers(ctx, engine.SideName("hasp_rate_limiter:", name), 1)
	harness.NotYet("a waiter", all[0])
	return all
}

// changesWake: a release and a higher rate wake waiters, who never poll, as many as can go on.
func changesWake(ctx context.Context, e *harness.Env) {
	clients := engine.Clients(ctx, e, 2)
	for _, name := range []string{e.Key("rate"), e.Tag + "-plain"} {
		l := of(ctx, clients[0], name, anHour(5))
		must.Do(l.Acquire(ctx, 5))
		all := waiting(ctx, e, clients[1], name, 5, 2)
		must.Do(l.Release(ctx, 2))
		must.Do(l.SetRate(ctx, anHour(13)))
		for _, done := range all {
			harness.Finish("a waiter", done)
		}
		must.Return("AvailablePermits", 0)(l.AvailablePermits(ctx))
		must.Get(l.Delete(ctx))
	}
}

// waitersReturn: who waits for what will never be returns an error.
func waitersReturn(ctx context.Context, e *harness.Env) {
	clients := engine.Clients(ctx, e, 2)
	for is, change := range map[error]func(l *primitives.RateLimiter){
		primitives.ErrAboveRate: func(l *primitives.RateLimiter) { must.Do(l.SetRate(ctx, anHour(2))) },
		primitives.ErrNoRate:    func(l *primitives.RateLimiter) { must.Return("Delete", true)(l.Delete(ctx)) },
	} {
		l := of(ctx, clients[0], e.Key("rate"), anHour(3))
		must.Do(l.Acquire(ctx, 1))
		all := waiting(ctx, e, clients[1], l.Name(), 3, 3)
		change(l)
		for _, done := range all {
			must.Wrap(harness.Await(ctx, "a waiter's error", done), is)
		}
	}
}

// isMadeOnce has many try at once, on several clients, to be the first.
func isMadeOnce(ctx context.Context, e *harness.Env) {
	clients := engine.Clients(ctx, e, 3)
	var taken atomic.Int64
	must.Together(12, func(i int) {
		l := clients[i%len(clients)].NewRateLimiter(e.Key("rate"), &primitives.RateLimiterOptions{Rate: anHour(4)})
		if err := l.TryAcquire(ctx, 1); err != nil {
			must.Wrap(err, primitives.ErrNotAcquired)
			return
		}
		taken.Add(1)
	})
	must.If(taken.Load() != 4, "%d of 4 permits were taken", taken.Load())
	rate, ok, err := clients[0].NewRateLimiter(e.Key("rate"), nil).Config(ctx)
	must.If(err != nil || !ok || rate != anHour(4), "Config returned %v, %v, %w", rate, ok, err)
}

// ends returns how many milliseconds each key still has.
func ends(ctx context.Context, e *harness.Env, keys ...string) (all []int64) {
	for _, key := range keys {
		all = append(all, must.Get(e.Command(ctx, "PTTL", key).Int()))
	}
	return all
}

// keepsAlive: each try begins the life of all keys anew. A rate without an end takes it from them.
func keepsAlive(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	rate := anHour(3)
	rate.KeepAlive = 3 * time.Hour
	l := c.NewRateLimiter(e.Key("rate"), &primitives.RateLimiterOptions{Rate: rate})
	keys := []string{l.Name(), l.Name() + ":value", l.Name() + ":permits"}
	for _, n := range []int{2, 2} { // Granted, and refused.
		if err := l.TryAcquire(ctx, n); err != nil {
			must.Wrap(err, primitives.ErrNotAcquired)
		}
		for i, left := range ends(ctx, e, keys...) {
			must.If(left <= (2*time.Hour).Milliseconds(), "%s ends in %d ms", keys[i], left)
			e.Command(ctx, "PEXPIRE", keys[i], "3600000")
		}
	}
	must.Do(l.SetRate(ctx, anHour(3)))
	for i, left := range ends(ctx, e, keys...) {
		must.If(left != -1, "%s ends in %d ms", keys[i], left)
	}
}

// perClient: each client has the permits for itself, and leaves nothing behind for longer than an interval.
func perClient(ctx context.Context, e *harness.Env) {
	clients := engine.Clients(ctx, e, 2)
	rate := anHour(2)
	rate.Mode = primitives.RatePerClient
	for _, c := range clients {
		l := c.NewRateLimiter(e.Key("rate"), &primitives.RateLimiterOptions{Rate: rate})
		must.Do(l.Acquire(ctx, 1))
		must.Do(l.Acquire(ctx, 1))
		refused(ctx, l, 1, time.Hour)
		for _, key := range []string{":value:", ":permits:"} {
			left := ends(ctx, e, l.Name()+key+c.Core().ID())[0]
			must.If(left <= 0 || left > time.Hour.Milliseconds()+2, "%s ends in %d ms", key, left)
		}
		must.Do(l.Release(ctx, 1))
		must.Return("AvailablePermits", 1)(l.AvailablePermits(ctx))
	}
	got, _, err := clients[0].NewRateLimiter(e.Key("rate"), nil).Config(ctx)
	must.If(err != nil || got != rate, "Config returned %v, %w", got, err)
	l := of(ctx, clients[0], e.Key("rate"), anHour(2)) // They have them together now.
	must.Do(l.Acquire(ctx, 2))
	refused(ctx, clients[1].NewRateLimiter(e.Key("rate"), nil), 1, time.Hour)
	must.Return("EXISTS", "0")(e.Command(ctx, "EXISTS", l.Name()+":value:"+clients[0].Core().ID()).Text())
}

// wantGrants fails unless the sorted set has grants of so many permits, with times of about now.
func wantGrants(ctx context.Context, e *harness.Env, key string, permits ...int64) {
	items := must.Get(e.Command(ctx, "ZRANGE", key, "0", "-1").Items())
	must.If(len(items) != len(permits), "there are %d grants, want %d", len(items), len(permits))
	now := must.Get(must.Get(e.Do(ctx, key, "TIME")).Tuple(2))
	for i, item := range items {
		member := must.Get(item.Text())
		id, n := unmember(member)
		must.If(len(id) != 17 || id[0] != 16 || n != permits[i], "a grant is %q, want %d permits", member, permits[i])
		at := must.Get(strconv.ParseFloat(must.Get(e.Command(ctx, "ZSCORE", key, member).Text()), 64))
		age := time.Duration(must.Get(now[0].Int())*1000-int64(at)) * time.Millisecond
		must.If(age < -2*time.Second || age > harness.Patience, "a grant was %v ago", age)
	}
}

// stores compares the keys with what Redisson 4.7.0 stores.
func stores(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	for _, name := range []string{e.Key("rate"), e.Tag + "-plain"} {
		l, side := of(ctx, c, name, primitives.Rate{Permits: 5, Interval: time.Minute}), engine.SideName("", name)
		for field, text := range map[string]string{"rate": "5", "interval": "60000", "type": "0", "keepAliveTime": "0"} {
			must.Return(field, text)(e.Command(ctx, "HGET", name, field).Text())
		}
		must.Return("EXISTS", "0")(e.Command(ctx, "EXISTS", side+":value", side+":permits").Text())
		must.Do(l.Acquire(ctx, 3))
		time.Sleep(2 * time.Millisecond) // Those of one millisecond have no order.
		must.Do(l.Acquire(ctx, 1))
		e.WantText(ctx, side+":value", "1")
		wantGrants(ctx, e, side+":permits", 3, 1)
		must.Do(l.Release(ctx, 1))
		e.WantText(ctx, side+":value", "2")
		wantGrants(ctx, e, side+":permits", 2, 1)
		must.Get(l.Delete(ctx))
		must.Return("EXISTS", "0")(e.Command(ctx, "EXISTS", name, side+":value", side+":permits").Text())
	}
}

// put stores a grant of n permits, made at a server's time less an age, with so many random bytes.
func put(ctx context.Context, e *harness.Env, key string, age time.Duration, bytes int, n int64) {
	now := must.Get(must.Get(e.Do(ctx, key, "TIME")).Tuple(2))
	at := must.Get(now[0].Int())*1000 - age.Milliseconds()
	id := ID(fmt.Sprintf("%c%0*d", rune(bytes), bytes, at%1e8))
	e.Command(ctx, "ZADD", key, fmt.Sprint(at), id.member(n))
}

// foreign: grants of other programs count until they are old, of those with 8 random bytes, too.
func foreign(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	l := of(ctx, c, e.Key("rate"), anHour(10))
	value, grants := l.Name()+":value", l.Name()+":permits"
	put(ctx, e, grants, 2*time.Hour, 16, 2)
	put(ctx, e, grants, time.Minute, 8, 3)
	put(ctx, e, grants, 0, 16, 4)
	e.Command(ctx, "SET", value, "1")
	must.Return("AvailablePermits", 3)(l.AvailablePermits(ctx))
	refused(ctx, l, 4, 59*time.Minute+time.Second)
	refused(ctx, l, 7, time.Hour+2*time.Second)
	must.Do(l.Acquire(ctx, 3))
	e.WantText(ctx, value, "0")
	must.Return("ZCARD", "3")(e.Command(ctx, "ZCARD", grants).Text())
	e.Command(ctx, "HSET", l.Name(), "rate", "many")
	_, _, err := l.Config(ctx)
	must.Wrap(err, primitives.ErrConflict)
	must.Refuse[struct{}]("TryAcquire", primitives.ErrConflict)(struct{}{}, l.TryAcquire(ctx, 1))
	must.Refuse[int]("AvailablePermits", primitives.ErrConflict)(l.AvailablePermits(ctx))
	must.Refuse[struct{}]("Release", primitives.ErrConflict)(struct{}{}, l.Release(ctx, 1))
}

// clockSetBack has grants of the future: they count from now on, and not for longer than an interval.
func clockSetBack(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	l := of(ctx, c, e.Key("rate"), primitives.Rate{Permits: 3, Interval: interval})
	put(ctx, e, l.Name()+":permits", -time.Hour, 16, 2)
	put(ctx, e, l.Name()+":permits", -24*time.Hour, 16, 1)
	e.Command(ctx, "SET", l.Name()+":value", "0")
	refused(ctx, l, 1, interval)
	began := time.Now()
	must.Do(l.Acquire(ctx, 3))
	must.If(time.Since(began) > harness.Patience/2, "it took %v", time.Since(began))
}

// heals: keys that are lost by themselves, or do not fit each other, cost no permits for good, and allow
// no more than the rate.
func heals(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	l := of(ctx, c, e.Key("rate"), anHour(3))
	value, grants := l.Name()+":value", l.Name()+":permits"
	must.Do(l.Acquire(ctx, 2))
	e.Command(ctx, "DEL", value)
	must.Return("AvailablePermits without the value", 1)(l.AvailablePermits(ctx))
	refused(ctx, l, 2, time.Hour)
	e.Command(ctx, "SET", value, "3")
	must.Return("AvailablePermits with too much of a value", 1)(l.AvailablePermits(ctx))
	must.Do(l.Acquire(ctx, 1))
	refused(ctx, l, 1, time.Hour)
	e.Command(ctx, "DEL", grants)
	refused(ctx, l, 3, time.Second)
	must.Do(l.TryAcquire(ctx, 3))
}
