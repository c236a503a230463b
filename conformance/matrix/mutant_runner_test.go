package matrix

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
)

// runAs returns a call of script's plain command name.
func command(name string, keys, args []string) backend.Call {
	script := backend.NewScript("mutant", "", -1, backend.Never)
	script.Command = name
	return backend.Call{Script: script, Keys: keys, Args: args}
}

// evalsha returns c as a bare EVALSHA that nothing is loaded for. One node only.
func evalsha(c backend.Call) backend.Call {
	words := append([]string{c.Script.SHA1, fmt.Sprint(len(c.Keys))}, c.Keys...)
	return command("EVALSHA", append(words, c.Args...), nil)
}

func serverError(code, message string) error {
	return &backend.ServerError{Code: code, Message: message}
}

// again runs a call a second time when its error is as described.
func again(b *broken, when func(ctx context.Context, c backend.Call, err error) bool) {
	b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		reply, err := b.good(ctx, c)
		if err != nil && when(ctx, c, err) {
			_, _ = b.good(context.WithoutCancel(ctx), c)
		}
		return reply, err
	}
}

// fault changes the outcome of each run.
func fault(
	b *broken, change func(c backend.Call, r backend.Reply, err error) (backend.Reply, error),
) {
	b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		reply, err := b.good(ctx, c)
		return change(c, reply, err)
	}
}

func sendMutants() []mutant {
	return []mutant{
		{
			name:  "runs the commands of a script one by one",
			kills: []string{"RunsAtomically"}, breakIt: breakAtomicity,
		},
		{
			name:  "sends a key to where it does not live",
			kills: []string{"RunsOnTheOwningNode"}, breakIt: func(b *broken) {
				b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
					if len(c.Keys) == 1 && !strings.Contains(c.Keys[0], "{") {
						c.Keys = []string{c.Keys[0] + "'"}
					}
					return b.good(ctx, c)
				}
			},
		},
		{
			name: "leaves crossing slots to the server", base: onCluster,
			kills: []string{"RefusesKeysOfDifferentSlots"}, breakIt: func(b *broken) {
				fault(b, func(_ backend.Call, r backend.Reply, err error) (backend.Reply, error) {
					if errors.Is(err, backend.ErrCrossSlot) {
						err = serverError("CROSSSLOT", "Keys in request don't hash to the same slot")
					}
					return r, err
				})
			},
		},
		{
			name:  "counts slots where there are none",
			kills: []string{"TakesAnyKeysOnOneNode"}, breakIt: func(b *broken) {
				b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
					if err := backend.SameSlot(c.Keys); err != nil {
						return backend.Reply{}, err
					}
					return b.good(ctx, c)
				}
			},
		},
		{
			name:  "takes a script for loaded for ever",
			kills: []string{"LoadsAgainAfterFlush"}, breakIt: loadsOnce,
		},
		restartMutant(),
		movingMutant(),
		{
			name: "sends EVAL", base: onServer,
			kills: []string{"NeverSendsEval"}, breakIt: func(b *broken) {
				b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
					if c.Script.Command == "" && c.Script.Retry == backend.Never {
						words := []string{c.Script.Source, fmt.Sprint(len(c.Keys))}
						c = command("EVAL", append(append(words, c.Keys...), c.Args...), nil)
					}
					return b.good(ctx, c)
				}
			},
		},
		{
			name:  "hides what the server says of a script that it does not know",
			kills: []string{"GivesUpLoading"}, breakIt: func(b *broken) {
				fault(b, func(_ backend.Call, r backend.Reply, err error) (backend.Reply, error) {
					if isServer(err, "NOSCRIPT") {
						err = backend.ErrNotSupported
					}
					return r, err
				})
			},
		},
		{
			name:  "takes plain commands for scripts",
			kills: []string{"SendsAPlainCommand"}, breakIt: func(b *broken) {
				b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
					script := *c.Script
					script.Command, c.Script = "", &script
					return b.good(ctx, c)
				}
			},
		},
	}
}

func isServer(err error, code string) bool {
	var server *backend.ServerError
	return errors.As(err, &server) && server.Code == code
}

