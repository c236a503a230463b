package mutants

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
)

func batchMutants() []mutant {
	return []mutant{
		{"returns outcomes in another order", embedded, "BatchOutcomesAreInOrder",
			onOutcomes(func(_ []backend.Call, outcomes []backend.Outcome) { slices.Reverse(outcomes) })},
		{"sends a withdrawn call again", embedded, "WithdrawnCallIsNotSentAgain", func(b *broken) {
			b.before = func(calls []backend.Call) []backend.Call {
				calls = slices.Clone(calls)
				for i := range calls {
					calls[i].Claim.NotSent(nil)
					calls[i].Claim = nil
				}
				return calls
			}
		}},
		{"returns the claim of a call that is under way", oneServer, "CallUnderWayIsNotWithdrawn",
			func(b *broken) {
				b.before = func(calls []backend.Call) []backend.Call {
					first := calls[0].Claim // The caller may change its calls when they are over.
					time.AfterFunc(50*time.Millisecond, func() { first.NotSent(nil) })
					return calls
				}
			}},
		{"reports a batch when all of it is known", oneServer, "BatchReportsAsKnown",
			onBatch(unchanged)},
		{"fails a batch whole", embedded, "BatchFailuresStayAlone",
			onOutcomes(func(_ []backend.Call, outcomes []backend.Outcome) {
				for i := range outcomes {
					outcomes[i].Err = outcomes[1].Err
				}
			})},
		{"does not load for a batch", embedded, "BatchOutcomesAreInOrder", batchLoadsNothing},
		{"sends a batch again", oneServer, "RefusedCall", onBatch(sendsAgain)},
		{"sends a batch under an ended context", embedded, "BatchHeedsContext",
			onBatch(func(ctx context.Context, calls []backend.Call, good batchFunc) []backend.Outcome {
				return good(context.WithoutCancel(ctx), calls)
			})},
	}
}

// onOutcomes changes the outcomes of a batch when all are known.
func onOutcomes(change func(calls []backend.Call, outcomes []backend.Outcome)) func(*broken) {
	return onBatch(outcomes(change))
}

func outcomes(change func(calls []backend.Call, outcomes []backend.Outcome)) changeFunc {
	return func(ctx context.Context, calls []backend.Call, good batchFunc) []backend.Outcome {
		outcomes := good(ctx, calls)
		change(calls, outcomes)
		return outcomes
	}
}

func unchanged(ctx context.Context, calls []backend.Call, good batchFunc) []backend.Outcome {
	return good(ctx, calls)
}

// batchLoadsNothing fails what was not run before by itself.
func batchLoadsNothing(b *broken) {
	var loaded sync.Map
	onCall(func(c *backend.Call) { loaded.Store(c.Script, true) })(b)
	onOutcomes(func(calls []backend.Call, outcomes []backend.Outcome) {
		for i, c := range calls {
			if _, known := loaded.Load(c.Script); !known && outcomes[i].Err == nil {
				outcomes[i].Err = serverError("NOSCRIPT", "No matching script")
			}
		}
	})(b)
}

// sendsAgain sends a batch again if a reply was lost.
func sendsAgain(ctx context.Context, calls []backend.Call, good batchFunc) []backend.Outcome {
	outcomes := good(ctx, calls)
	if errors.Is(outcomes[1].Err, backend.ErrIndeterminate) {
		_ = good(ctx, calls)
	}
	return outcomes
}

func waitMutants() []mutant {
	return []mutant{
		{"loses the reply while it waits for replicas", embedded, "WaitReturnsTheReply",
			onWait(outcomes(func(_ []backend.Call, outcomes []backend.Outcome) {
				outcomes[0].Reply = backend.Reply{}
			}))},
		{"loses the reply when WAIT fails", oneServer, "WaitKeepsTheReplyOfALostWait",
			onWait(outcomes(func(_ []backend.Call, outcomes []backend.Outcome) {
				if errors.Is(outcomes[3].Err, backend.ErrReplicas) {
					outcomes[3].Reply = backend.Reply{}
				}
			}))},
		{"counts replicas for one call only", sentinel, "WaitReturnsTheReply",
			onWait(outcomes(func(_ []backend.Call, outcomes []backend.Outcome) { outcomes[1].Acked = 0 }))},
		{"waits for each call alone", oneServer, "WaitGoesOncePerNode",
			onWait(func(ctx context.Context, calls []backend.Call, good batchFunc) (outcomes []backend.Outcome) {
				for i := range calls {
					outcomes = append(outcomes, good(ctx, calls[i:i+1])...)
				}
				return outcomes
			})},
		{"waits for nobody", oneServer, "WaitGoesOncePerNode WaitFollowsACallSentAgain", func(b *broken) {
			b.wait = func(ctx context.Context, calls []backend.Call, _ batchFunc) []backend.Outcome {
				return b.runAll(ctx, calls)
			}
		}},
		{"waits on another connection", oneServer, "WaitKeepsTheReplyOfALostWait", func(b *broken) {
			b.wait = func(ctx context.Context, calls []backend.Call, good batchFunc) []backend.Outcome {
				defer good(ctx, []backend.Call{command("TOUCH", calls[0].Keys, nil)})
				return b.runAll(ctx, calls)
			}
		}},
		{"reports when all have waited", embedded, "WaitReportsAsKnown",
			onWait(unchanged)},
		{"names one node for all keys", cluster, "NodeOfNamesTheOwner",
			func(b *broken) { b.node = func(string) string { return "one" } }},
		{"names a node for each slot", cluster, "NodeOfNamesTheOwner",
			func(b *broken) { b.node = func(key string) string { return fmt.Sprint(backend.Slot(key)) } }},
		{"lists the keys of one primary", cluster, "ScanFindsEveryKey", func(b *broken) {
			b.scan = func(ctx context.Context, pattern string, _ int) iter.Seq2[[]string, error] {
				return func(yield func([]string, error) bool) {
					for keys, err := range b.Backend.(backend.Scanner).Scan(ctx, pattern, 1000) {
						yield(keys, err)
						return
					}
				}
			}
		}},
		{"sends again before it waits for replicas", oneServer, "WaitSendsOnce", onWait(sendsAgain)},
	}
}
