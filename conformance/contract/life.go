package contract

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// prompt is how soon a call must return after its context ended: more than scheduling costs, less than drivers' time-outs.
const prompt = 4 * time.Second

// lifeCases are about contexts, concurrency, and the end of a backend: R7, R8, R9.
func lifeCases() []harness.Case {
	return []harness.Case{
		of("R7", "EndedContextSendsNothing", endedContextSendsNothing),
		// Drivers take another path if there is no deadline at all.
		of("R7", "CancelReturnsPromptly", silent(backend.RetryNever,
			func(ctx context.Context, ran <-chan struct{}) (context.Context, context.CancelFunc) {
				return cancelledOnceRun(context.WithoutCancel(ctx), ran)
			}, context.Canceled, backend.ErrIndeterminate), harness.Faults),
		of("R7", "CancelBeforeADeadlineReturnsPromptly", silent(
			backend.RetryNever, cancelledOnceRun, context.Canceled, backend.ErrIndeterminate), harness.Faults),
		of("R7", "DeadlineReturnsPromptly", silent(backend.RetryNever,
			func(ctx context.Context, _ <-chan struct{}) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 5*soonEnded)
			}, context.DeadlineExceeded, backend.ErrIndeterminate), harness.Faults),
		of("R7", "CancelledReadReturnsPromptly", silent(
			backend.RetryReadOnly, cancelledOnceRun, context.Canceled), harness.Faults),
		of("R7", "CancelWhileConnectingReturns", cancelWhileConnectingReturns, harness.Faults),
		of("R7", "CancelledRunsAtMostOnce", cancelledRunsAtMostOnce, harness.Faults),
		of("R8", "ReadOnlyScriptsCannotWrite", readOnlyScriptsCannotWrite),
		of("R8", "ReadOnlyRetriesAreBounded", readOnlyRetriesAreBounded, harness.Faults),
		of("R9", "CallsDoNotMix", callsDoNotMix),
		of("R9", "RunAfterCloseIsRefused", runAfterCloseIsRefused),
		of("R9", "CloseLeavesTheClientAlone", closeLeavesTheClientAlone, harness.HasClient),
		of("R9", "CloseLeavesNoGoroutine", closeLeavesNoGoroutine),
		of("S4", "CapabilitiesAreDeclared", capabilitiesAreDeclared),
	}
}

func endedContextSendsNothing(ctx context.Context, e *harness.Env) {
	b, script, key := e.Backend(ctx), e.Incr(backend.RetryNever), e.Key("n")
	for range 20 {
		wantDefinite(run(ended(ctx), b, script, key), context.Canceled)
	}
	// What was sent after all would run before or soon after this.
	recovers(ctx, e, b)
	e.WantCount(ctx, key, 0)
}

// bounder makes a call's context, given what is closed once the server has run its script. Before
// that a driver may still be busy with the connection, and send nothing if the context ends.
type bounder func(ctx context.Context, ran <-chan struct{}) (context.Context, context.CancelFunc)

// silent returns what runs a script while its connection goes silent: the server runs the script, and the
// reply is lost. The run must return promptly, with an error that wraps want.
func silent(retry backend.Retry, bound bounder, want ...error) func(context.Context, *harness.Env) {
	return func(ctx context.Context, e *harness.Env) {
		in, script, key := e.Open(ctx), e.Script("return 1", 1, retry), e.Key("n")
		for range pooled {
			must.Do(run(ctx, in.Backend, script, key))
		}
		ran := in.Link.LoseReply(runs(key))
		defer in.Link.Restore()
		must.Wrap(harness.Promptly(prompt, "Run", func() error {
			// Bound here: were it to end before the call, nothing would be sent.
			callCtx, cancel := bound(ctx, ran)
			defer cancel()
			return run(callCtx, in.Backend, script, key)
		}), want...)
	}
}