// breakAtomicity runs the two commands of scripts that count two keys by themselves.
func breakAtomicity(b *broken) {
	b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		if len(c.Keys) != 2 || strings.Count(c.Script.Source, "redis.call('incr'") != 2 {
			return b.good(ctx, c)
		}
		var replies []backend.Reply
		for _, key := range c.Keys {
			reply, err := b.good(ctx, command("INCR", []string{key}, nil))
			if err != nil {
				return reply, err
			}
			replies = append(replies, reply)
			time.Sleep(time.Millisecond)
		}
		return backend.ArrayReply(replies), nil
	}
}

// loadsOnce sends EVALSHA and nothing else for scripts that were run before.
func loadsOnce(b *broken) {
	var loaded sync.Map
	b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		if c.Script.Command != "" || c.Script.Retry != backend.Never {
			return b.good(ctx, c)
		}
		if _, known := loaded.Load(c.Script.SHA1); known {
			c = evalsha(c)
		}
		loaded.Store(c.Script.SHA1, true)
		return b.good(ctx, c)
	}
}

func restartMutant() mutant {
	var restarted atomic.Bool
	return mutant{
		name: "does not load again after a restart", base: onServer,
		kills: []string{"LoadsAgainAfterRestart"},
		harness: func(h *conformance.Harness) {
			restart := h.Restart
			h.Restart = func(ctx context.Context, keep bool) error {
				restarted.Store(true)
				return restart(ctx, keep)
			}
		},
		breakIt: func(b *broken) {
			b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
				if restarted.Load() && c.Script.Command == "" {
					c = evalsha(c)
				}
				return b.good(ctx, c)
			}
		},
	}
}

func movingMutant() mutant {
	var moving atomic.Bool
	return mutant{
		name: "loads on one node while a slot moves", base: onCluster,
		kills: []string{"LoadsWhileTheSlotMoves"},
		harness: func(h *conformance.Harness) {
			migrate := h.Migrate
			h.Migrate = func(ctx context.Context, key string) (func(context.Context) error, error) {
				moving.Store(true)
				finish, err := migrate(ctx, key)
				return func(ctx context.Context) error { moving.Store(false); return finish(ctx) }, err
			}
		},
		breakIt: func(b *broken) {
			b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
				if moving.Load() {
					return backend.Reply{}, serverError("NOSCRIPT", "No matching script")
				}
				return b.good(ctx, c)
			}
		},
	}
}

func onceMutants() []mutant {
	unknown := func(ctx context.Context, err error) bool {
		return errors.Is(err, backend.ErrIndeterminate) && ctx.Err() == nil
	}
	return []mutant{
		{
			name: "does not say that an outcome is unknown", base: onServer,
			kills: []string{"LostReplyIsIndeterminate"}, breakIt: func(b *broken) {
				hideUnknown(b, backend.Never)
			},
		},
		{
			name: "does not say that the outcome of a repeatable script is unknown", base: onServer,
			kills: []string{"LostRepeatableSettles"}, breakIt: func(b *broken) {
				hideUnknown(b, backend.Repeatable)
			},
		},
		{
			name: "sends a script again after a lost reply", base: onServer,
			kills: []string{"LostReplySendsOnce"},
			breakIt: func(b *broken) {
				again(b, func(ctx context.Context, c backend.Call, err error) bool {
					return unknown(ctx, err) && c.Script.Command == ""
				})
			},
		},
		{
			name: "sends a command again after a lost reply", base: onServer,
			kills: []string{"LostCommandSendsOnce"}, breakIt: func(b *broken) {
				again(b, func(ctx context.Context, c backend.Call, err error) bool {
					return unknown(ctx, err) && c.Script.Command != ""
				})
			},
		},
		{
			name: "takes a failed dial for a lost reply", base: onServer,
			kills: []string{"RefusedDialIsDefinite"}, breakIt: func(b *broken) {
				fault(b, func(c backend.Call, r backend.Reply, err error) (backend.Reply, error) {
					if err != nil && strings.Contains(err.Error(), "refused") {
						err = backend.Indeterminate(err)
					}
					return r, err
				})
			},
		},
		{
			name: "takes a failed dial for an error like any other", base: onServer,
			kills: []string{"NoServerIsUnavailable"}, breakIt: func(b *broken) {
				hideUnavailable(b, func(err error) bool { return !isServerError(err) })
			},
		},
		{
			name:  "takes a server's refusal for an error like any other",
			kills: []string{"RefusalIsUnavailable"}, breakIt: func(b *broken) {
				hideUnavailable(b, isServerError)
			},
		},
		{
			name:  "sends a script again after an error",
			kills: []string{"ErrorReplyStands"}, breakIt: func(b *broken) {
				again(b, func(_ context.Context, _ backend.Call, err error) bool {
					var server *backend.ServerError
					return errors.As(err, &server)
				})
			},
		},
	}
}

