// Package semaphore declares primitives.Semaphore for the suite: its promises, its model, its operations, and the
// cases that are a semaphore's alone. In histories the model also has the requests whose answers were lost.
package semaphore

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// Op is what happens to a semaphore.
type Op string

// What happens to a semaphore.
const (
	Acquire   Op = "acquire"
	Add       Op = "add"
	Drain     Op = "drain"
	Set       Op = "set"
	Available Op = "available"
	Delete    Op = "delete"
)

// In is one thing that happens to a semaphore.
type In struct {
	Op   Op
	N    int64 // how many permits
	Make bool  // of Add: even if there is no semaphore
	Of   int64 // of Acquire: the permits of a semaphore that it makes; 0: it makes none
}

// Out is the answer.
type Out struct {
	Done     bool  // of all but Drain and Available
	N        int64 // of Drain and Available
	Left     int64 // of Acquire: how many are free then
	Overflow bool  // of Add
}

// Permits is a semaphore at one time.
type Permits struct {
	Free   int64
	Doubts engine.List[doubt] // in an order of their own
}

// state is the state of one semaphore.
type state = engine.State[Permits]

// permits is the number of permits that a semaphore has at first.
const permits = 4

// Promises are those of the doc comments of package primitives.
var Promises = map[string]string{
	"Semaphore.Counts": `Permits are counted by the server and owned by nobody. A semaphore that does not exist
has none. An overflow, and a key of another kind, are typed errors and change nothing. The end of its life stays.`,
	"Semaphore.Limit": `No more permits are held at any time than there are.`,
	"Semaphore.Waiting": `A release wakes as many waiters as can use the free permits, on every client. A waiter for
many holds up none for few. A waiter gets its permits once they are free and no other client takes them: by a
message, by another waiter, or by a bounded poll.`,
	"Semaphore.GivingBack": `After an error nothing is acquired, unless it says that the outcome is unknown. The
permits of a cancelled acquire come back. A release is sent even if its context ends. Nothing is sent twice.`,
	"Semaphore.Wire": `The key is Redisson's decimal count and its messages are the number of free permits, at
least 1.`,
}

// Primitive declares the semaphore.
var Primitive engine.Subject = &engine.Primitive[Permits, In, Out]{
	Name: "Semaphore", Promises: Promises, Limit: "Semaphore.Limit", Special: cases(),
	Init: engine.New(Permits{Free: permits}), Some: engine.New(Permits{Free: permits}),
	NoTexts: []string{"1.5", "abc", "99999999999"},
	Step:    step, Verb: func(in In) string { return string(in.Op) },
	Asks: asks, Answers: answers, Granted: func(out Out) bool { return out.Done },
	CallerView: func(out Out) Out { out.Left = 0; return out },
	Stored:     stored, Published: published,
	Channel: func(_ backend.Capabilities, key string) string { return engine.SideName("redisson_sc:", key) },
	Ops: []engine.Op[Permits, In, Out]{
		{Name: "TryAcquire", Weight: 2, Generate: drawAcquire, Call: call, Tries: true, Back: back},
		{Name: "Acquire", Weight: 2, Generate: drawAcquire, Call: acquire, Waits: true, Back: back, Refuses: []In{{Op: Acquire}, {Op: Acquire, N: -1}}},
		{Name: "TryAcquire, or make", Weight: 1, Generate: drawAcquireOrMake, Call: call, Tries: true, Back: back},
		{Name: "Acquire, or make", Weight: 1, Generate: drawAcquireOrMake, Call: acquire, Waits: true, Back: back, Refuses: []In{{Op: Acquire, N: 1, Of: -1}}},
		{Name: "Release", ExcludeFromHistory: true, Generate: draw(Add, 1), Call: release, SentAfterCancel: true, Refuses: []In{{Op: Add, Make: true}, {Op: Add, N: -1}}},
		{Name: "AddPermits", ExcludeFromHistory: true, Weight: 2, Generate: draw(Add, 1, 2, 5, -1, -2, math.MaxInt32), Call: call, SentAfterCancel: true},
		{Name: "DrainPermits", Weight: 1, Generate: draw(Drain, 0), Call: call, Back: back},
		{Name: "InitPermits", ExcludeFromHistory: true, Weight: 1, Generate: draw(Set, 0, 1, 2, 3, 4, 5), Call: call, WriteOnly: true, Refuses: []In{{Op: Set, N: -1}}},
		{Name: "AvailablePermits", Weight: 1, Generate: draw(Available, 0), Call: call},
		{Name: "Delete", ExcludeFromHistory: true, Weight: 1, Generate: draw(Delete, 0), Call: call, WriteOnly: true},
	},
	Lived:  func(c *primitives.Client, name string) engine.Lived { return c.NewSemaphore(name, nil) },
	Ready:  func(s state, in In) bool { s = made(s, in); return s.Kind == engine.Present && s.V.Free >= in.N },
	Blocks: func(state) (In, bool) { return In{}, false },
	Frees:  func(state) (In, bool) { return In{Op: Add, N: 2, Make: true}, true },
	Peer:   peer,
	Doubt:  doubted,
	Unseen: unseen,
	Takes: &engine.Takes[Permits, In, Out]{
		Count: func(s state) int64 { return s.V.Free },
		Took:  took,
		Puts:  func(in In) (int64, bool, bool) { return in.N, in.Make, in.Op == Add },
		Back:  func(n int64, create bool) In { return In{Op: Add, N: n, Make: create} },
	},
}

