package engine

import (
	"context"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/must"
)

// single hides that a backend takes batches.
type single struct{ backend.Backend }

// reporter gets the outcomes of a batch, by their place in it.
type reporter func(place int, outcome backend.Outcome)

// runAll runs calls by b: as one batch if b takes batches, else side by side.
func runAll(ctx context.Context, b backend.Backend, calls []backend.Call, report reporter) {
	if batcher, ok := b.(backend.Batcher); ok {
		batcher.RunBatch(ctx, calls, report)
		return
	}
	must.Together(len(calls), func(i int) {
		reply, err := b.Run(ctx, calls[i].Script, calls[i].Keys, calls[i].Args)
		report(i, backend.Outcome{Reply: reply, Err: err})
	})
}

// runSome is runAll for the calls at some places of a batch, whose reporter it uses.
func runSome(ctx context.Context, b backend.Backend, calls []backend.Call, places []int, report reporter) {
	some := make([]backend.Call, len(places))
	for i, place := range places {
		some[i] = calls[place]
	}
	if len(some) > 0 {
		runAll(ctx, b, some, func(i int, outcome backend.Outcome) { report(places[i], outcome) })
	}
}

// runOne runs one call by b, with its claim if b takes batches.
func runOne(ctx context.Context, b backend.Backend, c backend.Call) (backend.Reply, error) {
	var o backend.Outcome
	runAll(ctx, b, []backend.Call{c}, func(_ int, outcome backend.Outcome) { o = outcome })
	return o.Reply, o.Err
}

// seer is a backend that shows each call and its error to see.
type seer struct {
	backend.Backend
	see func(c backend.Call, err error)
}

// Run implements backend.ScriptRunner.
func (s *seer) Run(ctx context.Context, script *backend.Script, keys, args []string) (backend.Reply, error) {
	reply, err := s.Backend.Run(ctx, script, keys, args)
	s.see(backend.Call{Script: script, Keys: keys, Args: args}, err)
	return reply, err
}

// RunBatch implements backend.Batcher.
func (s *seer) RunBatch(ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome)) {
	runAll(ctx, s.Backend, calls, func(place int, outcome backend.Outcome) {
		s.see(calls[place], outcome.Err)
		report(place, outcome)
	})
}
