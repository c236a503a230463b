package mutants

import (
	"context"
	"errors"
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
					underWay := slices.Clone(calls) // The caller may change its own when they are over.
					time.AfterFunc(50*time.Millisecond, func() {
						for _, c := range underWay {
							c.Claim.NotSent(nil)
						}
					})
					return calls
				}
			}},
		{"reports a batch when all of it is known", oneServer, "BatchReportsAsKnown",
			onBatch(func(good batchFunc) batchFunc { return good })},
		{"fails a batch whole", embedded, "BatchFailuresStayAlone",
			onOutcomes(func(_ []backend.Call, outcomes []backend.Outcome) {
				var failed error
				for _, o := range outcomes {
					if o.Err != nil {
						failed = o.Err
					}
				}
				for i := range outcomes {
					outcomes[i].Err = failed
				}
			})},
		{"does not load for a batch", embedded, "BatchOutcomesAreInOrder", batchLoadsNothing},
		{"sends a batch again", oneServer, "BatchSendsOnce", onBatch(sendsAgain)},
		{"sends a batch under an ended context", embedded, "BatchHeedsContext",
			onBatch(func(good batchFunc) batchFunc {
				return func(ctx context.Context, calls []backend.Call) []backend.Outcome {
					return good(context.WithoutCancel(ctx), calls)
				}
			})},
	}
}

// onOutcomes changes the outcomes of a batch when all are known.
func onOutcomes(change func(calls []backend.Call, outcomes []backend.Outcome)) func(*broken) {
	return onBatch(outcomes(change))
}

func outcomes(change func(calls []backend.Call, outcomes []backend.Outcome)) func(good batchFunc) batchFunc {
	return func(good batchFunc) batchFunc {
		return func(ctx context.Context, calls []backend.Call) []backend.Outcome {
			outcomes := good(ctx, calls)
			change(calls, outcomes)
			return outcomes
		}
	}
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
func sendsAgain(good batchFunc) batchFunc {
	return func(ctx context.Context, calls []backend.Call) []backend.Outcome {
		outcomes := good(ctx, calls)
		if errors.Is(outcomes[1].Err, backend.ErrIndeterminate) {
			_ = good(ctx, calls)
		}
		return outcomes
	}
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
		{"sends again before it waits for replicas", oneServer, "WaitSendsOnce", onWait(sendsAgain)},
	}
}
