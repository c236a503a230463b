// Package number declares primitives.AtomicLong and primitives.AtomicDouble for the suite. Both have
// one model, of whole numbers: a double is counted in eighths, of which sums are exact. The cases of
// doubles alone try other values.
package number

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/primitives"
)

// Op is what happens to a number, by the name of its script.
type Op string

// What happens to a number.
const (
	Load           Op = "get"
	Store          Op = "set"
	Add            Op = "add"
	Swap           Op = "swap"
	LoadAndDelete  Op = "take"
	CompareAndSwap Op = "compare_and_set"
	StoreIfLess    Op = "set_if_less"
	StoreIfGreater Op = "set_if_greater"
	Delete         Op = "delete"
)

// In is one thing that happens to a number.
type In struct {
	Op   Op
	A, B int64
}

// Out is the answer.
type Out struct {
	Value    int64
	Done     bool // of Delete and the conditional ones
	Overflow bool // of Add
}

// state is that of one number. One that does not exist is 0.
type state = engine.State[int64]

// Long declares the atomic long.
var Long engine.Subject = kind{
	name: "AtomicLong", values: edges, most: math.MaxInt64, parts: 1,
	open:    func(c *primitives.Client, name string) whole { return c.NewAtomicLong(name) },
	noTexts: []string{"1.5", "", "abc", "9223372036854775808"}, special: longCases(),
}.declare()

// Double declares the atomic double. Its values are whole eighths, of which sums are exact on every
// server: the model is that of a long which counts them.
var Double engine.Subject = kind{
	name: "AtomicDouble", values: eighthsUsed, most: 1 << 45, parts: oneInEighths,
	open:    func(c *primitives.Client, name string) whole { return eighths{c.NewAtomicDouble(name)} },
	noTexts: []string{"abc", "1.2.3", " 1", "0x10", "nan", "inf", "-1e400"}, special: doubleCases(),
}.declare()

// kind is one kind of number.
type kind struct {
	name   string
	open   func(c *primitives.Client, name string) whole
	values []int64 // that it uses, besides what is near the present one
	most   int64   // bounds the present values that it uses
	parts  int64   // of which 1 consists: the model counts them

	noTexts []string
	special []harness.Case
}

// edges are the numbers around which implementations lose digits.
var edges = []int64{
	0, 1, -1, 1 << 31, -1 << 31, 1 << 53, 1<<53 + 1, -1<<53 - 1, 999_999_999_999_999_999,
	1_000_000_000_000_000_000, math.MaxInt64 - 1, math.MaxInt64, math.MinInt64 + 1, math.MinInt64,
}

// whole is an atomic number that is known by whole numbers.
type whole interface {
	engine.Lived
	Load(ctx context.Context) (int64, error)
	Store(ctx context.Context, value int64) error
	Add(ctx context.Context, delta int64) (int64, error)
	Increment(ctx context.Context) (int64, error)
	Decrement(ctx context.Context) (int64, error)
	LoadAndAdd(ctx context.Context, delta int64) (int64, error)
	Swap(ctx context.Context, value int64) (int64, error)
	LoadAndDelete(ctx context.Context) (int64, error)
	CompareAndSwap(ctx context.Context, old, value int64) (bool, error)
	StoreIfLess(ctx context.Context, bound, value int64) (bool, error)
	StoreIfGreater(ctx context.Context, bound, value int64) (bool, error)
	Delete(ctx context.Context) (bool, error)
}

func (k kind) declare() *engine.Primitive[int64, In, Out] {
	return &engine.Primitive[int64, In, Out]{
		Name:     k.name,
		Promises: Promises,
		Some:     engine.New(8 * k.parts),
		NoTexts:  k.noTexts,
		Special:  k.special,
		Limit:    "Atomic.Exact",
		Step:     step,
		Verb:     func(in In) string { return string(in.Op) },
		Asks:     k.asks,
		Answers:  k.answers,
		Stored:   k.stored,
		Ops: []engine.Op[int64, In, Out]{
			k.op("Load", 1, Load, func(ctx context.Context, n whole, _ In) (out Out, err error) {
				out.Value, err = n.Load(ctx)
				return out, err
			}),
			k.op("Store", 2, Store, func(ctx context.Context, n whole, in In) (Out, error) {
				return Out{}, n.Store(ctx, in.A)
			}),
			k.op("Add", 4, Add, add),
			k.op("LoadAndAdd", 2, Add, func(ctx context.Context, n whole, in In) (Out, error) {
				old, err := n.LoadAndAdd(ctx, in.A)
				return Out{Value: old + in.A}, err // What the script returns.
			}),
			k.op("Swap", 1, Swap, func(ctx context.Context, n whole, in In) (out Out, err error) {
				out.Value, err = n.Swap(ctx, in.A)
				return out, err
			}),
			k.op("LoadAndDelete", 1, LoadAndDelete, func(ctx context.Context, n whole, _ In) (out Out, err error) {
				out.Value, err = n.LoadAndDelete(ctx)
				return out, err
			}),
			k.conditional("CompareAndSwap", CompareAndSwap, whole.CompareAndSwap),
			k.conditional("StoreIfLess", StoreIfLess, whole.StoreIfLess),
			k.conditional("StoreIfGreater", StoreIfGreater, whole.StoreIfGreater),
			blind(k.op("Delete", 1, Delete, func(ctx context.Context, n whole, _ In) (out Out, err error) {
				out.Done, err = n.Delete(ctx)
				return out, err
			})),
		},
		Lived: func(c *primitives.Client, name string) engine.Lived { return k.open(c, name) },
	}
}

