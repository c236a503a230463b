package idgenerator

import (
	"context"
	"slices"

	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

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