// made returns the semaphore that an acquire finds, or makes.
func made(s state, in In) state {
	if s.Kind == engine.Absent && in.Of > 0 {
		return is(s, in.Of)
	}
	return s
}

// is returns s with so many free permits.
func is(s state, free int64) state {
	s.V.Free = free
	return s.Is(s.V)
}

// step is the model.
func step(s state, _ time.Time, in In, out Out) (state, bool) {
	if s.Kind == engine.Other {
		return s, false
	}
	next, want := after(s, in)
	if !want.Done || out.Left == 0 { // A caller does not get it.
		want.Left = out.Left
	}
	return next, out == want
}

// after returns the next state, and the answer.
func after(s state, in In) (next state, out Out) {
	there := s.Kind == engine.Present
	switch in.Op {
	case Acquire:
		s = made(s, in)
		if out.Done = s.Kind == engine.Present && s.V.Free >= in.N; out.Done {
			s = is(s, s.V.Free-in.N)
		}
		out.Left = s.V.Free
	case Drain:
		if out.N = max(s.V.Free, 0); out.N > 0 {
			s = is(s, s.V.Free-out.N)
		}
	case Available:
		out.N = s.V.Free
	case Set:
		if out.Done = !there; out.Done {
			s = is(s, in.N)
		}
	case Delete:
		s, out.Done = s.Gone(nil), there
	case Add:
		sum := s.V.Free + in.N
		out.Overflow = (there || in.Make) && (sum > math.MaxInt32 || sum < math.MinInt32)
		if out.Done = (there || in.Make) && !out.Overflow; out.Done {
			s = is(s, sum)
		}
	}
	return s, out
}

// doubt is a request without an answer.
type doubt struct {
	op    Op
	n     int64
	left  bool  // its caller has left: the permits that it takes come back, and it may be sent again
	taken int64 // the permits that may come back
}

func doubted(p Permits, in In, left bool) Permits {
	if in.Op == Available {
		return p
	}
	return p.with(doubt{op: in.Op, n: in.N, left: left && in.Op != Add})
}