// add adds, by the method for one where that does.
func add(ctx context.Context, n whole, in In) (out Out, err error) {
	switch in {
	case In{Op: Add, A: one(n)}:
		out.Value, err = n.Increment(ctx)
	case In{Op: Add, A: -one(n)}:
		out.Value, err = n.Decrement(ctx)
	default:
		out.Value, err = n.Add(ctx, in.A)
	}
	return out, err
}

// one is what 1 is of a number.
func one(n whole) int64 {
	if _, ok := n.(eighths); ok {
		return oneInEighths
	}
	return 1
}

func (k kind) op(
	name string, often int, op Op, call func(ctx context.Context, n whole, in In) (Out, error),
) engine.Op[int64, In, Out] {
	return engine.Op[int64, In, Out]{
		Name: name, Often: often,
		Draw: func(d engine.Dice[int64]) In { return k.draw(d, op) },
		Call: func(ctx context.Context, c *primitives.Client, name string, in In) (Out, error) {
			return call(ctx, k.open(c, name), in)
		},
	}
}

// blind is of what does not read the number.
func blind(op engine.Op[int64, In, Out]) engine.Op[int64, In, Out] {
	op.Blind = true
	return op
}

func (k kind) conditional(
	name string, op Op, call func(n whole, ctx context.Context, a, b int64) (bool, error),
) engine.Op[int64, In, Out] {
	return k.op(name, 3, op, func(ctx context.Context, n whole, in In) (out Out, err error) {
		out.Done, err = call(n, ctx, in.A, in.B)
		return out, err
	})
}

// draw makes two numbers: one that is used often or near the present value, and one that is used
// often. What needs fewer has the others 0.
func (k kind) draw(d engine.Dice[int64], op Op) In {
	n := int(d.For.Milliseconds())
	a, b := k.values[(n+d.Which)%len(k.values)], k.values[n/len(k.values)%len(k.values)]
	if now := d.Now.V; d.Flag && -k.most <= now && now <= k.most {
		a = now
	}
	by := int64(d.Which) - 2
	if by > 0 && a > math.MaxInt64-by || by < 0 && a < math.MinInt64-by {
		by = 0
	}
	switch op {
	case Load, LoadAndDelete, Delete:
		return In{Op: op}
	case Store, Add, Swap:
		return In{Op: op, A: a + by}
	}
	return In{Op: op, A: a + by, B: b}
}

// step is the model.
func step(s state, _ time.Time, in In, out Out) (state, bool) {
	was, done := s.V, false
	switch in.Op {
	case Load:
		return s, out == Out{Value: was}
	case Store:
		return engine.New(in.A), out == Out{}
	case Swap:
		return engine.New(in.A), out == Out{Value: was}
	case Add:
		if in.A > 0 && was > math.MaxInt64-in.A || in.A < 0 && was < math.MinInt64-in.A {
			return s, out == Out{Overflow: true}
		}
		return s.Is(was + in.A), out == Out{Value: was + in.A}
	case LoadAndDelete:
		return s.Gone(nil), out == Out{Value: was}
	case Delete:
		return s.Gone(nil), out == Out{Done: s.Kind == engine.Present}
	case CompareAndSwap:
		done = was == in.A
	case StoreIfLess:
		done = was < in.A
	case StoreIfGreater:
		done = was > in.A
	}
	if done {
		s = s.Is(in.B)
	}
	return s, out == Out{Done: done}
}

// stored is a number's key. A double may have several texts.
func (k kind) stored(key string, s state) []engine.Key {
	if s.Kind != engine.Present {
		return []engine.Key{{Name: key}}
	}
	own := engine.Key{Name: key, Text: strconv.FormatInt(s.V, 10)}
	if k.parts > 1 {
		own.Text = strconv.FormatFloat(fromEighths(s.V), 'g', -1, 64)
		own.Equal = func(text string) bool {
			n, err := k.count(text)
			return err == nil && n == s.V
		}
	}
	return []engine.Key{own}
}

// count returns how many parts the number in text is.
func (k kind) count(text string) (int64, error) {
	if k.parts == 1 {
		return strconv.ParseInt(text, 10, 64)
	}
	return toEighths(strconv.ParseFloat(text, 64))
}

// asks returns what a script asks.
func (k kind) asks(s *engine.Script) []In {
	of, op, _ := strings.Cut(s.Name, "_")
	if s.Name != "object_delete" && of != "long" && of != "double" {
		return nil
	}
	in := In{Op: Op(op)}
	if in.Op != Delete {
		for i, to := range []*int64{&in.A, &in.B}[:min(len(s.Args), 2)] {
			*to, _ = k.count(s.Args[i])
		}
	}
	return []In{in}
}

// answers returns what a script answers.
func (k kind) answers(s *engine.Script) ([]Out, error) {
	if engine.IsOverflow(s.Err) {
		return []Out{{Overflow: true}}, nil
	}
	switch k.asks(s)[0].Op {
	case Delete, CompareAndSwap, StoreIfLess, StoreIfGreater:
		n, err := engine.Number(s)
		return []Out{{Done: n == 1}}, err
	}
	text, err := s.Reply.Text()
	if s.Err == nil && err == nil && text != "OK" {
		n, err := k.count(text)
		return []Out{{Value: n}}, err
	}
	n, err := engine.Number(s)
	return []Out{{Value: n}}, err
}
