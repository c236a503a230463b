// Package limiter declares primitives.RateLimiter for the suite: its promises, its model, its operations, and
// the cases that are its alone. In virtual time the model knows each grant, and when it is old; elsewhere
// intervals are endless, so that permits come back by releases alone.
package limiter

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// Op is what happens to a limiter.
type Op string

// What happens to a limiter.
const (
	Acquire   Op = "acquire"
	Release   Op = "release"
	Set       Op = "set"
	Available Op = "available"
	Config    Op = "config"
	Delete    Op = "delete"
)

// Of is a rate: permits of an interval, and how long the limiter lives, both in milliseconds.
type Of struct{ Permits, Interval, Alive int64 }

// In is one thing that happens to a limiter.
type In struct {
	Op             Op
	N              int64 // how many permits
	Rate           Of    // of Set
	Create, Change bool  // of Set
	Make           Of    // of Acquire: of a limiter that it makes; zero: it makes none

	// Of a script that acquires: its grant, and what those need who wait besides.
	Grant        ID
	Least, Spare int64
}

// Out is the answer.
type Out struct {
	Done            bool  // of Acquire, Set, Config and Delete
	N               int64 // of Available
	Released        int64 // of a script that releases
	Rate            Of    // of Config
	Left, Wait      int64 // of a script that acquires
	NoRate, TooMany bool  // errors
}

// state is that of one limiter.
type state = engine.State[Limit]

// dice are what an operation is drawn by.
type dice = engine.Dice[Limit]

// long is longer than any test, in milliseconds.
const long = 1000 * 60 * 60 * 1000

// Primitive declares the rate limiter.
var Primitive engine.Subject = &engine.Primitive[Limit, In, Out]{
	Name:      "RateLimiter",
	Promises:  Promises,
	Limit:     "RateLimiter.Rate",
	Init:      engine.New(Limit{Rate: 4, Interval: long, Free: 4}),
	Some:      engine.New(Limit{Rate: 4, Interval: long, Free: 4}),
	Step:      step,
	Ages:      ages,
	Verb:      func(in In) string { return string(in.Op) },
	Asks:      asks,
	Answers:   answers,
	Told:      func(out Out) Out { out.Left, out.Wait, out.Released = 0, 0, 0; return out },
	Granted:   func(out Out) bool { return out.Done },
	Stored:    stored,
	Channel:   func(_ backend.Capabilities, key string) string { return engine.SideName("hasp_rate_limiter:", key) },
	Published: published,
	Ops: []engine.Op[Limit, In, Out]{
		{Name: "TrySetRate", Apart: true, Often: 1, Draw: drawSet(true, false), Call: setRate, Refuses: badRates(true, false)},
		{Name: "SetRate", Apart: true, Often: 2, Draw: drawSet(true, true), Call: setRate, Refuses: badRates(true, true)},
		{Name: "UpdateRate", Apart: true, Often: 1, Draw: drawSet(false, true), Call: setRate, Refuses: badRates(false, true)},
		{Name: "TryAcquire", Often: 3, Draw: drawAcquire, Call: tryAcquire, Tries: true, Back: back},
		{Name: "Acquire", Often: 3, Draw: drawAcquire, Call: acquireOne, Waits: true, Back: back, Refuses: []In{{Op: Acquire}, {Op: Acquire, N: -1}}},
		{Name: "TryAcquire, or make", Often: 1, Draw: drawOrMake, Call: tryAcquire, Tries: true, Back: back},
		{Name: "Acquire, or make", Often: 1, Draw: drawOrMake, Call: acquireOne, Waits: true, Back: back, Refuses: []In{{Op: Acquire, N: 1, Make: Of{Permits: -1}}}},
		{Name: "Release", Apart: true, Often: 2, Draw: drawRelease, Call: releaseSome, Refuses: []In{{Op: Release}, {Op: Release, N: -1}}},
		{Name: "AvailablePermits", Often: 1, Draw: draw(Available), Call: available},
		{Name: "Config", Often: 1, Draw: draw(Config), Call: config},
		{Name: "Delete", Apart: true, Often: 1, Draw: draw(Delete), Call: remove},
	},
	Ready:   func(s state, in In) bool { return s.Kind == engine.Present && in.N <= s.V.Rate && in.N <= s.V.Free },
	Blocks:  blocks,
	Frees:   func(state) (In, bool) { return In{Op: Release, N: 2}, true },
	Peer:    peer,
	Special: cases(),
}

