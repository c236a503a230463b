// Package semaphore declares primitives.Semaphore for the suite: its promises, its model, its
// operations, what is taken that has no owner, and the cases that are a semaphore's alone. In histories
// the model also holds what is in doubt: takes and releases without an answer, by their permits.
package semaphore

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
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
	Make bool  // of Add: also where there is no semaphore
	Of   int64 // of Acquire: the permits of a semaphore that it makes; 0: it makes none
}

// Out is the answer.
type Out struct {
	Done     bool  // of all but Drain and Available
	N        int64 // of Drain and Available
	Left     int64 // of Acquire: how many are free then
	Overflow bool  // of Add
}

// state is that of one semaphore: how many permits are free.
type state = engine.State[Permits]

// permits is how many permits a semaphore has at first.
const permits = 4

// Primitive declares the semaphore.
var Primitive engine.Subject = &engine.Primitive[Permits, In, Out]{
	Name:      "Semaphore",
	Promises:  Promises,
	Init:      engine.New(Permits{Free: permits}),
	Some:      engine.New(Permits{Free: permits}),
	NoTexts:   []string{"1.5", "abc", "99999999999"},
	Special:   cases(),
	Step:      step,
	Verb:      func(in In) string { return string(in.Op) },
	Asks:      asks,
	Answers:   answers,
	Told:      func(out Out) Out { out.Left = 0; return out },
	Granted:   func(out Out) bool { return out.Done },
	Stored:    stored,
	Channel:   func(_ backend.Capabilities, key string) string { return engine.SideName("redisson_sc:", key) },
	Published: published,
	Ops: []engine.Op[Permits, In, Out]{
		{Name: "TryAcquire", Often: 2, Draw: drawAcquire, Call: tryAcquire, Tries: true, Back: back},
		{Name: "Acquire", Often: 2, Draw: drawAcquire, Call: acquire, Waits: true, Back: back, Refuses: []In{{Op: Acquire}, {Op: Acquire, N: -1}}},
		{Name: "TryAcquire, or make", Often: 1, Draw: drawAcquireOrMake, Call: tryAcquire, Tries: true, Back: back},
		{Name: "Acquire, or make", Often: 1, Draw: drawAcquireOrMake, Call: acquire, Waits: true, Back: back, Refuses: []In{{Op: Acquire, N: 1, Of: -1}}},
		{Name: "Release", Apart: true, Draw: drawOne, Call: release, Sure: true, Refuses: []In{{Op: Add, Make: true}, {Op: Add, N: -1}}},
		{Name: "AddPermits", Apart: true, Often: 2, Draw: drawAdd, Call: addPermits, Sure: true},
		{Name: "DrainPermits", Often: 1, Draw: draw(Drain), Call: drain, Back: back},
		{Name: "TrySetPermits", Apart: true, Often: 1, Draw: drawSet, Call: set, Blind: true, Refuses: []In{{Op: Set, N: -1}}},
		{Name: "AvailablePermits", Often: 1, Draw: draw(Available), Call: available},
		{Name: "Delete", Apart: true, Often: 1, Draw: draw(Delete), Call: remove, Blind: true},
	},
	Lived:  func(c *primitives.Client, name string) engine.Lived { return c.NewSemaphore(name, nil) },
	Ready:  func(s state, in In) bool { s = made(s, in); return s.Kind == engine.Present && s.V.Free >= in.N },
	Blocks: func(state) (In, bool) { return In{}, false },
	Frees:  func(state) (In, bool) { return In{Op: Add, N: 2, Make: true}, true },
	Peer:   peer,
	Doubt:  doubt,
	Unseen: unseen,
	Limit:  "Semaphore.Limit",
	Takes: &engine.Takes[Permits, In, Out]{
		Count: func(s state) int64 { return s.V.Free },
		Took:  took,
		Puts:  func(in In) (int64, bool, bool) { return in.N, in.Make, in.Op == Add },
		Back:  func(n int64, create bool) In { return In{Op: Add, N: n, Make: create} },
	},
}

// made returns what an acquire finds: what it has made, if there was no semaphore.
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
	there := s.Kind == engine.Present
	if s.Kind == engine.Other {
		return s, false
	}
	switch in.Op {
	case Acquire:
		s = made(s, in)
		enough := s.Kind == engine.Present && s.V.Free >= in.N
		if enough {
			s = is(s, s.V.Free-in.N)
		}
		return s, out.Done == enough && (out.Left == s.V.Free || !out.Done || out.Left == 0)
	case Drain:
		free := max(s.V.Free, 0)
		if free > 0 {
			s = is(s, s.V.Free-free)
		}
		return s, out.N == free
	case Available:
		return s, out.N == s.V.Free
	case Set:
		if !there {
			s = is(s, in.N)
		}
		return s, out.Done == !there
	case Delete:
		return s.Gone(nil), out.Done == there
	}
	return add(s, in, out)
}