// with returns p with one more request in doubt.
func (p Permits) with(d doubt) Permits {
	all := append(p.Doubts.All(), d)
	slices.SortFunc(all, func(a, b doubt) int { return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	p.Doubts = engine.ListOf(all...)
	return p
}

// unseen returns what may come next without an answer: one of the requests in doubt happens, or the permits
// that it took come back.
func unseen(p Permits) (next []Permits) {
	all := p.Doubts.All()
	for i, d := range all {
		after := Permits{p.Free, engine.ListOf(slices.Delete(slices.Clone(all), i, i+1)...)}
		n := d.n
		if d.op == Drain {
			n = p.Free
		}
		switch {
		case d.taken > 0:
			after.Free += d.taken
			d.taken = 0
			after = after.with(d)
		case d.op == Add:
			after.Free += n
		case n <= 0 || n > p.Free:
			continue
		case d.left:
			d.taken = n
			after = after.with(d)
			fallthrough
		default:
			after.Free -= n
		}
		next = append(next, after)
	}
	return next
}

// published is the number of free permits, if there are more.
func published(before, after state, in In) string {
	more := in.Op == Add && in.N > 0 || in.Op == Set || before.Kind == engine.Absent
	if before == after || !more || after.V.Free < 1 {
		return ""
	}
	return strconv.FormatInt(after.V.Free, 10)
}

func stored(key string, s state) []engine.Key {
	if s.Kind != engine.Present {
		return []engine.Key{{Name: key}}
	}
	return []engine.Key{{Name: key, Text: strconv.FormatInt(s.V.Free, 10)}}
}

// peer has another program change the number, with a message or without.
func peer(d engine.Params[Permits]) (c engine.Change[Permits], ok bool) {
	free := d.Now.V.Free + []int64{1, 1, 2, 5, -1, -3}[d.Which]
	c.Next = engine.New(Permits{Free: free})
	if d.Flag && free > 0 {
		c.Message = strconv.FormatInt(free, 10)
	}
	return c, free <= math.MaxInt32
}

// took is the number of permits that a request has taken.
func took(in In, out Out) int64 {
	switch {
	case in.Op == Acquire && out.Done:
		return in.N
	case in.Op == Drain:
		return out.N
	}
	return 0
}

// back puts the taken permits back.
func back(in In, out Out) (In, bool) {
	n := took(in, out)
	return In{Op: Add, N: n, Make: true}, n > 0
}

// asks returns the request of a script.
func asks(s *engine.Script) []In {
	op, ok := map[string]Op{
		"semaphore_acquire": Acquire, "semaphore_set_and_acquire": Acquire, "semaphore_add": Add, "semaphore_drain": Drain,
		"semaphore_set": Set, "semaphore_available": Available, "object_delete": Delete,
	}[s.Name]
	if !ok {
		return nil
	}
	in := In{Op: op}
	if len(s.Args) > 0 && op != Delete {
		in.N, _ = strconv.ParseInt(s.Args[0], 10, 64)
	}
	in.Make = op == Add && s.Args[1] == "1"
	if s.Name == "semaphore_set_and_acquire" {
		in.Of, _ = strconv.ParseInt(s.Args[1], 10, 64)
	}
	return []In{in}
}

// answers returns the answer of a script.
func answers(s *engine.Script) ([]Out, error) {
	switch {
	case engine.IsOverflow(s.Err):
		return []Out{{Overflow: true}}, nil
	case s.Err != nil:
		return nil, s.Err
	case s.Name == "semaphore_acquire", s.Name == "semaphore_set_and_acquire":
		items := must.Get(s.Reply.Tuple(2))
		return []Out{{Done: must.Get(items[0].Int()) == 1, Left: must.Get(items[1].Int())}}, nil
	}
	n, err := engine.Number(s)
	if s.Name == "semaphore_drain" || s.Name == "semaphore_available" {
		return []Out{{N: n}}, err
	}
	return []Out{{Done: n == 1}}, err
}

// draw draws one of some numbers of permits.
func draw(op Op, n ...int64) func(engine.Params[Permits]) In {
	return func(d engine.Params[Permits]) In { return In{Op: op, N: n[d.Which%len(n)], Make: op == Add} }
}

func drawAcquire(d engine.Params[Permits]) In {
	needs := []int64{1, 1, 1, 2, 3, 5} // Mostly one.
	return In{Op: Acquire, N: needs[(d.Which+int(d.For.Milliseconds()))%len(needs)]}
}

func drawAcquireOrMake(d engine.Params[Permits]) In {
	in := drawAcquire(d)
	in.Of = int64(1 + d.Which/2) // Less than some need.
	return in
}

func of(c *primitives.Client, name string, in In) *primitives.Semaphore {
	return c.NewSemaphore(name, &primitives.SemaphoreOptions{Permits: int(in.Of)})
}

func acquire(ctx context.Context, c *primitives.Client, name string, in In) (Out, error) {
	return Out{Done: true}, of(c, name, in).Acquire(ctx, int(in.N))
}

func release(ctx context.Context, c *primitives.Client, name string, in In) (out Out, err error) {
	if in.Make {
		return Out{Done: true}, of(c, name, in).Release(ctx, int(in.N))
	}
	out.Done, err = of(c, name, in).ReleaseIfExists(ctx, int(in.N))
	return out, err
}

// call calls the method that in asks for, which neither waits nor releases.
func call(ctx context.Context, c *primitives.Client, name string, in In) (Out, error) {
	s, n, done := of(c, name, in), int(in.N), true
	var err error
	switch in.Op {
	case Acquire:
		err = s.TryAcquire(ctx, n)
	case Add:
		err = s.AddPermits(ctx, n)
	case Set:
		done, err = s.InitPermits(ctx, n)
	case Delete:
		done, err = s.Delete(ctx)
	case Drain:
		n, err = s.DrainPermits(ctx)
		return Out{N: int64(n)}, err
	default:
		n, err = s.AvailablePermits(ctx)
		return Out{N: int64(n)}, err
	}
	return Out{Done: done}, err
}
