package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// batchCases are about what a backend may offer beyond Run: B1, B2, W1, W2, L1, K1.
func batchCases() []harness.Case {
	return []harness.Case{
		of("B1", "BatchOutcomesAreInOrder", batchOutcomesAreInOrder, harness.Batches),
		of("B1", "BatchFailuresStayAlone", batchFailuresStayAlone, harness.Batches),
		of("B1", "BatchReportsAsKnown", reportsAsKnown(as[backend.Batcher]), harness.Batches),
		of("B1", "BatchHeedsContext", batchHeedsContext, harness.Batches),
		of("W1", "WaitReturnsTheReply", waitReturnsTheReply, harness.ReplicaWaiter),
		of("W1", "WaitGoesOncePerNode", waitGoesOncePerNode, harness.ReplicaWaiter, harness.Faults),
		of("W1", "WaitKeepsTheReplyOfALostWait", waitKeepsTheReply, harness.ReplicaWaiter, harness.Faults),
		of("W1", "WaitSendsOnce", waitSendsOnce, harness.ReplicaWaiter, harness.Faults),
		of("W2", "WaitFollowsACallSentAgain", waitFollowsACallSentAgain, harness.ReplicaWaiter, harness.Faults),
		of("W2", "WaitReportsAsKnown", reportsAsKnown(waiting), harness.ReplicaWaiter),
		of("L1", "NodeOfNamesTheOwner", nodeOfNamesTheOwner, harness.Cluster),
		of("K1", "ScanFindsEveryKey", scanFindsEveryKey, harness.Scans),
		of("B2", "WithdrawnCallIsNotSentAgain", withdrawnCallIsNotSentAgain, harness.Batches),
		of("B2", "CallUnderWayIsNotWithdrawn", callUnderWayIsNotWithdrawn, harness.Batches, harness.Faults),
	}
}

// maker makes a batcher of an instance.
type maker = func(*harness.Instance) backend.Batcher

// calls returns n calls of a script, each with its number as the argument, and at the key of it.
func calls(n int, script *backend.Script, key func(name string) string) []backend.Call {
	all := make([]backend.Call, n)
	for i := range all {
		number := fmt.Sprint(i)
		all[i] = backend.Call{Script: script, Keys: []string{key(number)}, Args: []string{number}}
	}
	return all
}

// spread returns n calls that echo their number, over keys of many slots.
func spread(e *harness.Env, n int) []backend.Call {
	script := e.Script("redis.call('set', KEYS[1], ARGV[1]) return ARGV[1]", 1, backend.RetryNever)
	return calls(n, script, e.Apart)
}

// counting returns n calls that count their runs, over keys of one slot.
func counting(e *harness.Env, n int) []backend.Call {
	return calls(n, e.Incr(backend.RetryNever), e.Key)
}

// refused returns a call that counts its runs, and that the server refuses in a way that lets a backend
// send it again, for as long as it likes to.
func refused(e *harness.Env, key string) backend.Call {
	script := e.Script("redis.call('incr', KEYS[1]) return redis.error_reply('LOADING not yet')", 1, backend.RetryNever)
	return backend.Call{Script: script, Keys: []string{key}}
}

// outcomes runs calls as a batch, and fails unless each has an outcome.
func outcomes(ctx context.Context, b backend.Batcher, calls []backend.Call) []backend.Outcome {
	got := backend.RunAll(ctx, b, calls)
	must.Not(len(got) != len(calls), "got %d outcomes, want %d", len(got), len(calls))
	return got
}

// wantSuccess runs calls as a batch, and fails if one fails.
func wantSuccess(ctx context.Context, b backend.Batcher, calls []backend.Call) {
	for _, outcome := range outcomes(ctx, b, calls) {
		must.Do(outcome.Err)
	}
}

func batchOutcomesAreInOrder(ctx context.Context, e *harness.Env) {
	b := as[backend.Batcher](e.Open(ctx))
	outcomes(ctx, b, nil)
	returnsReplies(ctx, b, spread(e, 100), func(int) bool { return true })
}

