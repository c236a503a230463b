// Package throttle declares primitives.Throttle for the suite. Its model counts what is owed by whole numbers. In virtual
// time it knows how much of that time has freed. Elsewhere a permit is in use for a season. Waiters are a matter of
// hasptest/primitives: they go on by time, in an order that a declaration does not have.
package throttle

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// Promises are those of the doc comments of package primitives.
var Promises = map[string]string{
	"Throttle.Rate": `In k intervals, whenever they begin, at most k times the permits of the rate and one burst are
granted, exactly, also if the permits do not divide the interval, and over callers with other limits. A server's clock
that is set back costs the time of one burst at most, and gives nothing.`,
	"Throttle.Refusals": `A refusal takes nothing. It says to the microsecond when the permits are free.`,
	"Throttle.Wire":     `The key has one text, and ends when all permits are free, and not before.`,
}

// The operations.
const (
	Take   = "take"
	Query  = "query"
	Delete = "delete"
)

// In is an input of a throttle.
type In struct {
	Op    string
	N     int // of Take
	Limit primitives.Limit
}

// Out is an answer. Now is known of scripts alone.
type Out struct {
	Done         bool
	Remaining    int
	Retry, Reset time.Duration
	Now          int64
}

// Debt is a throttle at the time of its last grant: its text, in microseconds.
type Debt struct{ At, Owed, Parts, Of int64 }

// state is the state of one throttle.
type state = engine.State[Debt]

const (
	season = 90 * 24 * time.Hour
	noTime = 1 // of a grant whose time is not known; in microseconds
)

// farAway is the time of a grant before the server's clock was set back.
var farAway = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// Primitive declares the throttle.
var Primitive engine.Subject = &engine.Primitive[Debt, In, Out]{
	Name: "Throttle", Promises: Promises, Limit: "Throttle.Rate", Special: cases(), Hasty: true,
	Some: engine.New(Debt{At: farAway, Owed: season.Microseconds()}), NoTexts: []string{"7", "1 2 94608000000001", "1 2 3 3", "1 2 3 3 3", "1 2 1e5", "1 2 3  1"},
	Step: step, Verb: func(in In) string { return in.Op }, Asks: asks, Answers: answers, Stored: stored, Peer: peer,
	CallerView: func(out Out) Out { out.Now = 0; return out },
	Ops: []engine.Op[Debt, In, Out]{
		{Name: "Allow", Weight: 6, Generate: draw(Take), Call: call, Refuses: badInputs},
		{Name: "State", Weight: 2, Generate: draw(Query), Call: call, Queries: true, Refuses: badInputs[2:]},
		{Name: "Delete", Weight: 1, Generate: draw(Delete), Call: call, WriteOnly: true},
	},
}

// badInputs are inputs that are refused.
var badInputs = []In{
	{Op: Take, Limit: limit(1, time.Second, 1)}, {Op: Take, N: -1, Limit: limit(1, time.Second, 1)},
	{Op: Take, N: 1, Limit: limit(0, time.Second, 1)}, {Op: Take, N: 1, Limit: limit(1, time.Second, -1)},
	{Op: Take, N: 1, Limit: limit(1, time.Microsecond, 1)}, {Op: Take, N: 1, Limit: limit(1, season, 13)},
}

func limit(permits int, interval time.Duration, burst int) primitives.Limit {
	return primitives.Limit{Permits: permits, Interval: interval, Burst: burst}
}

// limits are those that are drawn where times are exact. Most of their permits take no whole number of microseconds.
var limits = []primitives.Limit{
	limit(3, time.Second, 4), limit(7, 100*time.Millisecond, 3), limit(1, 250*time.Millisecond, 1), limit(600, time.Second, 20),
	limit(9, 10*time.Minute, 9), limit(3, 1001*time.Microsecond, 5),
}

// draw draws all that an operation may need.
func draw(op string) func(engine.Params[Debt]) In {
	return func(d engine.Params[Debt]) In {
		ms := int(d.For.Milliseconds())
		in := In{Op: op, Limit: limit(1, season, 1+d.Which)}
		if !d.At.IsZero() {
			in.Limit = limits[d.Which]
		}
		in.N = 1 + ms%in.Limit.Burst
		if d.Flag {
			in.N = 1
		}
		return in
	}
}

// peer is a caller with another limit, which has taken some permits.
func peer(d engine.Params[Debt]) (c engine.Change[Debt], ok bool) {
	v := Debt{At: farAway, Owed: int64(1+d.Which%4) * season.Microseconds()}
	if !d.At.IsZero() {
		v = Debt{At: d.At.UnixMicro(), Owed: d.For.Microseconds(), Parts: int64(d.Which), Of: 7 * min(1, int64(d.Which))}
	}
	c.Next, c.Life = engine.New(v), v.life()
	return c, true
}

// life is how long a text exists: in milliseconds, and not too short.
func (v Debt) life() time.Duration { return time.Duration((v.Owed+999)/1000+1) * time.Millisecond }

