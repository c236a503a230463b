package idgenerator

import (
	"context"
	"slices"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// cases are those of blocks of more than one id.
func cases() []harness.Case {
	link := []harness.Need{harness.Faults}
	return []harness.Case{
		newCase("DrawsFromBlocks", "Blocks", nil, drawsFromBlocks),
		newCase("SharesBlocks", "Blocks", nil, sharesBlocks),
		newCase("IDsAreUnique", "Unique", nil, idsAreUnique),
		newCase("LostBlockIsSkipped", "Unique", link, lostBlockIsSkipped),
		newCase("LeftBlockIsSkipped", "Unique", link, leftBlockIsSkipped),
		newCase("Defaults", "Wire", nil, defaults),
		newCase("InitChangesNothing", "Wire", nil, initChangesNothing),
		newCase("BadBlockSize", "Unique", nil, badBlockSize),
	}
}

func newCase(
	name, clause string, needs []harness.Need, run func(context.Context, *harness.Env),
) harness.Case {
	return harness.NewCase(Promises, "IDGenerator"+name, "IDGenerator."+clause, needs, run)
}

// of returns the generator of that name in c, with blocks of so many ids, of which the first is 1.
func of(ctx context.Context, c *primitives.Client, name string, size int64) *primitives.IDGenerator {
	g := c.NewIDGenerator(name)
	must.Get(g.TryInit(ctx, 1, size))
	return g
}

// wants draws ids, which must be those.
func wants(ctx context.Context, g *primitives.IDGenerator, ids ...int64) {
	for _, id := range ids {
		must.Return("Next", id)(g.Next(ctx))
	}
}

// drawsFromBlocks has two clients draw in turn. Each asks for a block when it needs one.
func drawsFromBlocks(ctx context.Context, e *harness.Env) {
	one, calls, _ := engine.CountedClient(ctx, e, nil)
	two, _ := engine.NewClient(ctx, e, nil)
	a, b := of(ctx, one, e.Key("ids"), 3), two.NewIDGenerator(e.Key("ids"))
	wants(ctx, a, 1)
	wants(ctx, b, 4, 5)
	wants(ctx, a, 2, 3, 7)
	wants(ctx, b, 6, 10)
	wants(ctx, one.NewIDGenerator(a.Name()), 8)
	e.WantText(ctx, a.Name(), "13")
	must.If(calls.Calls.Load() != 3, "TryInit and two blocks took %d calls", calls.Calls.Load())
}

// sharesBlocks has many draw at once from one client.
func sharesBlocks(ctx context.Context, e *harness.Env) {
	c, calls, _ := engine.CountedClient(ctx, e, nil)
	of(ctx, c, e.Key("ids"), 50)
	requireUnique(ctx, []*primitives.Client{c}, e.Key("ids"), 40, 5)
	e.WantText(ctx, e.Key("ids"), "201")
	must.If(calls.Calls.Load() != 5, "TryInit and four blocks took %d calls", calls.Calls.Load())
}

// idsAreUnique has many draw at once from several clients.
func idsAreUnique(ctx context.Context, e *harness.Env) {
	clients := engine.Clients(ctx, e, 3)
	of(ctx, clients[0], e.Key("ids"), 7)
	requireUnique(ctx, clients, e.Key("ids"), 20, 10)
}

// requireUnique has callers of each client draw so many ids each, one after the other. No id may come twice,
// and those of a caller must rise.
func requireUnique(ctx context.Context, clients []*primitives.Client, name string, callers, draws int) {
	ids := make([][]int64, len(clients)*callers)
	must.Together(len(ids), func(i int) {
		g := clients[i%len(clients)].NewIDGenerator(name)
		for range draws {
			ids[i] = append(ids[i], must.Get(g.Next(ctx)))
		}
		must.If(!slices.IsSorted(ids[i]), "a caller got %d", ids[i])
	})
	all := slices.Sorted(slices.Values(slices.Concat(ids...)))
	must.If(len(slices.Compact(all)) != len(clients)*callers*draws, "ids came twice: %d", all)
}

// lostBlockIsSkipped loses the answer to a request for a block.
func lostBlockIsSkipped(ctx context.Context, e *harness.Env) {
	c, in := engine.NewClient(ctx, e, nil)
	g := of(ctx, c, e.Key("ids"), 2)
	wants(ctx, g, 1, 2)
	lost := in.Link.CutReply(func(words []string) bool { return harness.RunsScript(words, g.Name()) })
	must.Refuse[int64]("Next", backend.ErrIndeterminate)(g.Next(ctx))
	harness.Await(ctx, "a reply to be lost", lost)
	wants(ctx, g, 5, 6, 7)
}

// leftBlockIsSkipped has one caller leave while its request for a block is under way, and others wait for
// that block.
func leftBlockIsSkipped(ctx context.Context, e *harness.Env) {
	c, in := engine.NewClient(ctx, e, nil)
	of(ctx, c, e.Key("ids"), 2)
	in.Link.Delay(300 * time.Millisecond)
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	left := must.Beside(func() {
		// On a slow machine the block may be there before it looks.
		if _, err := c.NewIDGenerator(e.Key("ids")).Next(short); err != nil {
			must.Wrap(err, context.DeadlineExceeded)
		}
	})
	requireUnique(ctx, []*primitives.Client{c}, e.Key("ids"), 4, 2)
	harness.Finish("the one who left", left)
}

func defaults(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	for _, name := range []string{e.Key("ids"), e.Tag + "-plain"} {
		g := c.NewIDGenerator(name)
		wants(ctx, g, 1, 2)
		e.WantText(ctx, name, "5001")
		e.WantText(ctx, engine.SideName("", name)+":allocation", "5000")
		must.Return("TryInit after the use", false)(g.TryInit(ctx, 7, 7))
	}
}

func initChangesNothing(ctx context.Context, e *harness.Env) {
	c, _ := engine.NewClient(ctx, e, nil)
	g := c.NewIDGenerator(e.Key("ids"))
	must.Return("TryInit", true)(g.TryInit(ctx, -3, 2))
	must.Return("TryInit", false)(g.TryInit(ctx, 50, 60))
	wants(ctx, g, -3, -2, -1, 0, 1)
	e.WantText(ctx, g.Name(), "3")
	e.WantText(ctx, g.Name()+":allocation", "2")
	for _, key := range []string{"first:allocation", "second"} { // One key of two is set.
		e.Command(ctx, "SET", e.Key(key), "9")
	}
	must.Return("TryInit", false)(c.NewIDGenerator(e.Key("first")).TryInit(ctx, 1, 1))
	must.Return("TryInit", false)(c.NewIDGenerator(e.Key("second")).TryInit(ctx, 1, 1))
	wants(ctx, c.NewIDGenerator(e.Key("first")), 1)
	wants(ctx, c.NewIDGenerator(e.Key("second")), 9)
}

// badBlockSize has sizes of blocks that are none. The next id stays.
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