// hideUnavailable takes ErrUnavailable from some errors.
func hideUnavailable(b *broken, hides func(err error) bool) {
	fault(b, func(_ backend.Call, r backend.Reply, err error) (backend.Reply, error) {
		if !errors.Is(err, backend.ErrUnavailable) || !hides(err) {
			return r, err
		}
		var server *backend.ServerError
		if errors.As(err, &server) {
			return r, server
		}
		return r, errors.New("refused")
	})
}

func isServerError(err error) bool { return errors.As(err, new(*backend.ServerError)) }

// hideUnknown takes ErrIndeterminate from errors of scripts of a class.
func hideUnknown(b *broken, class backend.Retry) {
	b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		hidden := c.Script.Retry == class
		if class == backend.Repeatable && hidden {
			script := *c.Script
			script.Retry, c.Script = backend.Never, &script // Or the good one sends it again.
		}
		reply, err := b.good(ctx, c)
		if ctx.Err() == nil && hidden && errors.Is(err, backend.ErrIndeterminate) {
			err = errors.New("connection lost")
		}
		return reply, err
	}
}

func replyMutants() []mutant {
	return []mutant{
		{
			name:  "ends arguments at a zero byte",
			kills: []string{"BytesSurvive"}, breakIt: func(b *broken) {
				changeArgs(b, func(arg string) string { return strings.SplitN(arg, "\x00", 2)[0] })
			},
		},
		{
			name:  "cuts long arguments",
			kills: []string{"LargeBytesSurvive"}, breakIt: func(b *broken) {
				changeArgs(b, func(arg string) string { return arg[:min(len(arg), 64<<10)] })
			},
		},
		{
			name:  "keeps integers in 32 bits",
			kills: []string{"IntegersAreExact"}, breakIt: func(b *broken) {
				changeIntegers(b, func(n int64) int64 { return int64(int32(n)) })
			},
		},
		{
			name:  "keeps integers in doubles",
			kills: []string{"CommandIntegersAreExact"}, breakIt: func(b *broken) {
				changeIntegers(b, func(n int64) int64 { return int64(float64(n)) })
			},
		},
		{
			name:  "drops nils from arrays",
			kills: []string{"RepliesHaveTheirShape"}, breakIt: func(b *broken) {
				fault(b, func(_ backend.Call, r backend.Reply, err error) (backend.Reply, error) {
					return dropNils(r), err
				})
			},
		},
		{
			name:  "returns maps as pairs",
			kills: []string{"CommandRepliesHaveTheirShape"}, breakIt: func(b *broken) {
				fault(b, func(c backend.Call, r backend.Reply, err error) (backend.Reply, error) {
					if c.Script.Command != "" && r.Kind() == backend.Array {
						r = backend.ArrayReply([]backend.Reply{r})
					}
					return r, err
				})
			},
		},
		{
			name:  "does not read the line of an error",
			kills: []string{"ErrorsAreServerErrors"}, breakIt: func(b *broken) {
				changeServerErrors(b, func(e *backend.ServerError) { e.Line = 0 })
			},
		},
		{
			name:  "takes the code from errors",
			kills: []string{"CommandErrorsAreServerErrors"}, breakIt: func(b *broken) {
				changeServerErrors(b, func(e *backend.ServerError) { e.Code = "" })
			},
		},
	}
}