// returnsReplies runs calls of spread twice. The first time no node knows the script.
func returnsReplies(ctx context.Context, b backend.Batcher, calls []backend.Call, mayBe func(acked int) bool) {
	for range 2 {
		for i, outcome := range outcomes(ctx, b, calls) {
			must.In(fmt.Sprintf("call %d of the batch", i), func() {
				must.Do(outcome.Err)
				must.Return("Run", fmt.Sprint(i))(outcome.Reply.Text())
				must.Not(!mayBe(outcome.Acked), "%d replicas acknowledged", outcome.Acked)
			})
		}
	}
}

func batchFailuresStayAlone(ctx context.Context, e *harness.Env) {
	b, calls := as[backend.Batcher](e.Open(ctx)), spread(e, 3)
	calls[1].Script = e.Script("return redis.error_reply('STOP here')", 1, backend.RetryNever)
	if e.Capabilities.Cluster {
		crossing := e.Script("return 1", 2, backend.RetryNever)
		calls = append(calls, backend.Call{Script: crossing, Keys: e.Slots()})
	}
	got := outcomes(ctx, b, calls)
	err := errors.Join(got[0].Err, got[2].Err)
	must.Not(err != nil, "a failing call took others with it: %w", err)
	if e.Capabilities.Cluster {
		must.Wrap(got[3].Err, backend.ErrCrossSlot)
	}
	wantServerError(got[1].Err, "STOP", "here", 0)
}

// reportsAsKnown runs two scripts, of which the first is refused. The second must not wait until the
// backend gives that up.
func reportsAsKnown(batcher maker) func(context.Context, *harness.Env) {
	return func(ctx context.Context, e *harness.Env) {
		b, key := batcher(e.Open(ctx)), e.Key("refused")
		calls := append([]backend.Call{refused(e, key)}, spread(e, 1)...)
		reports := make(chan int64, len(calls))
		b.RunBatch(ctx, calls, func(int, backend.Outcome) {
			go func() {
				sent := int64(-1)
				_ = must.Catch(func() { sent = e.Count(ctx, key) })
				reports <- sent
			}()
		})
		first := <-reports
		last := e.Count(ctx, key)
		must.Not(first < 0, "the runs were not counted")
		must.Not(last > 2 && first == last, "a reply was reported after another call had been sent %d times", last)
	}
}

// loseReply runs calls that count as a batch, twice. The second time it loses the reply to a command for
// which match is true, and returns the outcomes. It fails if a call was sent again.
func loseReply(
	ctx context.Context, e *harness.Env, batcher maker, calls []backend.Call, match func(words []string) bool,
) []backend.Outcome {
	in := e.Open(ctx)
	b := batcher(in)
	wantSuccess(ctx, b, calls)
	lost := in.Link.CutReply(match)
	got := outcomes(ctx, b, calls)
	awaitLoss(ctx, lost, got[1].Err)
	for _, call := range calls {
		n := e.Count(ctx, call.Keys[0])
		must.Not(n > 2, "a script ran %d times, want at most 2", n)
	}
	return got
}

func batchHeedsContext(ctx context.Context, e *harness.Env) {
	b, calls := as[backend.Batcher](e.Open(ctx)), spread(e, 3)
	for _, outcome := range outcomes(ended(ctx), b, calls) {
		wantDefinite(outcome.Err, context.Canceled)
	}
	must.In("a call of a cancelled batch", func() { e.WantText(ctx, calls[0].Keys[0], "") })
}

// waiter is a batcher whose calls wait for replicas.
type waiter struct {
	backend.ReplicaWaiter
	replicas int
	timeout  time.Duration
}

func (w waiter) RunBatch(ctx context.Context, calls []backend.Call, report func(int, backend.Outcome)) {
	w.RunThenWait(ctx, calls, w.replicas, w.timeout, report)
}

