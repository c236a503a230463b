package conformance

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/conformance/model"
	"github.com/hasp-go/hasp/primitives"
)

// longActs are the actions of a longMachine.
var longActs = slices.Concat([]string{
	"Load", "Store", "Store", "Add", "Add", "Add", "Add", "LoadAndAdd", "LoadAndAdd", "Increment",
	"Decrement", "Swap", "LoadAndDelete", "CompareAndSwap", "CompareAndSwap", "CompareAndSwap",
	"StoreIfLess", "StoreIfLess", "StoreIfLess", "StoreIfGreater", "StoreIfGreater", "StoreIfGreater",
}, numberActs)

// longMachine drives atomic numbers.
type longMachine struct {
	*numberMachine
	number func(c *primitives.Client, name string) wholeNumber
	values []int64 // that it uses, besides what is near the present ones
	most   int64   // bounds the present values that it uses
}

// wholeNumber is an atomic number that is known by whole numbers.
type wholeNumber interface {
	atomicNumber
	numberHandle
	Increment(ctx context.Context) (int64, error)
	Decrement(ctx context.Context) (int64, error)
	LoadAndAdd(ctx context.Context, delta int64) (int64, error)
}

// newLongMachine returns a machine of longs around the edges of int64.
func newLongMachine(
	ctx context.Context, e *env, s setting, virtual bool, reach func(string),
) (machine, error) {
	m := &longMachine{
		values: edges, most: math.MaxInt64,
		number: func(c *primitives.Client, name string) wholeNumber { return c.NewAtomicLong(name) },
	}
	return m, m.start(ctx, e, s, virtual, reach)
}

func (m *longMachine) start(
	ctx context.Context, e *env, s setting, virtual bool, reach func(string),
) (err error) {
	if m.numberMachine, err = newNumberMachine(ctx, e, s, virtual, ""); err != nil {
		return err
	}
	m.of, m.watch, m.reach = m, m, reach
	return nil
}

func (m *longMachine) handle(c *numberCall) numberHandle { return m.at(c) }

func (m *longMachine) at(c *numberCall) wholeNumber {
	return m.number(m.parties[c.party].client, m.nameFor(c, c.key.name))
}

// act implements machine.
func (m *longMachine) act(ctx context.Context, a act) error {
	c := m.call(a)
	x, y := m.operands(c.key, a)
	if c.run = longCall(m.at(c), a.Op, x, y); c.run == nil {
		return m.numberMachine.act(ctx, a)
	}
	if a.Which < 2 {
		c.impatient(a)
	}
	return m.make(ctx, c)
}

// operands makes two numbers of an action: one that is used often or near the present value, and one
// that is used often.
func (m *longMachine) operands(key *numberKey, a act) (x, y int64) {
	draw := int(a.For.Milliseconds())
	x, y = m.values[(draw+a.Which)%len(m.values)], m.values[draw/len(m.values)%len(m.values)]
	if now, _ := m.now(key); a.Flag && -m.most <= now && now <= m.most {
		x = now
	}
	by := int64(a.Which) - 2
	if by > 0 && x > math.MaxInt64-by || by < 0 && x < math.MinInt64-by {
		by = 0
	}
	return x + by, y
}

// longCall returns a call on a number; nil: there is none of that name.
func longCall(
	n wholeNumber, op string, x, y int64,
) func(context.Context) (int64, error) {
	return map[string]func(context.Context) (int64, error){
		"Load":      n.Load,
		"Store":     func(ctx context.Context) (int64, error) { return 0, n.Store(ctx, x) },
		"Add":       func(ctx context.Context) (int64, error) { return n.Add(ctx, x) },
		"Increment": n.Increment,
		"Decrement": n.Decrement,
		"LoadAndAdd": func(ctx context.Context) (int64, error) {
			old, err := n.LoadAndAdd(ctx, x)
			return old + x, err // What the script returns.
		},
		"Swap":          func(ctx context.Context) (int64, error) { return n.Swap(ctx, x) },
		"LoadAndDelete": n.LoadAndDelete,
		"CompareAndSwap": func(ctx context.Context) (int64, error) {
			return told(n.CompareAndSwap(ctx, x, y))
		},
		"StoreIfLess": func(ctx context.Context) (int64, error) {
			return told(n.StoreIfLess(ctx, x, y))
		},
		"StoreIfGreater": func(ctx context.Context) (int64, error) {
			return told(n.StoreIfGreater(ctx, x, y))
		},
	}[op]
}

func (m *longMachine) ready(*numberCall) bool { return false }

func (m *longMachine) judged(*numberCall) error { return nil }

func (m *longMachine) overflows(key *numberKey, r *scriptRun) bool {
	in, err := m.input(r)
	_, out := model.LongState(key.value).Apply(in)
	return err == nil && out.Overflow
}

// longOps are the scripts of atomic numbers, after the kind, and what the model calls them.
var longOps = map[string]model.LongOp{
	"get": model.LongLoad, "set": model.LongStore, "add": model.LongAdd,
	"swap": model.LongSwap, "take": model.LongLoadAndDelete,
	"compare_and_set": model.LongCompareAndSwap,
	"set_if_less":     model.LongStoreIfLess, "set_if_greater": model.LongStoreIfGreater,
}

// input returns what the model calls the run of a script.
func (m *longMachine) input(r *scriptRun) (in model.LongInput, err error) {
	_, name, _ := strings.Cut(r.name, "_")
	op, ok := longOps[name]
	if !ok {
		return in, fmt.Errorf("no script of atomic numbers")
	}
	in.Op = op
	for i, to := range []*int64{&in.A, &in.B}[:min(len(r.args), 2)] {
		if *to, err = m.count(r.args[i]); err != nil {
			return in, err
		}
	}
	return in, nil
}

// step implements numberKind.
func (m *longMachine) step(key *numberKey, r *scriptRun, value int64) error {
	in, err := m.input(r)
	if err != nil {
		return err
	}
	next, want := model.LongState(key.value).Apply(in)
	out := model.LongOutput{Value: value}
	if in.Op >= model.LongCompareAndSwap {
		out = model.LongOutput{Done: value == 1}
	}
	if out != want {
		return fmt.Errorf("want %+v, from %v", want, key)
	}
	m.become(key, in.Op, int64(next), want.Done)
	return nil
}

// become notes what a script has made of a number: what replaces it takes the end of its life away.
func (m *longMachine) become(key *numberKey, op model.LongOp, value int64, done bool) {
	switch op {
	case model.LongLoadAndDelete:
		key.gone()
	case model.LongStore, model.LongSwap:
		key.gone()
		key.set(value)
	case model.LongAdd:
		key.set(value)
	case model.LongCompareAndSwap, model.LongStoreIfLess, model.LongStoreIfGreater:
		if done {
			key.set(value)
		}
	}
}
