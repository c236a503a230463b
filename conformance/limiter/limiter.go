// Package limiter declares primitives.RateLimiter for the suite. In virtual time its model knows when each grant is
// old. Elsewhere intervals are endless, so only a release frees permits.
package limiter

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/lock"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// Promises are those of the doc comments of package primitives.
var Promises = map[string]string{
	"RateLimiter.Rate": `No window of one interval has more grants of permits than its rate, except for released ones:
over changes of the rate, clients that come and go, and a server's clock that is set back. Permits are free again by
themselves, and none is lost for longer.`,
	"RateLimiter.Waiting": `A waiter continues when enough permits are free, at most a poll after the time that the
server said. A release, a change of the rate and a deletion wake waiters. A waiter for many permits holds up no other.`,
	"RateLimiter.Refusals": `A refusal changes nothing, and says when there are enough permits. More permits than an
interval has, and a limiter without a rate, are errors at once, also for callers that wait already.`,
	"RateLimiter.Life": `A limiter is made by InitRate, SetRate, or the first caller that has a rate. With
KeepAlive, for such a caller's an hour by default, it and its keys end when nobody has used it for that time. The keys
of one client's own permits end with its grants, an hour after the last at the earliest.`,
	"RateLimiter.Wire": `The keys, the fields and the members are Redisson's. Grants of other programs count.`,
}

// The operations. Each is the name of a script, behind "rate_".
const (
	Acquire   = "acquire"
	Release   = "release"
	Set       = "set"
	Available = "available"
	Config    = "config"
	Delete    = "delete"
)

// In is an input of a limiter.
type In struct {
	Op             string
	N              int             // of Acquire and Release: the permits
	Rate           primitives.Rate // of Set; of Acquire the rate of a limiter that it makes, zero: it makes none
	Create, Change bool            // of Set
	Grant          ID              // of a script that acquires
	Least, Spare   int             // of such a script: the fewest permits for a waiter, the most that it reports
}

// Out is an answer. Count, Wait and Reset are known of scripts alone.
type Out struct {
	Done        bool            // of Acquire, Set, Config and Delete
	N           int             // of Available
	Rate        primitives.Rate // of Config
	Code        string          // of an error
	Count       int             // the permits that an acquire leaves, or that a release frees
	Wait, Reset time.Duration   // until a waiter can continue, or a permit is free; until all are, at most
}

// long is an interval that is longer than any test; opts wait for slow answers; some is a limiter whose permits are all free.
const long = 1000 * time.Hour

var opts, some = &primitives.RateLimiterOptions{Unavailable: primitives.Refuse(), Timeout: time.Hour}, Limit{Rate: primitives.Rate{Permits: 4, Interval: long}}.used(time.Time{})

// Primitive declares the rate limiter.
var Primitive engine.Subject = &engine.Primitive[Limit, In, Out]{
	Name: "RateLimiter", Promises: Promises, Limit: "RateLimiter.Rate", Special: cases(), Init: some, Some: some,
	Step: step, Ages: ages, Verb: func(in In) string { return in.Op }, Asks: asks, Answers: answers, Stored: stored,
	Hasty: true, CallerView: answered, Granted: func(out Out) bool { return out.Done }, Published: published,
	Channel: func(_ backend.Capabilities, key string) string { return engine.SideName("hasp_rate_limiter:", key) },
	Ops: []engine.Op[Limit, In, Out]{
		{Name: "SetRate", ExcludeFromHistory: true, Weight: 4, Generate: draw(Set), Call: call, Refuses: badInputs(Set)},
		{Name: "Allow", Weight: 4, Generate: draw(Acquire), Call: call, Tries: true, Back: back},
		{Name: "Wait", Weight: 4, Generate: draw(Acquire), Call: wait, Waits: true, Back: back, Refuses: badInputs(Acquire)},
		{Name: "Return", ExcludeFromHistory: true, Weight: 2, Generate: draw(Release), Call: call, Refuses: badInputs(Release)},
		{Name: "State", Weight: 1, Queries: true, Generate: draw(Available), Call: call},
		{Name: "Config", Weight: 1, Generate: draw(Config), Call: call},
		{Name: "Delete", ExcludeFromHistory: true, Weight: 1, Generate: draw(Delete), Call: call},
	},
	Ready:  func(s state, in In) bool { return s.Kind == engine.Present && in.N <= min(s.V.Rate.Permits, s.V.Free) },
	Blocks: blocks,
	Frees:  func(state) (In, bool) { return In{Op: Release, N: 2}, true },
	Peer:   peer,
}

// published is the number that the server keeps after a release, or a number that makes all waiters try.
func published(before, after state, in In) string {
	if before.Kind == engine.Present && (in.Op == Set && in.Change || in.Op == Delete) {
		return "2147483647"
	}
	if in.Op == Release && before.V.Free < before.V.Rate.Permits && after.V.value() > 0 {
		return fmt.Sprint(after.V.value())
	}
	return ""
}

// blocks takes all free permits, or makes a limiter whose only permit it takes.
func blocks(s state) (In, bool) {
	in := In{Op: Acquire, N: max(1, s.V.Free), Rate: primitives.Rate{Permits: 1, Interval: long}}
	return in, s.Kind == engine.Absent || s.V.Free > 0
}

