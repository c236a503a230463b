package mutants

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
)

func replyMutants() []mutant {
	return []mutant{
		{"ends arguments at a zero byte", embedded, "BytesSurvive",
			onArgs(func(arg string) string { return strings.SplitN(arg, "\x00", 2)[0] })},
		{"cuts long arguments", embedded, "BytesSurvive",
			onArgs(func(arg string) string { return arg[:min(len(arg), 64<<10)] })},
		{"keeps integers in 32 bits", embedded, "IntegersAreExact",
			onIntegers(func(n int64) int64 { return int64(int32(n)) })},
		{"keeps integers in doubles", embedded, "IntegersAreExact",
			onIntegers(func(n int64) int64 { return int64(float64(n)) })},
		{"drops nils from arrays", embedded, "RepliesHaveTheirShape",
			onReply(func(_ backend.Call, r backend.Reply, err error) (backend.Reply, error) {
				return dropNils(r), err
			})},
		{"returns maps as pairs", embedded, "RepliesHaveTheirShape",
			onReply(func(c backend.Call, r backend.Reply, err error) (backend.Reply, error) {
				if c.Script.Command != "" && r.Kind() == backend.KindArray {
					r = backend.ArrayReply([]backend.Reply{r})
				}
				return r, err
			})},
		{"does not read the line of an error", embedded, "ErrorsAreServerErrors",
			onServerErrors(func(e *backend.ServerError) { e.Line = 0 })},
		{"takes the code from errors", embedded, "ErrorsAreServerErrors",
			onServerErrors(func(e *backend.ServerError) { e.Code = "" })},
	}
}

func onArgs(change func(arg string) string) func(*broken) {
	return onCall(func(c *backend.Call) {
		c.Args = slices.Clone(c.Args)
		for i := range c.Args {
			c.Args[i] = change(c.Args[i])
		}
	})
}

func onIntegers(change func(n int64) int64) func(*broken) {
	return onReply(func(_ backend.Call, r backend.Reply, err error) (backend.Reply, error) {
		if n, intErr := r.Int(); intErr == nil && r.Kind() == backend.KindInteger {
			r = backend.IntegerReply(change(n))
		}
		return r, err
	})
}

func onServerErrors(change func(e *backend.ServerError)) func(*broken) {
	return onError(func(err error) error {
		var server *backend.ServerError
		if !errors.As(err, &server) {
			return err
		}
		other := *server
		change(&other)
		return &other
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
		{"sends under an ended context", embedded, "EndedContextSendsNothing",
			onRun(func(good runFunc) runFunc {
				return func(ctx context.Context, c backend.Call) (backend.Reply, error) {
					if ctx.Err() != nil {
						_, _ = good(context.WithoutCancel(ctx), c)
					}
					return good(ctx, c)
				}
			})},
		{"ignores the end of contexts that have no deadline", oneServer, "CancelReturnsPromptly",
			deaf(func(ctx context.Context, c backend.Call) bool { return writes(c) && !deadline(ctx) })},
		{"waits for the deadline of a cancelled context", oneServer, "CancelBeforeADeadlineReturnsPromptly",
			deaf(func(ctx context.Context, c backend.Call) bool { return writes(c) && deadline(ctx) })},
		{"hides that the deadline passed", oneServer, "DeadlineReturnsPromptly",
			onError(instead(context.DeadlineExceeded, backend.ErrIndeterminate))},
		{"ignores the end of contexts when it reads", oneServer, "CancelledReadReturnsPromptly",
			deaf(func(_ context.Context, c backend.Call) bool { return !writes(c) })},
		{"connects without regard to the context", oneServer, "CancelWhileConnectingReturns",
			func(b *broken) {
				var connected atomic.Bool
				onReply(func(_ backend.Call, r backend.Reply, err error) (backend.Reply, error) {
					if err == nil {
						connected.Store(true)
					}
					return r, err
				})(b)
				deaf(func(context.Context, backend.Call) bool { return !connected.Load() })(b)
			}},
		{"gives the reply of a cancelled call to the next", oneServer, "CancelledRunsAtMostOnce", onRun(shiftReplies)},
		{"sends a cancelled script again", oneServer, "CancelledRunsAtMostOnce",
			again(func(ctx context.Context, _ backend.Call, err error) bool {
				return ctx.Err() != nil && errors.Is(err, backend.ErrIndeterminate)
			})},
	}
}

// shiftReplies gives each call the first reply that no call has had, as on a connection that is used again after a call
// has left it.
func shiftReplies(good runFunc) runFunc {
	replies := make(chan chan backend.Outcome, 1000)
	return func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		coming := make(chan backend.Outcome, 1)
		replies <- coming
		go func() {
			reply, err := good(context.WithoutCancel(ctx), c)
			coming <- backend.Outcome{Reply: reply, Err: err}
		}()
		next := <-replies
		select {
		case o := <-next:
			return o.Reply, o.Err
		case <-ctx.Done():
			rest := make(chan chan backend.Outcome, cap(replies))
			rest <- next
			for len(replies) > 0 {
				rest <- <-replies
			}
			replies = rest
			return backend.Reply{}, errors.Join(backend.ErrIndeterminate, ctx.Err())
		}
	}
}

func lifeMutants() []mutant {
	return []mutant{
		{"lets read-only scripts write", embedded, "ReadOnlyScriptsCannotWrite",
			onCall(func(c *backend.Call) {
				if c.Script.Retry == backend.RetryReadOnly {
					reclass(c, backend.RetryNever)
				}
			})},
		{"tries to read for ever", oneServer, "ReadOnlyRetriesAreBounded", onRun(readsForEver)},
		{"gives replies to the wrong callers", embedded, "CallsDoNotMix", mixReplies},
		{"pretends to run after Close", embedded, "RunAfterCloseIsRefused",
			onError(instead(backend.ErrClosed, nil))},
		{"has another error for a closed client", oneServer, "RunAfterCloseIsRefused",
			onError(instead(rueidis.ErrClosing, backend.ErrUnavailable))},
		{"does not return from the close of its client", embedded, "RunAfterCloseIsRefused",
			func(b *broken) { b.instance.Close = func() { select {} } }},
		{"cannot be closed twice", embedded, "RunAfterCloseIsRefused", func(b *broken) {
			var closed atomic.Bool
			b.close = func() error {
				if closed.Swap(true) {
					return backend.ErrClosed
				}
				return b.Backend.Close()
			}
		}},
		{"closes the application's client", oneServer, "CloseLeavesTheClientAlone", func(b *broken) {
			end := sync.OnceFunc(b.instance.Close)
			b.instance.Close = end
			b.close = func() error { err := b.Backend.Close(); end(); return err }
		}},
		{"leaves a goroutine", embedded, "CloseLeavesNoGoroutine",
			func(*broken) { go time.Sleep(conformance.Patience) }},
		{"declares what it is not", embedded, "CapabilitiesAreDeclared", func(b *broken) {
			b.can = func(c backend.Capabilities) backend.Capabilities { c.Cluster = true; return c }
		}},
	}
}

// readsForEver sends read-only scripts until they succeed or their context ends.
func readsForEver(good runFunc) runFunc {
	return func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		for {
			reply, err := good(ctx, c)
			over := err == nil || ctx.Err() != nil || isServerError(err) || errors.Is(err, backend.ErrClosed)
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
	onReply(func(_ backend.Call, r backend.Reply, err error) (backend.Reply, error) {
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
	})(b)
}