func changeArgs(b *broken, change func(arg string) string) {
	b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		c.Args = slices.Clone(c.Args)
		for i := range c.Args {
			c.Args[i] = change(c.Args[i])
		}
		return b.good(ctx, c)
	}
}

func changeIntegers(b *broken, change func(n int64) int64) {
	fault(b, func(_ backend.Call, r backend.Reply, err error) (backend.Reply, error) {
		if n, intErr := r.Int(); intErr == nil && r.Kind() == backend.Integer {
			r = backend.IntegerReply(change(n))
		}
		return r, err
	})
}

func changeServerErrors(b *broken, change func(e *backend.ServerError)) {
	fault(b, func(_ backend.Call, r backend.Reply, err error) (backend.Reply, error) {
		var server *backend.ServerError
		if errors.As(err, &server) {
			other := *server
			change(&other)
			err = &other
		}
		return r, err
	})
}

func dropNils(r backend.Reply) backend.Reply {
	items, err := r.Items()
	if err != nil {
		return r
	}
	var kept []backend.Reply
	for _, item := range items {
		if !item.IsNil() {
			kept = append(kept, dropNils(item))
		}
	}
	return backend.ArrayReply(kept)
}

func cancelMutants() []mutant {
	deadline := func(ctx context.Context) bool { _, ok := ctx.Deadline(); return ok }
	writes := func(c backend.Call) bool { return c.Script.Retry.Writes() }
	return []mutant{
		{
			name:  "sends under an ended context",
			kills: []string{"EndedContextSendsNothing"}, breakIt: func(b *broken) {
				b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
					if ctx.Err() != nil {
						_, _ = b.good(context.WithoutCancel(ctx), c)
					}
					return b.good(ctx, c)
				}
			},
		},
		{
			name: "ignores the end of contexts that have no deadline", base: onServer,
			kills: []string{"CancelReturnsPromptly"}, breakIt: func(b *broken) {
				deaf(b, func(ctx context.Context, c backend.Call) bool {
					return writes(c) && !deadline(ctx)
				})
			},
		},
		{
			name: "waits for the deadline of a cancelled context", base: onServer,
			kills: []string{"CancelBeforeADeadlineReturnsPromptly"}, breakIt: func(b *broken) {
				deaf(b, func(ctx context.Context, c backend.Call) bool {
					return writes(c) && deadline(ctx)
				})
			},
		},
		{
			name: "hides that the deadline passed", base: onServer,
			kills: []string{"DeadlineReturnsPromptly"}, breakIt: func(b *broken) {
				fault(b, func(_ backend.Call, r backend.Reply, err error) (backend.Reply, error) {
					if errors.Is(err, context.DeadlineExceeded) {
						err = backend.ErrIndeterminate
					}
					return r, err
				})
			},
		},
		{
			name: "ignores the end of contexts when it reads", base: onServer,
			kills: []string{"CancelledReadReturnsPromptly"}, breakIt: func(b *broken) {
				deaf(b, func(_ context.Context, c backend.Call) bool { return !writes(c) })
			},
		},
		{
			name: "connects without regard to the context", base: onServer,
			kills: []string{"CancelWhileConnectingReturns"}, breakIt: connectDeaf,
		},
		{
			name: "sends a cancelled script again", base: onServer,
			kills: []string{"CancelledRunsAtMostOnce"}, breakIt: func(b *broken) {
				again(b, func(ctx context.Context, _ backend.Call, err error) bool {
					return ctx.Err() != nil && errors.Is(err, backend.ErrIndeterminate)
				})
			},
		},
	}
}

// deaf makes some calls go on when their context ends.
func deaf(b *broken, when func(ctx context.Context, c backend.Call) bool) {
	b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		if ctx.Err() == nil && when(ctx, c) {
			ctx = context.WithoutCancel(ctx)
		}
		return b.good(ctx, c)
	}
}

// connectDeaf ignores the end of contexts until a first call has succeeded.
func connectDeaf(b *broken) {
	var connected atomic.Bool
	b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		if ctx.Err() == nil && !connected.Load() {
			ctx = context.WithoutCancel(ctx)
		}
		reply, err := b.good(ctx, c)
		if err == nil {
			connected.Store(true)
		}
		return reply, err
	}
}