// stored are a limiter's keys: those of what it has granted are there if there are grants.
func stored(key string, s state) []engine.Key {
	side := engine.SideName("", key)
	own := engine.Key{Name: key}
	value, grants := engine.Key{Name: side + ":value"}, engine.Key{Name: side + ":permits"}
	if s.Kind != engine.Present {
		return []engine.Key{own, value, grants}
	}
	own.Fields = map[string]string{
		"rate": fmt.Sprint(s.V.Rate), "interval": fmt.Sprint(s.V.Interval), "type": "0",
		"keepAliveTime": fmt.Sprint(s.V.Alive),
	}
	all := s.V.Grants.All()
	if len(all) == 0 {
		return []engine.Key{own, value, grants}
	}
	value.Text, grants.Set = fmt.Sprint(s.V.value()), map[string]int64{}
	value.Ends, grants.Ends = s.Ends, s.Ends
	for _, one := range all {
		grants.Set[one.ID.member(one.N)] = one.At
		if one.ID == noID { // Only how many is known.
			grants.Ranked = func(scores map[string]string) bool {
				var sum int64
				for member := range scores {
					_, n := unmember(member)
					sum += n
				}
				return sum == permits(all)
			}
		}
	}
	return []engine.Key{own, value, grants}
}

// published is how many permits no grant has after a release, or what makes all look.
func published(before, after state, in In) string {
	switch {
	case before.Kind != engine.Present:
		return ""
	case in.Op == Set && in.Change, in.Op == Delete:
		return "2147483647"
	case in.Op == Release && before.V.Free < before.V.Rate && after.V.value() > 0:
		return fmt.Sprint(after.V.value())
	}
	return ""
}

// blocks takes all permits that are free.
func blocks(s state) (In, bool) {
	if s.Kind == engine.Absent {
		return In{Op: Acquire, N: 1, Make: Of{1, long, 0}}, true
	}
	return In{Op: Acquire, N: s.V.Free}, s.V.Free > 0
}

// peer changes a limiter as another program does, with a message or without.
func peer(d dice) (c engine.Change[Limit], ok bool) {
	l, at := d.Now.V, clockAt(d.At)
	all := l.Grants.All()
	switch d.Which {
	case 0, 1: // It takes one.
		all = at.with(all, 1, ID(fmt.Sprintf("\x10%014d%02d", d.At.UnixMicro()%1e14, len(all)%100)))
		ok = l.Free > 0
	case 2, 3: // It puts all back.
		all, ok = nil, len(all) > 0
	case 4: // It is another limiter.
		l.Rate, l.Interval, l.Alive, all = 2, long, 0, nil
		ok = true
	case 5: // None.
		return c, true
	}
	l.Grants = grantsOf(all)
	c.Next = engine.New(l.at(at)).Until(d.Now.Ends)
	if l.Alive == 0 {
		c.Next.Ends = time.Time{}
	}
	if d.Flag && ok && c.Next.V.Free > 0 {
		c.Message = fmt.Sprint(c.Next.V.Free)
	}
	return c, ok && d.Now.Kind == engine.Present && l.Alive == 0 // Else it would have to mind its life.
}

// back puts back what was taken.
func back(in In, out Out) (In, bool) { return In{Op: Release, N: in.N}, out.Done }

// asks returns what a script asks.
func asks(s *engine.Script) []In {
	args := make([]int64, len(s.Args))
	for i, text := range s.Args {
		args[i], _ = strconv.ParseInt(text, 10, 64)
	}
	switch s.Name {
	case "rate_acquire":
		id, _ := unmember(s.Args[1])
		in := In{Op: Acquire, N: args[0], Grant: id, Least: args[2], Spare: args[3]}
		if args[4] > 0 {
			in.Make = Of{args[4], args[5], args[7]}
		}
		return []In{in}
	case "rate_set":
		return []In{{Op: Set, Rate: Of{args[0], args[1], args[3]}, Create: args[4] == 1, Change: args[5] == 1}}
	case "rate_release":
		return []In{{Op: Release, N: args[0]}}
	}
	op, ok := map[string]Op{"rate_available": Available, "rate_config": Config, "rate_delete": Delete}[s.Name]
	if !ok {
		return nil
	}
	return []In{{Op: op}}
}

// answers returns what a script answers.
func answers(s *engine.Script) ([]Out, error) {
	var server *backend.ServerError
	switch {
	case errors.As(s.Err, &server) && server.Code == "NORATE":
		return []Out{{NoRate: true}}, nil
	case errors.As(s.Err, &server) && server.Code == "TOOMANY":
		return []Out{{TooMany: true}}, nil
	case s.Err != nil:
		return nil, s.Err
	case s.Name == "rate_acquire":
		all := numbers(s.Reply, 3)
		return []Out{{Done: all[0] == 1, Left: all[1], Wait: all[2]}}, nil
	case s.Name == "rate_config":
		all := numbers(s.Reply, 4)
		return []Out{{Done: all[0] > 0, Rate: Of{all[0], all[1], all[3]}}}, nil
	}
	n, err := engine.Number(s)
	switch s.Name {
	case "rate_release":
		return []Out{{Released: n}}, err
	case "rate_available":
		return []Out{{N: n}}, err
	}
	return []Out{{Done: n == 1}}, err
}

