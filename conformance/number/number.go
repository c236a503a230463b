// Package number declares primitives.AtomicLong and primitives.AtomicDouble for the suite. Both have one model, of
// whole numbers: a double is counted in eighths, of which sums are exact. The cases of doubles alone try other values.
package number

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// Promises are those of the doc comments of package primitives.
var Promises = map[string]string{
	"Atomic.Exact": `A number is exact over the range of its type. A number that does not exist is 0.`,
	"Atomic.Errors": `A sum beyond the range is ErrOverflow and a key of another kind ErrConflict, which names both
kinds; both leave the key as it was. A change whose outcome is unknown is made at most once.`,
	"Atomic.Life":      `An operation that depends on the number keeps the end of its life; Store and Swap do not.`,
	"Atomic.RoundTrip": `Each call takes one round trip, by a plain command where there is one.`,
}

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

// state is the state of one number. One that does not exist is 0.
type state = engine.State[int64]

// Long declares the atomic long.
var Long engine.Subject = kind[int64]{
	name: "AtomicLong", values: edges, most: math.MaxInt64, parts: 1,
	open:    func(c *primitives.Client, name string) atomic[int64] { return c.NewAtomicLong(name) },
	noTexts: []string{"1.5", "", "abc", "9223372036854775808"},
	special: []harness.Case{harness.NewCase(Promises, "AtomicLongPlainCommands", "Atomic.RoundTrip", []harness.Need{harness.Faults}, plainCommands)},
}.declare()

// Double declares the atomic double. Its values are whole eighths, whose sums are exact on every
// server: the model is a long that counts the eighths.
var Double engine.Subject = kind[float64]{
	name: "AtomicDouble", values: []int64{0, 1, -1, 3, -8, 1 << 40, -1 << 45}, most: 1 << 45, parts: 8,
	open:    func(c *primitives.Client, name string) atomic[float64] { return c.NewAtomicDouble(name) },
	noTexts: []string{"abc", "1.2.3", " 1", "0x10", "nan", "inf", "-1e400"},
	special: []harness.Case{
		harness.NewCase(Promises, "AtomicDoubleErrors", "Atomic.Errors", nil, doubleErrors),
	},
}.declare()

// edges are the numbers around which implementations lose digits.
var edges = []int64{
	0, 1, -1, 1 << 31, -1 << 31, 1 << 53, 1<<53 + 1, -1<<53 - 1, 999_999_999_999_999_999,
	1_000_000_000_000_000_000, math.MaxInt64 - 1, math.MaxInt64, math.MinInt64 + 1, math.MinInt64,
}

// kind is one kind of number.
type kind[T int64 | float64] struct {
	name   string
	open   func(c *primitives.Client, name string) atomic[T]
	values []int64 // that it uses, besides those near the present one
	most   int64   // bounds the present values that it uses
	parts  int64   // of which 1 consists: the model counts them

	noTexts []string
	special []harness.Case
}

// atomic is an atomic number.
type atomic[T int64 | float64] interface {
	engine.Lived
	Load(ctx context.Context) (T, error)
	Store(ctx context.Context, value T) error
	Add(ctx context.Context, delta T) (T, error)
	Increment(ctx context.Context) (T, error)
	Decrement(ctx context.Context) (T, error)
	LoadAndAdd(ctx context.Context, delta T) (T, error)
	Swap(ctx context.Context, value T) (T, error)
	LoadAndDelete(ctx context.Context) (T, error)
	CompareAndSwap(ctx context.Context, old, value T) (bool, error)
	StoreIfLess(ctx context.Context, bound, value T) (bool, error)
	StoreIfGreater(ctx context.Context, bound, value T) (bool, error)
	Delete(ctx context.Context) (bool, error)
}

func (k kind[T]) declare() *engine.Primitive[int64, In, Out] {
	return &engine.Primitive[int64, In, Out]{
		Name: k.name, Promises: Promises, Limit: "Atomic.Exact", Special: k.special,
		Some: engine.New(8 * k.parts), NoTexts: k.noTexts,
		Step: step, Verb: func(in In) string { return string(in.Op) },
		Asks: k.asks, Answers: k.answers, Stored: k.stored,
		Ops: []engine.Op[int64, In, Out]{
			k.op("Load", 1, Load), k.op("Store", 2, Store), k.op("Add", 4, Add), k.op("LoadAndAdd", 2, Add),
			k.op("Swap", 1, Swap), k.op("LoadAndDelete", 1, LoadAndDelete), k.op("CompareAndSwap", 3, CompareAndSwap),
			k.op("StoreIfLess", 3, StoreIfLess), k.op("StoreIfGreater", 3, StoreIfGreater), k.op("Delete", 1, Delete),
		},
		Lived: func(c *primitives.Client, name string) engine.Lived { return k.open(c, name) },
	}
}