// step is the model: there is one right answer. Without a time a season is as good as a little less.
func step(s state, at time.Time, in In, out Out) (state, bool) {
	if s.Kind == engine.Other {
		return s, false
	}
	now := at.UnixMicro()
	if at.IsZero() {
		now = noTime
	}
	next, want := after(s, at, now, in)
	if at.IsZero() {
		alike := aLittleLess(out.Retry, want.Retry) && aLittleLess(out.Reset, want.Reset)
		return next, alike && out.Done == want.Done && out.Remaining == want.Remaining
	}
	if out.Now != 0 {
		want.Now = now
	}
	return next, out == want
}

// aLittleLess reports whether a time is another one, of which a test has passed.
func aLittleLess(got, want time.Duration) bool {
	return got == want || got < want && got > want-time.Hour
}

// after returns the throttle after an input, and the answer. It counts in the parts into which the permits of an
// interval divide a microsecond: so a permit takes as many parts as the interval has microseconds.
func after(s state, at time.Time, now int64, in In) (state, Out) {
	if in.Op == Delete {
		return s.Gone(nil), Out{Done: s.Kind == engine.Present}
	}
	permit, of, v := in.Limit.Interval.Microseconds(), int64(in.Limit.Permits), s.V
	if v.Parts > 0 && v.Of != of {
		v = Debt{At: v.At, Owed: v.Owed + 1}
	}
	debt, most := max(0, (v.Owed-max(0, now-v.At))*of+v.Parts), permit*int64(in.Limit.Burst)
	wanted := int64(1)
	if in.Op == Take {
		wanted = int64(in.N)
	}
	late := max(0, debt+wanted*permit-most)
	taken := in.Op == Take && late == 0
	if taken {
		debt += wanted * permit
	}
	if taken || in.Op == Take && v.At > now {
		v = Debt{At: now, Owed: debt / of, Parts: debt % of, Of: of * min(1, debt%of)}
		s = engine.New(v).Until(at.Add(v.life()))
	}
	return s, Out{
		Done: late == 0, Remaining: int(max(0, most-debt) / permit), Retry: micros((late + of - 1) / of), Reset: micros((debt + of - 1) / of),
	}
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// stored is the throttle's key.
func stored(key string, s state) []engine.Key {
	own := engine.Key{Name: key}
	if s.Kind == engine.Present {
		own.Text = fmt.Sprint(s.V.At/1e6, " ", s.V.At%1e6, " ", s.V.Owed)
	}
	if s.V.Parts > 0 {
		own.Text += fmt.Sprint(" ", s.V.Parts, " ", s.V.Of)
	}
	if s.V.At == noTime {
		own.Equal = func(text string) bool {
			var seconds, rest, owed int64
			n, err := fmt.Sscan(text, &seconds, &rest, &owed)
			return n == 3 && err == nil && aLittleLess(micros(owed), micros(s.V.Owed))
		}
	}
	return []engine.Key{own}
}

// call calls the method of an operation.
func call(ctx context.Context, c *primitives.Client, name string, in In) (Out, error) {
	x := c.NewThrottle(name, in.Limit, &primitives.ThrottleOptions{Unavailable: primitives.Refuse(), Timeout: time.Hour})
	if in.Op == Delete {
		deleted, err := x.Delete(ctx)
		return Out{Done: deleted}, err
	}
	ask := x.State
	if in.Op == Take {
		ask = func(ctx context.Context) (primitives.Decision, error) { return x.Allow(ctx, in.N) }
	}
	d, err := ask(ctx)
	return Out{Done: d.Allowed, Remaining: d.Remaining, Retry: d.RetryAfter, Reset: d.ResetAfter}, err
}

// asks returns the input of a script.
func asks(s *engine.Script) []In {
	var n []int64 // The arguments that are numbers.
	for _, text := range s.Args {
		whole, _ := strconv.ParseInt(text, 10, 64)
		n = append(n, whole)
	}
	switch s.Name {
	case "throttle_take":
		return []In{{Op: Take, N: int(n[0]), Limit: limit(int(n[1]), micros(n[2]), int(n[3]))}}
	case "throttle_state":
		return []In{{Op: Query, Limit: limit(int(n[0]), micros(n[1]), int(n[2]))}}
	case "object_delete":
		return []In{{Op: Delete}}
	}
	return nil
}

// answers returns the answer of a script.
func answers(s *engine.Script) ([]Out, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	if s.Name == "object_delete" {
		n, err := engine.Number(s)
		return []Out{{Done: n == 1}}, err
	}
	items := must.Get(s.Reply.Items())
	last := func(i int) int64 {
		item := items[len(items)-i]
		if s.Name == "throttle_state" {
			item = must.Get(item.Tuple(1))[0]
		}
		return must.Get(item.Int())
	}
	out := Out{Remaining: int(last(3)), Retry: micros(last(2)), Reset: micros(last(1))}
	out.Done = out.Retry == 0
	if s.Name == "throttle_take" {
		must.Not(must.Get(items[0].Bool()) != out.Done, "taken: %v, and again in %v", items[0], out.Retry)
		out.Now = must.Get(items[1].Int())
	}
	return []Out{out}, nil
}

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
		r = append(r, c.NewThrottle(name, limit(1, season, 3), &primitives.ThrottleOptions{Unavailable: primitives.Refuse(), Timeout: time.Hour}))
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
