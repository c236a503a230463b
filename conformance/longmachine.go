package conformance

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/hasp-go/hasp/conformance/model"
	"github.com/hasp-go/hasp/primitives"
)

// longActs are the actions of a longMachine.
var longActs = slices.Concat([]string{
	"Load", "Store", "Store", "Add", "Add", "Add", "Add", "LoadAndAdd", "LoadAndAdd", "Increment",
	"Decrement", "Swap", "LoadAndDelete", "CompareAndSwap", "CompareAndSwap", "CompareAndSwap",
	"StoreIfLess", "StoreIfLess", "StoreIfLess", "StoreIfGreater", "StoreIfGreater", "StoreIfGreater",
}, numberActs)

// longMachine drives atomic longs, around the edges of int64.
type longMachine struct{ *numberMachine }

func newLongMachine(
	ctx context.Context, e *env, s setting, virtual bool, reach func(string),
) (machine, error) {
	n, err := newNumberMachine(ctx, e, s, virtual, "")
	if err != nil {
		return nil, err
	}
	m := &longMachine{n}
	n.of, n.watch, n.reach = m, m, reach
	return m, nil
}

func (m *longMachine) handle(party int, key *numberKey) numberHandle { return m.long(party, key) }

func (m *longMachine) long(party int, key *numberKey) *primitives.AtomicLong {
	return m.parties[party].client.NewAtomicLong(key.name)
}

// act implements machine.
func (m *longMachine) act(ctx context.Context, a act) error {
	c := m.call(a)
	x, y := m.operands(c.key, a)
	if c.run = longCall(m.long(a.Client, c.key), a.Op, x, y); c.run == nil {
		return m.numberMachine.act(ctx, a)
	}
	if a.Which < 2 {
		c.impatient(a)
	}
	return m.make(ctx, c)
}

// operands makes two numbers of an action: one at an edge or near the present value, and one at an
// edge.
func (m *longMachine) operands(key *numberKey, a act) (x, y int64) {
	draw := int(a.For.Milliseconds())
	x, y = edges[(draw+a.Which)%len(edges)], edges[draw/len(edges)%len(edges)]
	if a.Flag {
		x, _ = m.now(key)
	}
	by := int64(a.Which) - 2
	if by > 0 && x > math.MaxInt64-by || by < 0 && x < math.MinInt64-by {
		by = 0
	}
	return x + by, y
}

// longCall returns a call on a number; nil: there is none of that name.
func longCall(
	n *primitives.AtomicLong, op string, x, y int64,
) func(context.Context) (int64, error) {
	return map[string]func(context.Context) (int64, error){
		"Load":      n.Load,
		"Store":     func(ctx context.Context) (int64, error) { return 0, n.Store(ctx, x) },
		"Add":       func(ctx context.Context) (int64, error) { return n.Add(ctx, x) },
		"Increment": n.Increment,
		"Decrement": n.Decrement,
		"LoadAndAdd": func(ctx context.Context) (int64, error) {
			old, err := n.LoadAndAdd(ctx, x)
			return old + x, err // What the script tells.
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
	in, err := longInput(r)
	_, out := model.LongState(key.value).Apply(in)
	return err == nil && out.Overflow
}

// longOps are the scripts, and what the model calls them.
var longOps = map[string]model.LongOp{
	"long_get": model.LongLoad, "long_set": model.LongStore, "long_add": model.LongAdd,
	"long_swap": model.LongSwap, "long_take": model.LongLoadAndDelete,
	"long_compare_and_set": model.LongCompareAndSwap,
	"long_set_if_less":     model.LongStoreIfLess, "long_set_if_greater": model.LongStoreIfGreater,
}

func longInput(r *scriptRun) (in model.LongInput, err error) {
	op, ok := longOps[r.name]
	if !ok {
		return in, fmt.Errorf("no script of longs")
	}
	in.Op = op
	for i, to := range []*int64{&in.A, &in.B}[:min(len(r.args), 2)] {
		if *to, err = strconv.ParseInt(r.args[i], 10, 64); err != nil {
			return in, err
		}
	}
	return in, nil
}

// step implements numberKind.
func (m *longMachine) step(key *numberKey, r *scriptRun, value int64) error {
	in, err := longInput(r)
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
