// Package idgenerator declares primitives.IDGenerator for the suite: its promises, its model, its
// operations, and the cases that are its alone. The model has blocks of one id: each call asks the server,
// and returns the next id of the model. Longer blocks are a matter of the cases.
package idgenerator

import (
	"context"
	"math"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// Promises are those of the doc comments of package primitives.
var Promises = map[string]string{
	"IDGenerator.Unique": `No id is returned twice, to any caller of any client, also if answers are lost and callers
leave. A range without a whole block left is ErrOverflow, and a key without a number ErrConflict; both leave the
keys as they were.`,
	"IDGenerator.Blocks": `A client takes a block by one script, and returns its ids in order without another.
Callers that need a block at the same time take one.`,
	"IDGenerator.Wire": `The keys are Redisson's: the next id, and the size of blocks. Without Init ids begin at
1, in blocks of 5000. Init does not change a key that is set.`,
}

// Op is what happens to a generator.
type Op string

// What happens to a generator.
const (
	Init Op = "init"
	Next Op = "next"
)

// In is one thing that happens to a generator.
type In struct {
	Op    Op
	First int64 // of Init
	Size  int64 // of Init
}

// Out is the answer.
type Out struct {
	Done     bool  // of Init
	ID       int64 // of Next: the first of the block
	Overflow bool  // of Next
}

// IDs are a generator at one time.
type IDs struct {
	Next int64
	Size int64 // of blocks; 0: the key is not set
}

// state is the state of one generator.
type state = engine.State[IDs]

// defaultSize is the size of blocks that a generator without Init has.
const defaultSize = 5000

// Primitive declares the generator.
var Primitive engine.Subject = &engine.Primitive[IDs, In, Out]{
	Name: "IDGenerator", Promises: Promises, Limit: "IDGenerator.Unique", Special: cases(),
	Init: engine.New(IDs{Next: 1, Size: 1}), Edge: &edge, Some: engine.New(IDs{Next: 8, Size: 1}),
	NoTexts: []string{"1.5", "abc", "9223372036854775809"},
	Step:    step, Keep: func(v IDs) IDs { return IDs{Size: v.Size} },
	Verb: func(in In) string { return string(in.Op) },
	Asks: asks, Answers: answers, Stored: stored,
	Ops: []engine.Op[IDs, In, Out]{
		{Name: "Init", Weight: 1, Generate: func(d engine.Params[IDs]) In { return In{Init, int64(d.Which) - 2, 1} }, Call: tryInit, WriteOnly: true, Refuses: []In{{Op: Init}, {Op: Init, Size: -1}}},
		{Name: "Next", Weight: 5, Generate: func(engine.Params[IDs]) In { return In{Op: Next} }, Call: next},
	},
	Peer: peer,
}

// edge has three ids left.
var edge = engine.New(IDs{Next: math.MaxInt64 - 3, Size: 1})

// step is the model.
func step(s state, _ time.Time, in In, out Out) (state, bool) {
	v := s.V
	switch {
	case s.Kind == engine.Other:
		return s, false
	case in.Op == Init && s.Kind == engine.Absent && v.Size == 0:
		return s.Is(IDs{in.First, in.Size}), out == Out{Done: true}
	case in.Op == Init:
		return s, out == Out{}
	}
	if v.Size == 0 {
		v.Size = defaultSize
	}
	if s.Kind == engine.Absent {
		v.Next = 1
	}
	if v.Next-1 > math.MaxInt64-v.Size { // The id behind the last one wraps around.
		return s, out == Out{Overflow: true}
	}
	return s.Is(IDs{v.Next + v.Size, v.Size}), out == Out{ID: v.Next}
}

// stored are a generator's keys. The size of blocks stays if the other key is deleted.
func stored(key string, s state) []engine.Key {
	own, size := engine.Key{Name: key}, engine.Key{Name: engine.SideName("", key) + ":allocation"}
	if s.Kind == engine.Present {
		own.Text = new(big.Int).Add(big.NewInt(s.V.Next-1), big.NewInt(1)).String()
	}
	if s.V.Size > 0 {
		size.Text = strconv.FormatInt(s.V.Size, 10)
	}
	return []engine.Key{own, size}
}

// peer takes some ids, as another program does.
func peer(d engine.Params[IDs]) (c engine.Change[IDs], ok bool) {
	v := d.Now.V
	if v.Next-1 > math.MaxInt64-7 {
		return c, false
	}
	c.Next = engine.New(IDs{v.Next + int64(d.Which), v.Size})
	return c, true
}

// asks returns the request of a script.
func asks(s *engine.Script) []In {
	switch s.Name {
	case "id_init":
		first, _ := strconv.ParseInt(s.Args[0], 10, 64)
		size, _ := strconv.ParseInt(s.Args[1], 10, 64)
		return []In{{Op: Init, First: first, Size: size}}
	case "id_block":
		return []In{{Op: Next}}
	}
	return nil
}

// answers returns the answer of a script.
func answers(s *engine.Script) ([]Out, error) {
	switch {
	case engine.IsOverflow(s.Err):
		return []Out{{Overflow: true}}, nil
	case s.Err != nil:
		return nil, s.Err
	case s.Name == "id_init":
		n, err := engine.Number(s)
		return []Out{{Done: n == 1}}, err
	}
	return []Out{{ID: must.Get(must.Get(s.Reply.Tuple(2))[0].Int())}}, nil
}

func tryInit(ctx context.Context, c *primitives.Client, name string, in In) (out Out, err error) {
	out.Done, err = c.NewIDGenerator(name).Init(ctx, in.First, in.Size)
	return out, err
}

func next(ctx context.Context, c *primitives.Client, name string, _ In) (out Out, err error) {
	out.ID, err = c.NewIDGenerator(name).Next(ctx)
	return out, err
}

// cases are about blocks of more than one id.
func cases() []harness.Case {
	return []harness.Case{
		harness.NewCase(Promises, "IDGeneratorDrawsFromBlocks", "IDGenerator.Blocks", nil, drawsFromBlocks),
		harness.NewCase(Promises, "IDGeneratorSharesBlocks", "IDGenerator.Blocks", nil, sharesBlocks),
		harness.NewCase(Promises, "IDGeneratorDefaults", "IDGenerator.Wire", nil, defaults),
		harness.NewCase(Promises, "IDGeneratorInitChangesNothing", "IDGenerator.Wire", nil, initChangesNothing),
		harness.NewCase(Promises, "IDGeneratorBadBlockSize", "IDGenerator.Unique", nil, badBlockSize),
	}
}

// of returns the generator of that name in c, with blocks of that size. The first id is 1.
func of(ctx context.Context, c *primitives.Client, name string, size int64) *primitives.IDGenerator {
	g := c.NewIDGenerator(name)
	must.Get(g.Init(ctx, 1, size))
	return g
}

// wants draws ids, and fails unless they are the given ones.
func wants(ctx context.Context, g *primitives.IDGenerator, ids ...int64) {
	for _, id := range ids {
		must.Return("Next", id)(g.Next(ctx))
	}
}

// drawsFromBlocks has two clients draw in turn. Each asks for a block when it needs one.
func drawsFromBlocks(ctx context.Context, e *harness.Env) {
	one, calls := engine.CountedClient(ctx, e, nil)
	two, _ := engine.NewClient(ctx, e, nil)
	a, b := of(ctx, one, e.Key("ids"), 3), two.NewIDGenerator(e.Key("ids"))
	wants(ctx, a, 1)
	wants(ctx, b, 4, 5)
	wants(ctx, a, 2, 3, 7)
	wants(ctx, b, 6, 10)
	wants(ctx, one.NewIDGenerator(a.Name()), 8)
	e.WantText(ctx, a.Name(), "13")
	must.Not(calls.Load() != 3, "Init and two blocks took %d calls", calls.Load())
}

// sharesBlocks has many callers of one client draw at once. No id comes twice, and the ids of a caller rise.
func sharesBlocks(ctx context.Context, e *harness.Env) {
	const callers, draws = 40, 5
	c, calls := engine.CountedClient(ctx, e, nil)
	of(ctx, c, e.Key("ids"), 50)
	ids := make([][]int64, callers)
	must.Together(callers, func(i int) {
		g := c.NewIDGenerator(e.Key("ids"))
		for range draws {
			ids[i] = append(ids[i], must.Get(g.Next(ctx)))
		}
		must.Not(!slices.IsSorted(ids[i]), "a caller got %d", ids[i])
	})
	all := slices.Sorted(slices.Values(slices.Concat(ids...)))
	must.Not(len(slices.Compact(all)) != callers*draws, "ids came twice: %d", all)
	e.WantText(ctx, e.Key("ids"), "201")
	must.Not(calls.Load() != 5, "Init and four blocks took %d calls", calls.Load())
}

func defaults(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	for _, name := range []string{e.Key("ids"), e.Tag + "-plain"} {
		g := c.NewIDGenerator(name)
		wants(ctx, g, 1, 2)
		e.WantText(ctx, name, "5001")
		e.WantText(ctx, engine.SideName("", name)+":allocation", "5000")
		must.Return("Init after the use", false)(g.Init(ctx, 7, 7))
	}
}

func initChangesNothing(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	g := c.NewIDGenerator(e.Key("ids"))
	must.Return("Init", true)(g.Init(ctx, -3, 2))
	must.Return("Init", false)(g.Init(ctx, 50, 60))
	wants(ctx, g, -3, -2, -1, 0, 1)
	e.WantText(ctx, g.Name(), "3")
	e.WantText(ctx, g.Name()+":allocation", "2")
	for _, key := range []string{"first:allocation", "second"} { // One key of two is set.
		e.Command(ctx, "SET", e.Key(key), "9")
	}
	must.Return("Init", false)(c.NewIDGenerator(e.Key("first")).Init(ctx, 1, 1))
	must.Return("Init", false)(c.NewIDGenerator(e.Key("second")).Init(ctx, 1, 1))
	wants(ctx, c.NewIDGenerator(e.Key("first")), 1)
	wants(ctx, c.NewIDGenerator(e.Key("second")), 9)
}

// badBlockSize stores texts that are no sizes of blocks. The next id stays.
func badBlockSize(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	g := of(ctx, c, e.Key("ids"), 2)
	for _, size := range []string{"0", "-5", "1.5", "abc", "9223372036854775808"} {
		e.Command(ctx, "SET", g.Name()+":allocation", size)
		must.Refuse[int64]("Next", primitives.ErrConflict)(g.Next(ctx))
	}
	e.Command(ctx, "DEL", g.Name()+":allocation")
	e.Command(ctx, "RPUSH", g.Name()+":allocation", "x")
	_, err := g.Next(ctx)
	must.Wrap(err, primitives.ErrConflict)
	e.WantText(ctx, g.Name(), "1")
}