func (k kind[T]) op(method string, often int, op Op) engine.Op[int64, In, Out] {
	return engine.Op[int64, In, Out]{
		Name: method, Weight: often, WriteOnly: op == Delete,
		Generate: func(d engine.Params[int64]) In { return k.draw(d, op) },
		Call: func(ctx context.Context, c *primitives.Client, name string, in In) (Out, error) {
			return k.call(ctx, k.open(c, name), method, in)
		},
	}
}

// call calls a method. Add is called by the method for 1 or -1, where that does.
func (k kind[T]) call(ctx context.Context, n atomic[T], method string, in In) (out Out, err error) {
	a, b := T(in.A)/T(k.parts), T(in.B)/T(k.parts)
	var value T
	switch method {
	case "Load":
		value, err = n.Load(ctx)
	case "Store":
		err = n.Store(ctx, a)
	case "Add":
		switch a {
		case 1:
			value, err = n.Increment(ctx)
		case -1:
			value, err = n.Decrement(ctx)
		default:
			value, err = n.Add(ctx, a)
		}
	case "LoadAndAdd":
		value, err = n.LoadAndAdd(ctx, a)
		value += a // The script returns the sum.
	case "Swap":
		value, err = n.Swap(ctx, a)
	case "LoadAndDelete":
		value, err = n.LoadAndDelete(ctx)
	case "CompareAndSwap":
		out.Done, err = n.CompareAndSwap(ctx, a, b)
	case "StoreIfLess":
		out.Done, err = n.StoreIfLess(ctx, a, b)
	case "StoreIfGreater":
		out.Done, err = n.StoreIfGreater(ctx, a, b)
	default:
		out.Done, err = n.Delete(ctx)
	}
	if err == nil {
		out.Value = k.count(value)
	}
	return out, err
}

// count returns the number of parts that a value is. It fails if that is no whole number.
func (k kind[T]) count(value T) int64 {
	n := int64(value * T(k.parts))
	must.Not(T(n)/T(k.parts) != value, "%v is no whole number of parts", value)
	return n
}

// draw makes two numbers: one that is used often or near the present value, and one that is used
// often. The numbers that an operation does not need are 0.
func (k kind[T]) draw(d engine.Params[int64], op Op) In {
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
func (k kind[T]) stored(key string, s state) []engine.Key {
	if s.Kind != engine.Present {
		return []engine.Key{{Name: key}}
	}
	own := engine.Key{Name: key, Text: strconv.FormatInt(s.V, 10)}
	if k.parts > 1 {
		own.Text = strconv.FormatFloat(float64(s.V)/float64(k.parts), 'g', -1, 64)
		own.Equal = func(text string) bool {
			n, err := k.read(text)
			return err == nil && n == s.V
		}
	}
	return []engine.Key{own}
}

// read returns the number of parts that the number in a text is.
func (k kind[T]) read(text string) (int64, error) {
	if k.parts == 1 {
		return strconv.ParseInt(text, 10, 64)
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, err
	}
	return k.count(T(value)), nil
}

// asks returns the request of a script.
func (k kind[T]) asks(s *engine.Script) []In {
	of, op, _ := strings.Cut(s.Name, "_")
	if s.Name != "object_delete" && of != "long" && of != "double" {
		return nil
	}
	in := In{Op: Op(op)}
	if in.Op != Delete {
		for i, to := range []*int64{&in.A, &in.B}[:min(len(s.Args), 2)] {
			*to, _ = k.read(s.Args[i])
		}
	}
	return []In{in}
}

// answers returns the answer of a script.
func (k kind[T]) answers(s *engine.Script) ([]Out, error) {
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
		n, err := k.read(text)
		return []Out{{Value: n}}, err
	}
	n, err := engine.Number(s)
	return []Out{{Value: n}}, err
}

// plainCommands looks at what is sent where there is a command.
func plainCommands(ctx context.Context, e *harness.Env) {
	c, in := engine.NewClient(ctx, e, nil)
	n := c.NewAtomicLong(e.Key("long"))
	must.Get(n.Load(ctx))
	stop := in.Link.Record()
	must.Get(n.Load(ctx))
	must.Get(n.Add(ctx, 1))
	sent := harness.Matching(stop(), e.Tag)
	must.Not(len(sent) != 2 || !harness.IsCommand(sent[0], "GET") || !harness.IsCommand(sent[1], "INCRBY"),
		"sent %q, want GET and INCRBY", sent)
}

func doubleErrors(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	d := c.NewAtomicDouble(e.Key("double"))
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		err := d.Store(ctx, x)
		must.Not(!errors.As(err, new(*primitives.FieldError)), "storing %v returned %v, want a FieldError", x, err)
	}
	must.Do(d.Store(ctx, math.MaxFloat64))
	must.Refuse[float64]("Add", primitives.ErrOverflow)(d.Add(ctx, math.MaxFloat64))
	must.Return("Load", math.MaxFloat64)(d.Load(ctx))
}