func lifeMutants() []mutant {
	return []mutant{
		{
			name:  "lets read-only scripts write",
			kills: []string{"ReadOnlyScriptsCannotWrite"}, breakIt: func(b *broken) {
				b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
					script := *c.Script
					if script.Retry == backend.ReadOnly {
						script.Retry = backend.Never
					}
					c.Script = &script
					return b.good(ctx, c)
				}
			},
		},
		{
			name: "tries to read for ever", base: onServer,
			kills: []string{"ReadOnlyRetriesAreBounded"}, breakIt: readsForEver,
		},
		{
			name:  "gives replies to the wrong callers",
			kills: []string{"CallsDoNotMix"}, breakIt: mixReplies,
		},
		{
			name:  "pretends to run after Close",
			kills: []string{"RunAfterCloseIsRefused"}, breakIt: func(b *broken) {
				fault(b, func(_ backend.Call, r backend.Reply, err error) (backend.Reply, error) {
					if errors.Is(err, backend.ErrClosed) {
						err = nil
					}
					return r, err
				})
			},
		},
		{
			name:  "cannot be closed twice",
			kills: []string{"CloseTwiceIsAllowed"}, breakIt: func(b *broken) {
				var closed atomic.Bool
				b.close = func() error {
					if closed.Swap(true) {
						return backend.ErrClosed
					}
					return b.Backend.Close()
				}
			},
		},
		{
			name: "closes the application's client", base: onServer,
			kills: []string{"CloseLeavesTheClientAlone"}, breakIt: func(b *broken) {
				end := sync.OnceFunc(b.instance.Close)
				b.instance.Close = end
				b.close = func() error { err := b.Backend.Close(); end(); return err }
			},
		},
		{
			name:  "leaves a goroutine",
			kills: []string{"CloseLeavesNoGoroutine"}, breakIt: func(*broken) {
				go time.Sleep(conformance.Patience)
			},
		},
		{
			name:  "declares what it is not",
			kills: []string{"CapabilitiesAreDeclared"}, breakIt: func(b *broken) {
				b.can = func(c backend.Capabilities) backend.Capabilities { c.Cluster = true; return c }
			},
		},
	}
}

// readsForEver sends read-only scripts until they succeed or their context ends.
func readsForEver(b *broken) {
	b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		for {
			reply, err := b.good(ctx, c)
			var server *backend.ServerError
			over := err == nil || ctx.Err() != nil || errors.As(err, &server) ||
				errors.Is(err, backend.ErrClosed)
			if c.Script.Retry.Writes() || over {
				return reply, err
			}
		}
	}
}

// mixReplies keeps replies where all callers put theirs.
func mixReplies(b *broken) {
	var mu sync.Mutex
	var last backend.Reply
	fault(b, func(_ backend.Call, r backend.Reply, err error) (backend.Reply, error) {
		if err != nil {
			return r, err
		}
		mu.Lock()
		last = r
		mu.Unlock()
		runtime.Gosched()
		mu.Lock()
		defer mu.Unlock()
		return last, nil
	})
}