// cancelledOnceRun makes a context that is cancelled when the script has run.
func cancelledOnceRun(ctx context.Context, ran <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-ran:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// wantCancelled makes a call that gets no answer, not even to a dial, under a context that is soon
// cancelled, and fails if it does not return within limit, and with the context's error.
func wantCancelled(
	ctx context.Context, in *harness.Instance, limit time.Duration, what string,
	call func(ctx context.Context) error,
) {
	in.Link.Blackhole()
	defer in.Link.Restore()
	err := harness.Promptly(limit, what, func() error { return cancelSoon(ctx, call) })
	must.Wrap(err, context.Canceled)
}

// cancelWhileConnectingReturns cancels a call for which the driver has to connect first. It may take
// as long as drivers let a connection take.
func cancelWhileConnectingReturns(ctx context.Context, e *harness.Env) {
	in, script := e.Open(ctx), e.Incr(backend.RetryNever)
	wantCancelled(ctx, in, 3*prompt, "Run", func(ctx context.Context) error {
		return run(ctx, in.Backend, script, e.Key("n"))
	})
}

// lateCalls is how many calls cancelledRunsAtMostOnce cancels at least. One's context may end before
// anything is sent: when a driver connects first, or on a machine that stands still for a moment.
const lateCalls = 3

// pooled is at least the number of connections over which a driver spreads calls, each made at its first use.
const pooled = 64

// cancelledRunsAtMostOnce cancels calls whose command is held up on its way, and calls others,
// which must get their own replies.
func cancelledRunsAtMostOnce(ctx context.Context, e *harness.Env) {
	in, script, key := e.Open(ctx), e.Incr(backend.RetryNever), e.Key("n")
	must.Do(run(ctx, in.Backend, script, key))
	for calls, ran := int64(1), int64(0); calls <= lateCalls || ran == 0; calls++ {
		late := 2 * soonEnded
		if calls > lateCalls { // There may be a health check first.
			late = soonEnded * 2 / 5
		}
		in.Link.Delay(late)
		err := cancelSoon(ctx, func(ctx context.Context) error { return run(ctx, in.Backend, script, key) })
		in.Link.Restore()
		for range pooled { // The reply to the cancelled call may be on its way to any of them.
			recovers(ctx, e, in.Backend)
		}
		// A second sending would come from the driver's or the backend's retries, after the first.
		time.Sleep(2 * late)
		ran = e.Count(ctx, key) - 1
		must.Not(ran > calls, "%d cancelled calls ran %d times; the last error was %w", calls, ran, err)
		must.Not(ctx.Err() != nil, "no call was cancelled after it had been sent")
	}
}

// readOnlyScriptsCannotWrite relies on servers refusing writes in EVALSHA_RO.
func readOnlyScriptsCannotWrite(ctx context.Context, e *harness.Env) {
	err := run(ctx, e.Backend(ctx), e.Incr(backend.RetryReadOnly), e.Key("n"))
	must.Not(!errors.As(err, new(*backend.ServerError)), "a read-only script wrote, or failed otherwise: %w", err)
	e.WantCount(ctx, e.Key("n"), 0)
}

func readOnlyRetriesAreBounded(ctx context.Context, e *harness.Env) {
	in, script, key := e.Open(ctx), e.Script("return 1", 1, backend.RetryReadOnly), e.Key("n")
	must.Do(run(ctx, in.Backend, script, key))
	in.Link.Refuse()
	err := harness.Promptly(harness.Patience/4, "a read without a server", func() error {
		return run(context.WithoutCancel(ctx), in.Backend, script, key)
	})
	must.Not(err == nil, "a read was answered without a server")
}

func callsDoNotMix(ctx context.Context, e *harness.Env) {
	b, key := e.Backend(ctx), e.Key("n")
	script := e.Script("redis.call('incr', KEYS[1]) return ARGV[1]", 1, backend.RetryNever)
	const callers, calls = 32, 16
	must.Together(callers, func(i int) {
		for j := range calls {
			sent := fmt.Sprintf("%d/%d", i, j)
			reply := must.Get(b.Run(ctx, script, []string{key}, []string{sent}))
			must.Return("the call that sent "+sent, sent)(reply.Text())
		}
	})
	e.WantCount(ctx, key, callers*calls)
}

func runAfterCloseIsRefused(ctx context.Context, e *harness.Env) {
	in, b, script, key := e.Open(ctx), e.Backend(ctx), e.Incr(backend.RetryNever), e.Key("n")
	must.Do(run(ctx, b, script, key))
	must.In("closing twice", func() { must.Do(errors.Join(b.Close(), b.Close())) })
	wantDefinite(run(ctx, b, script, key), backend.ErrClosed)
	if closes := in.Close; closes != nil { // the client
		in.Close = nil
		_ = harness.Promptly(harness.Patience/4, "Instance.Close", func() error { closes(); return nil })
		wantDefinite(run(ctx, in.Backend, script, key), backend.ErrClosed)
	}
	e.WantCount(ctx, key, 1)
}

func closeLeavesTheClientAlone(ctx context.Context, e *harness.Env) {
	in := e.Open(ctx)
	must.Do(in.Backend.Close())
	must.In("the application's client after Close", func() { must.Do(in.Ping(ctx)) })
}

// closeLeavesNoGoroutine labels whatever goroutine is started by a backend and its client.
func closeLeavesNoGoroutine(ctx context.Context, e *harness.Env) {
	pprof.Do(ctx, pprof.Labels("conformance", e.Tag), func(ctx context.Context) { live(ctx, e) })
	ctx, cancel := context.WithTimeout(ctx, harness.Patience/2)
	defer cancel()
	harness.Eventually(ctx, "the goroutines to end", func() bool {
		var all strings.Builder
		must.Do(pprof.Lookup("goroutine").WriteTo(&all, 1))
		for group := range strings.SplitSeq(all.String(), "\n\n") {
			must.Not(strings.Contains(group, e.Tag), "left:\n%s", group)
		}
		return true
	})
}

// live leads a backend and its client through a short life.
func live(ctx context.Context, e *harness.Env) {
	in := must.Get(e.New(ctx))
	defer in.End()
	must.Do(run(ctx, in.Backend, e.Incr(backend.RetryNever), e.Key("n")))
	if e.Capabilities.PubSub {
		must.Do(subscribe(ctx, in.Backend, e.Key("c")))
	}
}

func capabilitiesAreDeclared(ctx context.Context, e *harness.Env) {
	b := e.Backend(ctx)
	must.Not(b.Capabilities() != e.Capabilities,
		"the backend declares %+v, the harness expects %+v", b.Capabilities(), e.Capabilities)
	_, batches := b.(backend.Batcher)
	must.Not(batches != e.Batches, "backend.Batcher: implemented %t, declared by the harness %t", batches, e.Batches)
	_, waits := b.(backend.ReplicaWaiter)
	must.Not(waits != e.WaitsForReplicas, "backend.ReplicaWaiter: implemented %t, declared by the harness %t", waits, e.WaitsForReplicas)
	_, scans := b.(backend.Scanner)
	must.Not(scans != e.Scans, "backend.Scanner: implemented %t, declared by the harness %t", scans, e.Scans)
}