// waiting returns the backend of in as a batcher whose calls wait for more replicas than any test server has.
func waiting(in *harness.Instance) backend.Batcher {
	return waiter{as[backend.ReplicaWaiter](in), 99, 20 * time.Millisecond}
}

// waitReturnsTheReply waits for more replicas than there are, and for one if there is one.
func waitReturnsTheReply(ctx context.Context, e *harness.Env) {
	in := e.Open(ctx)
	returnsReplies(ctx, waiting(in), spread(e, 20), func(acked int) bool { return acked >= 0 && acked < 99 })
	if e.FailOver != nil { // there is a replica
		one := waiter{as[backend.ReplicaWaiter](in), 1, harness.Patience / 2}
		returnsReplies(ctx, one, spread(e, 20), func(acked int) bool { return acked >= 1 })
	}
}

// waitSendsOnce breaks the connection of a batch: no WAIT can be answered on it.
func waitSendsOnce(ctx context.Context, e *harness.Env) {
	calls := counting(e, 4)
	got := loseReply(ctx, e, waiting, calls, runs(calls[1].Keys[0]))
	must.Wrap(got[1].Err, backend.ErrIndeterminate)
	must.Not(got[0].Err == nil || got[3].Err == nil, "WAIT was answered after its connection had been broken")
}

// waits runs calls that wait, and returns the commands that run scripts on the key of the first, and their WAITs.
func waits(ctx context.Context, in *harness.Instance, calls []backend.Call) (sent [][]string) {
	stop := in.Link.Record()
	wantSuccess(ctx, waiter{as[backend.ReplicaWaiter](in), 97, 21 * time.Millisecond}, calls)
	return slices.DeleteFunc(stop(), func(words []string) bool {
		return !harness.RunsScript(words, calls[0].Keys[0]) && !(harness.IsCommand(words, "WAIT") && words[1] == "97")
	})
}

func waitGoesOncePerNode(ctx context.Context, e *harness.Env) {
	in, calls := e.Open(ctx), spread(e, 20)
	nodes := len(must.Get(e.Primaries(ctx, "PING")))
	// A backend may have to learn which node has which keys.
	harness.Eventually(ctx, "a batch with one WAIT for each node", func() bool {
		n := len(slices.DeleteFunc(waits(ctx, in, calls), runs(calls[0].Keys[0])))
		must.Not(n < 1 || n > nodes, "a batch for up to %d nodes had %d WAITs", nodes, n)
		return true
	})
}

// waitFollowsACallSentAgain runs a script that no node knows.
func waitFollowsACallSentAgain(ctx context.Context, e *harness.Env) {
	sent := waits(ctx, e.Open(ctx), spread(e, 1))
	must.Not(len(sent) < 3 || !harness.IsCommand(sent[len(sent)-1], "WAIT"), "sent %q, with no WAIT at the end", sent)
}

// nodeOfNamesTheOwner compares names with what the primaries are called by themselves.
func nodeOfNamesTheOwner(ctx context.Context, e *harness.Env) {
	b := as[backend.Locator](e.Open(ctx))
	harness.Eventually(ctx, "the names of the primaries", func() bool {
		names := map[string]string{}
		for i := range 20 {
			key := e.Apart(fmt.Sprint(i))
			node := must.Get(must.Get(e.Do(ctx, key, "CLUSTER", "MYID")).Text())
			name := b.NodeOf(key)
			must.Not(name == "" || cmp.Or(names[node], name) != name || cmp.Or(names[name], node) != node,
				"key %s of node %s has the name %q, others %v", key, node, name, names)
			names[node], names[name] = name, node
		}
		return true
	})
}

