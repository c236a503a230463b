package scriptcall

import (
	"context"
	"sync"

	"github.com/hasp-go/hasp/backend"
)

// Batch calls a function n times, with the numbers from 0, and returns its errors in this order. The calls are concurrent.
// Each gets a runner of its own, and the first script that each runs goes to b in one batch, when every call has run one
// or has returned. An error of one does not affect the others. ctx bounds the batch, as RunBatch says.
func Batch(
	ctx context.Context, b backend.Batcher, n int, call func(i int, r backend.ScriptRunner) error,
) []error {
	errs := make([]error, n)
	runners := make([]batched, n)
	var arrived, done sync.WaitGroup
	arrived.Add(n)
	for i := range runners {
		runners[i] = batched{b: b, arrived: arrived.Done, outcome: make(chan backend.Outcome, 1)}
		done.Go(func() {
			errs[i] = call(i, &runners[i])
			runners[i].once.Do(arrived.Done) // It has run nothing.
		})
	}
	arrived.Wait()
	var calls []backend.Call
	var outcomes []chan backend.Outcome
	for i := range runners {
		if runners[i].call.Script != nil {
			calls, outcomes = append(calls, runners[i].call), append(outcomes, runners[i].outcome)
		}
	}
	if len(calls) > 0 {
		b.RunBatch(ctx, calls, func(place int, outcome backend.Outcome) { outcomes[place] <- outcome })
	}
	done.Wait()
	return errs
}

// batched is the runner of one call of a batch.
type batched struct {
	b       backend.Batcher
	call    backend.Call // the first
	once    sync.Once
	arrived func()
	outcome chan backend.Outcome
}

// Run leaves the first script to the batch, and waits for its outcome. Others are batches of their own.
func (r *batched) Run(ctx context.Context, s *backend.Script, keys, args []string) (backend.Reply, error) {
	call := backend.Call{Script: s, Keys: keys, Args: args}
	outcome := backend.Outcome{}
	if r.call.Script == nil {
		r.call = call
		r.once.Do(r.arrived)
		outcome = <-r.outcome
	} else {
		outcome = backend.RunAll(ctx, r.b, []backend.Call{call})[0]
	}
	return outcome.Reply, outcome.Err
}