// numbers returns those of a reply of n. What is not there is 0.
func numbers(reply backend.Reply, n int) []int64 {
	all := make([]int64, n)
	for i, item := range must.Get(reply.Tuple(n)) {
		if !item.IsNil() {
			all[i] = must.Get(item.Int())
		}
	}
	return all
}

func draw(op Op) func(dice) In { return func(dice) In { return In{Op: op} } }

func drawAcquire(d dice) In {
	needs := []int64{1, 1, 1, 2, 3, 5} // Mostly one.
	if d.At.IsZero() {
		needs[5] = 4 // In a history an error may be an answer that was lost.
	}
	return In{Op: Acquire, N: needs[(d.Which+int(d.For.Milliseconds()))%len(needs)]}
}

func drawOrMake(d dice) In {
	in := drawAcquire(d)
	in.Make = drawRate(d)
	return in
}

func drawRelease(d dice) In { return In{Op: Release, N: int64(1 + d.Which%3)} }

func drawSet(create, change bool) func(dice) In {
	return func(d dice) In { return In{Op: Set, Rate: drawRate(d), Create: create, Change: change} }
}

// drawRate draws one with a short interval where time is exact.
func drawRate(d dice) Of {
	rate := Of{Permits: []int64{4, 1, 2, 3, 5, 4}[d.Which], Interval: long}
	if clockAt(d.At).exact {
		rate.Interval = []int64{1000, 100, 250, 1000, 60000, long}[int(d.For.Milliseconds())%6]
	}
	if d.Flag {
		rate.Alive = rate.Interval + d.For.Milliseconds()
	}
	return rate
}

// badRates are what cannot be set.
func badRates(create, change bool) (all []In) {
	for _, rate := range []Of{{}, {-1, 1000, 0}, {1, 0, 0}, {1, 1000, 999}} {
		all = append(all, In{Op: Set, Rate: rate, Create: create, Change: change})
	}
	return all
}

// rate returns a rate as primitives have it.
func (r Of) rate() primitives.Rate {
	return primitives.Rate{Permits: int(r.Permits), Interval: millis(r.Interval), KeepAlive: millis(r.Alive)}
}

// limiter returns the one that in asks.
func limiter(c *primitives.Client, name string, in In) *primitives.RateLimiter {
	return c.NewRateLimiter(name, &primitives.RateLimiterOptions{Rate: in.Make.rate()})
}

func setRate(ctx context.Context, c *primitives.Client, name string, in In) (out Out, err error) {
	l := limiter(c, name, in)
	switch {
	case in.Create && in.Change:
		err = l.SetRate(ctx, in.Rate.rate())
		return Out{Done: err == nil}, err
	case in.Create:
		out.Done, err = l.TrySetRate(ctx, in.Rate.rate())
	default:
		out.Done, err = l.UpdateRate(ctx, in.Rate.rate())
	}
	return out, err
}

func acquireOne(ctx context.Context, c *primitives.Client, name string, in In) (Out, error) {
	err := limiter(c, name, in).Acquire(ctx, int(in.N))
	return Out{Done: err == nil}, err
}

func tryAcquire(ctx context.Context, c *primitives.Client, name string, in In) (Out, error) {
	err := limiter(c, name, in).TryAcquire(ctx, int(in.N))
	return Out{Done: err == nil}, err
}

func releaseSome(ctx context.Context, c *primitives.Client, name string, in In) (Out, error) {
	return Out{}, limiter(c, name, in).Release(ctx, int(in.N))
}

func available(ctx context.Context, c *primitives.Client, name string, in In) (Out, error) {
	n, err := limiter(c, name, in).AvailablePermits(ctx)
	return Out{N: int64(n)}, err
}

func config(ctx context.Context, c *primitives.Client, name string, in In) (Out, error) {
	rate, ok, err := limiter(c, name, in).Config(ctx)
	return Out{
		Done: ok, Rate: Of{int64(rate.Permits), rate.Interval.Milliseconds(), rate.KeepAlive.Milliseconds()},
	}, err
}

func remove(ctx context.Context, c *primitives.Client, name string, in In) (out Out, err error) {
	out.Done, err = limiter(c, name, in).Delete(ctx)
	return out, err
}