func add(s state, in In, out Out) (state, bool) {
	if s.Kind == engine.Absent && !in.Make {
		return s, !out.Done && !out.Overflow
	}
	sum := s.V.Free + in.N
	if sum > math.MaxInt32 || sum < math.MinInt32 {
		return s, out.Overflow
	}
	return is(s, sum), out.Done
}

// published is the number of free permits, where there are more.
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

// peer makes the number another, with a message or without.
func peer(d engine.Dice[Permits]) (c engine.Change[Permits], ok bool) {
	free := d.Now.V.Free + []int64{1, 1, 2, 5, -1, -3}[d.Which]
	c.Next = engine.New(Permits{Free: free})
	if d.Flag && free > 0 {
		c.Message = strconv.FormatInt(free, 10)
	}
	return c, free <= math.MaxInt32
}

// took is how many permits something has taken.
func took(in In, out Out) int64 {
	switch {
	case in.Op == Acquire && out.Done:
		return in.N
	case in.Op == Drain:
		return out.N
	}
	return 0
}

// back puts back what was taken.
func back(in In, out Out) (In, bool) {
	n := took(in, out)
	return In{Op: Add, N: n, Make: true}, n > 0
}

// asks returns what a script asks.
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

// answers returns what a script answers.
func answers(s *engine.Script) ([]Out, error) {
	switch {
	case engine.IsOverflow(s.Err):
		return []Out{{Overflow: true}}, nil
	case s.Err != nil:
		return nil, s.Err
	case s.Name == "semaphore_acquire", s.Name == "semaphore_set_and_acquire":
		items, err := s.Reply.Tuple(2)
		if err != nil {
			return nil, err
		}
		taken, err := items[0].Int()
		left, _ := items[1].Int()
		return []Out{{Done: taken == 1, Left: left}}, err
	}
	n, err := engine.Number(s)
	if s.Name == "semaphore_drain" || s.Name == "semaphore_available" {
		return []Out{{N: n}}, err
	}
	return []Out{{Done: n == 1}}, err
}

func draw(op Op) func(engine.Dice[Permits]) In {
	return func(engine.Dice[Permits]) In { return In{Op: op} }
}

func drawAcquire(d engine.Dice[Permits]) In {
	needs := []int64{1, 1, 1, 2, 3, 5} // Mostly one.
	return In{Op: Acquire, N: needs[(d.Which+int(d.For.Milliseconds()))%len(needs)]}
}

func drawAcquireOrMake(d engine.Dice[Permits]) In {
	in := drawAcquire(d)
	in.Of = int64(1 + d.Which/2) // Less than some need.
	return in
}

func drawAdd(d engine.Dice[Permits]) In {
	return In{Op: Add, N: []int64{1, 2, 5, -1, -2, math.MaxInt32}[d.Which], Make: true}
}

func drawOne(engine.Dice[Permits]) In { return In{Op: Add, N: 1, Make: true} }

func drawSet(d engine.Dice[Permits]) In { return In{Op: Set, N: int64(d.Which)} }

func acquire(ctx context.Context, c *primitives.Client, name string, in In) (Out, error) {
	err := c.NewSemaphore(name, options(in)).Acquire(ctx, int(in.N))
	return Out{Done: err == nil}, err
}

func tryAcquire(ctx context.Context, c *primitives.Client, name string, in In) (Out, error) {
	err := c.NewSemaphore(name, options(in)).TryAcquire(ctx, int(in.N))
	return Out{Done: err == nil}, err
}

// options are those of one that makes a semaphore, or makes none.
func options(in In) *primitives.SemaphoreOptions {
	return &primitives.SemaphoreOptions{Permits: int(in.Of)}
}

func addPermits(ctx context.Context, c *primitives.Client, name string, in In) (Out, error) {
	err := c.NewSemaphore(name, nil).AddPermits(ctx, int(in.N))
	return Out{Done: err == nil}, err
}

func release(ctx context.Context, c *primitives.Client, name string, in In) (out Out, err error) {
	s := c.NewSemaphore(name, nil)
	if in.Make {
		err = s.Release(ctx, int(in.N))
		return Out{Done: err == nil}, err
	}
	out.Done, err = s.ReleaseIfExists(ctx, int(in.N))
	return out, err
}

func drain(ctx context.Context, c *primitives.Client, name string, _ In) (Out, error) {
	n, err := c.NewSemaphore(name, nil).DrainPermits(ctx)
	return Out{N: int64(n)}, err
}

func set(ctx context.Context, c *primitives.Client, name string, in In) (out Out, err error) {
	out.Done, err = c.NewSemaphore(name, nil).TrySetPermits(ctx, int(in.N))
	return out, err
}

func available(ctx context.Context, c *primitives.Client, name string, _ In) (Out, error) {
	n, err := c.NewSemaphore(name, nil).AvailablePermits(ctx)
	return Out{N: int64(n)}, err
}

func remove(ctx context.Context, c *primitives.Client, name string, _ In) (out Out, err error) {
	out.Done, err = c.NewSemaphore(name, nil).Delete(ctx)
	return out, err
}