// peer is another program that releases all permits, with a message or without. It cannot set a life.
func peer(d engine.Params[Limit]) (c engine.Change[Limit], ok bool) {
	c.Next = Limit{Rate: d.Now.V.Rate}.used(d.At)
	if d.Flag {
		c.Message = fmt.Sprint(c.Next.V.Free)
	}
	return c, d.Now.Kind == engine.Present && c.Next.Ends.IsZero()
}

// back releases the permits that a call took.
func back(in In, out Out) (In, bool) { return In{Op: Release, N: in.N}, out.Done }

// draw draws all that an operation may need. Where times are exact, an interval may be short.
func draw(op string) func(engine.Params[Limit]) In {
	return func(d engine.Params[Limit]) In {
		ms := d.For.Milliseconds()
		r := primitives.Rate{Permits: []int{4, 1, 2, 3, 5, 4}[d.Which], Interval: long}
		if !d.At.IsZero() {
			r.Interval = []time.Duration{time.Second, 100 * time.Millisecond, 250 * time.Millisecond, time.Minute, long}[ms%5]
		}
		if d.Flag {
			r.KeepAlive = r.Interval + millis(ms)
		}
		if op == Acquire && ms%4 != 1 { // Mostly it makes no limiter.
			r = primitives.Rate{}
		}
		return In{Op: op, N: []int{1, 1, 1, 2, 3, 4}[(d.Which+int(ms))%6], Rate: r, Create: ms%4 != 1, Change: ms%4 != 2}
	}
}

// badInputs are inputs that an operation refuses.
func badInputs(op string) []In {
	return []In{{Op: op}, {Op: op, N: -1}, {Op: op, N: 1, Rate: rate(1, 1000, 999), Create: true}}
}

// rate returns a rate with times in milliseconds.
func rate(permits, interval, alive int64) primitives.Rate {
	return primitives.Rate{Permits: int(permits), Interval: millis(interval), KeepAlive: millis(alive)}
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func wait(ctx context.Context, c *primitives.Client, name string, in In) (Out, error) {
	err := c.NewRateLimiter(name, in.Rate, opts).Wait(ctx, in.N)
	return Out{Done: err == nil}, err
}

// call calls the method of an operation that does not wait.
func call(ctx context.Context, c *primitives.Client, name string, in In) (out Out, err error) {
	l, d := c.NewRateLimiter(name, in.Rate, opts), primitives.Decision{}
	switch {
	case in.Op == Acquire:
		if d, err = l.Allow(ctx, in.N); err == nil && !d.Allowed {
			err = primitives.ErrNotAcquired
		}
		out.Done = err == nil
	case in.Op == Set && in.Create && in.Change:
		err = l.SetRate(ctx, in.Rate)
		out.Done = err == nil
	case in.Op == Set && in.Create:
		out.Done, err = l.InitRate(ctx, in.Rate)
	case in.Op == Set:
		out.Done, err = l.UpdateRate(ctx, in.Rate)
	case in.Op == Release:
		err = l.Return(ctx, in.N)
	case in.Op == Available:
		d, err = l.State(ctx)
		out.N = d.Remaining
	case in.Op == Config:
		out.Rate, err = l.Rate(ctx)
		if out.Done = err == nil; errors.Is(err, primitives.ErrNoRate) {
			err = nil
		}
	default:
		out.Done, err = l.Delete(ctx)
	}
	return out, err
}

// asks returns the input of a script.
func asks(s *engine.Script) []In {
	name, ours := strings.CutPrefix(s.Name, "rate_")
	if !ours {
		return nil
	}
	var n [9]int64 // The numbers among the arguments.
	for i, text := range s.Args {
		n[i] = lock.Whole(text)
	}
	in := In{Op: name, N: int(n[0])}
	switch name {
	case Acquire:
		in.Grant, in.Least, in.Spare, in.Rate = ID(s.Args[1][:17]), int(n[2]), int(n[3]), rate(n[4], n[5], n[7])
	case Set:
		in.Rate, in.Create, in.Change = rate(n[0], n[1], n[3]), n[4] == 1, n[5] == 1
	}
	return []In{in}
}

// answers returns the answer of a script.
func answers(s *engine.Script) ([]Out, error) {
	var server *backend.ServerError
	if errors.As(s.Err, &server) {
		return []Out{{Code: server.Code}}, nil
	}
	must.Do(s.Err)
	var out Out
	switch n := numbers(s.Reply); strings.TrimPrefix(s.Name, "rate_") {
	case Acquire:
		must.Not(len(s.Args[1]) != 21 || s.Args[1][0] != 16, "the grant %q has not Redisson's form", s.Args[1])
		out = Out{Done: n[0] == 1, Count: int(n[1]), Wait: millis(n[2])}
	case Release:
		out.Count = int(n[0])
	case Available:
		out.N, out.Wait, out.Reset = int(n[0]), millis(n[1]), millis(n[2])
	case Config:
		out = Out{Done: n[0] > 0, Rate: rate(n[0], n[1], n[3])}
	default:
		out.Done = n[0] == 1
	}
	return []Out{out}, nil
}

// numbers returns the numbers of a reply, or the only one. Nil counts as zero: the client judges other replies.
func numbers(reply backend.Reply) (n [4]int64) {
	items, err := reply.Items()
	if err != nil {
		items = []backend.Reply{reply}
	}
	for i, item := range items {
		n[i], _ = item.Int()
	}
	return n
}