// scanFindsEveryKey lists keys of many slots.
func scanFindsEveryKey(ctx context.Context, e *harness.Env) {
	b := as[backend.Scanner](e.Open(ctx))
	missing, pattern := map[string]bool{e.Key("other"): true}, e.Apart("*")
	for i := range 50 {
		missing[e.Apart(fmt.Sprint(i))] = true
	}
	for key := range missing {
		e.Command(ctx, "SET", key, "v")
	}
	delete(missing, e.Key("other"))
	for keys, err := range b.Scan(ctx, pattern, 10) {
		must.Do(err)
		for _, key := range keys {
			must.Not(key == e.Key("other"), "got the key %q, which the pattern %q does not have", key, pattern)
			delete(missing, key)
		}
	}
	must.Not(len(missing) > 0, "%d of 50 keys are missing: %v", len(missing), missing)
	for _, err := range b.Scan(ended(ctx), pattern, 10) {
		wantDefinite(err, context.Canceled)
	}
}

func waitKeepsTheReply(ctx context.Context, e *harness.Env) {
	for _, outcome := range loseReply(ctx, e, waiting, counting(e, 4), func(words []string) bool {
		return harness.IsCommand(words, "WAIT")
	}) {
		must.Wrap(outcome.Err, backend.ErrReplicas)
		must.Return("the run whose WAIT was lost", int64(2))(outcome.Reply.Int())
	}
}

// claimed runs calls as a batch, of which the first has a claim, which is taken. It returns what receives
// the outcome of the first.
func claimed(ctx context.Context, b backend.Batcher, calls []backend.Call) <-chan backend.Outcome {
	calls[0].Claim = new(backend.Claim)
	calls[0].Claim.Begin()
	outcome := make(chan backend.Outcome, 1)
	go b.RunBatch(ctx, calls, func(place int, o backend.Outcome) {
		if place == 0 {
			outcome <- o
		}
	})
	return outcome
}

// withdrawnCallIsNotSentAgain withdraws a call that the server refuses, alone and with another. Its
// claim is returned between two tries.
func withdrawnCallIsNotSentAgain(ctx context.Context, e *harness.Env) {
	b := as[backend.Batcher](e.Open(ctx))
	for i := range 2 {
		calls := append([]backend.Call{refused(e, e.Key(fmt.Sprint("n", i)))}, spread(e, i)...)
		must.In(fmt.Sprintf("in a batch of %d", len(calls)), func() { withdraw(ctx, e, b, calls) })
	}
}

// withdraw withdraws the first of calls, which counts its runs, once it has run.
func withdraw(ctx context.Context, e *harness.Env, b backend.Batcher, calls []backend.Call) {
	key := calls[0].Keys[0]
	ended := claimed(ctx, b, calls)
	harness.Eventually(ctx, "the call to run", func() bool { return e.Count(ctx, key) > 0 })
	for !calls[0].Claim.Cancel() {
		select {
		case o := <-ended:
			must.Fail("the call could not be withdrawn until it returned %w", o.Err)
		case <-time.After(time.Millisecond):
		}
	}
	before := e.Count(ctx, key)
	o := harness.Await(ctx, "a withdrawn call to be reported", ended)
	must.Not(o.Err == nil, "a withdrawn call was reported without an error")
	e.WantCount(ctx, key, before)
}

// callUnderWayIsNotWithdrawn loses the reply to a call: as nobody knows that the server ran it, it cannot be withdrawn.
func callUnderWayIsNotWithdrawn(ctx context.Context, e *harness.Env) {
	in := e.Open(ctx)
	b := as[backend.Batcher](in)
	calls := counting(e, 2)
	for range pooled {
		wantSuccess(ctx, b, calls)
	}
	lost := in.Link.LoseReply(runs(calls[0].Keys[0]))
	defer in.Link.Restore()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := claimed(ctx, b, calls)
	harness.Await(ctx, "the loss of the reply", lost)
	time.Sleep(soonEnded) // For as long the reply might have come.
	must.Not(calls[0].Claim.Cancel(), "a call that the server has run was withdrawn")
	cancel()
	must.Wrap((<-ended).Err, backend.ErrIndeterminate)
}