func batchMutants() []mutant {
	return []mutant{
		{
			name:  "returns outcomes in another order",
			kills: []string{"BatchOutcomesAreInOrder"},
			breakIt: func(b *broken) {
				good := b.goodBatch
				b.batch = func(ctx context.Context, calls []backend.Call) []backend.Outcome {
					outcomes := good(ctx, calls)
					slices.Reverse(outcomes)
					return outcomes
				}
			},
		},
		{
			name:  "sends a withdrawn call again",
			kills: []string{"WithdrawnCallIsNotSentAgain"}, breakIt: func(b *broken) {
				b.before = func(calls []backend.Call) []backend.Call {
					calls = slices.Clone(calls)
					for i := range calls {
						calls[i].Claim.Return(nil)
						calls[i].Claim = nil
					}
					return calls
				}
			},
		},
		{
			name: "returns the claim of a call that is under way", base: onServer,
			kills: []string{"CallUnderWayIsNotWithdrawn"}, breakIt: func(b *broken) {
				b.before = func(calls []backend.Call) []backend.Call {
					underWay := slices.Clone(calls) // The caller may change its own when they are over.
					time.AfterFunc(50*time.Millisecond, func() {
						for _, c := range underWay {
							c.Claim.Return(nil)
						}
					})
					return calls
				}
			},
		},
		{
			name: "reports a batch when all of it is known", base: onServer,
			kills: []string{"BatchReportsAsKnown"}, breakIt: func(b *broken) { b.batch = b.goodBatch },
		},
		{
			name:  "fails a batch whole",
			kills: []string{"BatchFailuresStayAlone"}, breakIt: failWhole,
		},
		{
			name:  "does not load for a batch",
			kills: []string{"BatchLoadsMissingScripts"}, breakIt: batchLoadsNothing,
		},
		{
			name: "sends a batch again", base: onServer,
			kills: []string{"BatchSendsOnce"}, breakIt: batchAgain,
		},
		{
			name:  "sends a batch under an ended context",
			kills: []string{"BatchHeedsContext"}, breakIt: func(b *broken) {
				good := b.goodBatch
				b.batch = func(ctx context.Context, calls []backend.Call) []backend.Outcome {
					return good(context.WithoutCancel(ctx), calls)
				}
			},
		},
		{
			name:  "loses the reply while it waits for replicas",
			kills: []string{"WaitReturnsTheReply"}, breakIt: func(b *broken) {
				changeWait(b, func(_ backend.Reply, acked int, err error) (backend.Reply, int, error) {
					return backend.Reply{}, acked, err
				})
			},
		},
		{
			name: "loses the reply when WAIT fails", base: onServer,
			kills: []string{"WaitKeepsTheReplyOfALostWait"}, breakIt: func(b *broken) {
				changeWait(b, func(r backend.Reply, acked int, err error) (backend.Reply, int, error) {
					if errors.Is(err, backend.ErrReplicas) {
						r = backend.Reply{}
					}
					return r, acked, err
				})
			},
		},
		{
			name: "sends again before it waits for replicas", base: onServer,
			kills: []string{"WaitSendsOnce"}, breakIt: func(b *broken) {
				good := b.wait
				b.wait = func(ctx context.Context, c backend.Call, n int, d time.Duration) (
					backend.Reply, int, error,
				) {
					r, acked, err := good(ctx, c, n, d)
					if errors.Is(err, backend.ErrIndeterminate) {
						_, _, _ = good(ctx, c, n, d)
					}
					return r, acked, err
				}
			},
		},
	}
}

func changeWait(b *broken, change func(backend.Reply, int, error) (backend.Reply, int, error)) {
	good := b.wait
	b.wait = func(ctx context.Context, c backend.Call, n int, d time.Duration) (
		backend.Reply, int, error,
	) {
		return change(good(ctx, c, n, d))
	}
}

func failWhole(b *broken) {
	good := b.goodBatch
	b.batch = func(ctx context.Context, calls []backend.Call) []backend.Outcome {
		outcomes := good(ctx, calls)
		var failed error
		for _, o := range outcomes {
			if o.Err != nil {
				failed = o.Err
			}
		}
		for i := range outcomes {
			outcomes[i].Err = failed
		}
		return outcomes
	}
}

// batchLoadsNothing fails what was not run before by itself.
func batchLoadsNothing(b *broken) {
	var loaded sync.Map
	b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		loaded.Store(c.Script, true)
		return b.good(ctx, c)
	}
	good := b.goodBatch
	b.batch = func(ctx context.Context, calls []backend.Call) []backend.Outcome {
		outcomes := good(ctx, calls)
		for i, c := range calls {
			if _, known := loaded.Load(c.Script); !known && outcomes[i].Err == nil {
				outcomes[i].Err = serverError("NOSCRIPT", "No matching script")
			}
		}
		return outcomes
	}
}

func batchAgain(b *broken) {
	good := b.goodBatch
	b.batch = func(ctx context.Context, calls []backend.Call) []backend.Outcome {
		outcomes := good(ctx, calls)
		for i, o := range outcomes {
			if errors.Is(o.Err, backend.ErrIndeterminate) {
				_, _ = b.good(ctx, calls[i])
			}
		}
		return outcomes
	}
}
