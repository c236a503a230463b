package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// batchCases are about what a backend may offer beyond Run: B1, W1.
func batchCases() []Case {
	batches, waits := []need{needsBatches}, []need{needsReplicaWaiter}
	batchesLink := []need{needsBatches, needsLink}
	waitsLink := []need{needsReplicaWaiter, needsLink}
	return []Case{
		{Name: "BatchOutcomesAreInOrder", Clause: "B1", needs: batches, check: checkBatchOrder},
		{Name: "BatchFailuresStayAlone", Clause: "B1", needs: batches, check: checkBatchFailures},
		{Name: "BatchReportsAsKnown", Clause: "B1", needs: batches, check: checkBatchReports},
		{Name: "BatchLoadsMissingScripts", Clause: "B1", needs: batches, check: checkBatchLoads},
		{Name: "BatchSendsOnce", Clause: "B1", needs: batchesLink, check: checkBatchOnce},
		{Name: "BatchHeedsContext", Clause: "B1", needs: batches, check: checkBatchContext},
		{Name: "WaitReturnsTheReply", Clause: "W1", needs: waits, check: checkWait},
		{Name: "WaitKeepsTheReplyOfALostWait", Clause: "W1", needs: waitsLink, check: checkLostWait},
		{Name: "WaitSendsOnce", Clause: "W1", needs: waitsLink, check: checkWaitOnce},
	}
}

// batcher makes a backend that batches.
func (e *env) batcher(ctx context.Context) (backend.Batcher, *Instance, error) {
	in, err := e.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	b, ok := in.Backend.(backend.Batcher)
	if !ok {
		return nil, nil, errors.New("the backend does not implement Batcher")
	}
	return b, in, nil
}

// spread returns n calls that echo their number, over keys of many slots.
func (e *env) spread(n int) []backend.Call {
	script := e.script("redis.call('set', KEYS[1], ARGV[1]) return ARGV[1]", 1, backend.Never)
	calls := make([]backend.Call, n)
	for i := range calls {
		number := fmt.Sprint(i)
		calls[i] = backend.Call{
			Script: script, Keys: []string{e.tag + ":" + number}, Args: []string{number},
		}
	}
	return calls
}

// wantEchoes checks the outcomes of spread.
func wantEchoes(outcomes []backend.Outcome, n int) error {
	if len(outcomes) != n {
		return fmt.Errorf("got %d outcomes, want %d", len(outcomes), n)
	}
	for i, outcome := range outcomes {
		got, err := outcome.Reply.Text()
		if err = errors.Join(outcome.Err, err); err != nil || got != fmt.Sprint(i) {
			return fmt.Errorf("outcome %d is %q, %w", i, got, err)
		}
	}
	return nil
}

func checkBatchOrder(ctx context.Context, e *env) error {
	b, in, err := e.batcher(ctx)
	if err != nil {
		return err
	}
	calls := e.spread(100)
	// The script is known everywhere before: loading is another case.
	for _, call := range calls {
		if _, err := in.Backend.Run(ctx, call.Script, call.Keys, call.Args); err != nil {
			return err
		}
	}
	if got := backend.RunAll(ctx, b, nil); len(got) != 0 {
		return fmt.Errorf("an empty batch has %d outcomes", len(got))
	}
	return wantEchoes(backend.RunAll(ctx, b, calls), len(calls))
}

func checkBatchLoads(ctx context.Context, e *env) error {
	b, _, err := e.batcher(ctx)
	if err != nil {
		return err
	}
	calls := e.spread(100)
	return wantEchoes(backend.RunAll(ctx, b, calls), len(calls))
}

func checkBatchFailures(ctx context.Context, e *env) error {
	b, _, err := e.batcher(ctx)
	if err != nil {
		return err
	}
	calls := e.spread(3)
	calls[1].Script = e.script("return redis.error_reply('STOP here')", 1, backend.Never)
	if e.Capabilities.Cluster {
		crossing := e.script("return 1", 2, backend.Never)
		calls = append(calls, backend.Call{Script: crossing, Keys: e.differentSlots()})
	}
	outcomes := backend.RunAll(ctx, b, calls)
	if len(outcomes) != len(calls) {
		return fmt.Errorf("got %d outcomes, want %d", len(outcomes), len(calls))
	}
	if err := errors.Join(outcomes[0].Err, outcomes[2].Err); err != nil {
		return fmt.Errorf("a failing call took others with it: %w", err)
	}
	if e.Capabilities.Cluster && !errors.Is(outcomes[3].Err, backend.ErrCrossSlot) {
		return fmt.Errorf("got error %w, want ErrCrossSlot", outcomes[3].Err)
	}
	return wantServerError(outcomes[1].Err, "STOP", "here", 0)
}

// checkBatchReports runs two scripts, of which the server refuses the first in a way that lets a
// backend send it again, for as long as it likes to. The second must not wait for that.
func checkBatchReports(ctx context.Context, e *env) error {
	b, _, err := e.batcher(ctx)
	if err != nil {
		return err
	}
	refused := e.script(
		"redis.call('incr', KEYS[1]) return redis.error_reply('LOADING not yet')", 1, backend.Never)
	calls := []backend.Call{{Script: refused, Keys: []string{e.key("refused")}}, e.spread(1)[0]}
	reports := make(chan int64, len(calls))
	b.RunBatch(ctx, calls, func(int, backend.Outcome) {
		go func() {
			sent, err := e.count(ctx, calls[0].Keys[0])
			if err != nil {
				sent = -1
			}
			reports <- sent
		}()
	})
	first := <-reports
	last, err := e.count(ctx, calls[0].Keys[0])
	switch {
	case err != nil || first < 0:
		return errors.Join(errors.New("the runs were not counted"), err)
	case last > 2 && first == last:
		return fmt.Errorf("a reply was reported after another call had been sent %d times", last)
	}
	return nil
}

func checkBatchOnce(ctx context.Context, e *env) error {
	b, in, err := e.batcher(ctx)
	if err != nil {
		return err
	}
	script := e.incr(backend.Never)
	calls := make([]backend.Call, 4)
	for i := range calls {
		calls[i] = backend.Call{Script: script, Keys: []string{e.key(fmt.Sprint("n", i))}}
	}
	if err := firstError(backend.RunAll(ctx, b, calls)); err != nil {
		return err
	}
	second := calls[1].Keys[0]
	lost := in.Link.CutReply(func(words []string) bool { return runsScript(words, second) })
	outcomes := backend.RunAll(ctx, b, calls)
	select {
	case <-lost:
	case <-ctx.Done():
		return errors.New("no reply was lost")
	}
	if err := outcomes[1].Err; !errors.Is(err, backend.ErrIndeterminate) {
		return fmt.Errorf("got error %w, want one that wraps ErrIndeterminate", err)
	}
	return e.wantAtMost(ctx, calls, 2)
}

// wantAtMost checks the counters of calls after a batch in doubt.
func (e *env) wantAtMost(ctx context.Context, calls []backend.Call, most int64) error {
	for _, call := range calls {
		n, err := e.count(ctx, call.Keys[0])
		if err != nil {
			return err
		}
		if n > most {
			return fmt.Errorf("a script ran %d times, want at most %d", n, most)
		}
	}
	return nil
}

func firstError(outcomes []backend.Outcome) error {
	for _, outcome := range outcomes {
		if outcome.Err != nil {
			return outcome.Err
		}
	}
	return nil
}

func checkBatchContext(ctx context.Context, e *env) error {
	b, _, err := e.batcher(ctx)
	if err != nil {
		return err
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	calls := e.spread(3)
	for _, outcome := range backend.RunAll(ended, b, calls) {
		if !errors.Is(outcome.Err, context.Canceled) || backend.MayHaveRun(outcome.Err) {
			return fmt.Errorf("got error %w, want a definite context.Canceled", outcome.Err)
		}
	}
	got, err := e.Do(ctx, calls[0].Keys[0], "GET", calls[0].Keys[0])
	if err == nil && !got.IsNil() {
		err = errors.New("a call of a cancelled batch was run")
	}
	return err
}

// waiter makes a backend that waits for replicas.
func (e *env) waiter(ctx context.Context) (backend.ReplicaWaiter, *Instance, error) {
	in, err := e.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	b, ok := in.Backend.(backend.ReplicaWaiter)
	if !ok {
		return nil, nil, errors.New("the backend does not implement ReplicaWaiter")
	}
	return b, in, nil
}

// checkWait asks for more replicas than any test server has, and for one if there is one.
func checkWait(ctx context.Context, e *env) error {
	b, _, err := e.waiter(ctx)
	if err != nil {
		return err
	}
	call := backend.Call{Script: e.incr(backend.Never), Keys: []string{e.key("n")}}
	for i := range 2 {
		reply, acked, err := b.RunThenWait(ctx, call, 99, 20*time.Millisecond)
		if err != nil {
			return err
		}
		if n, err := reply.Int(); err != nil || n != int64(i+1) {
			return fmt.Errorf("run %d returned %d, %w", i+1, n, err)
		}
		if acked < 0 || acked >= 99 {
			return fmt.Errorf("%d replicas acknowledged", acked)
		}
	}
	if e.FailOver == nil { // there is no replica
		return nil
	}
	_, acked, err := b.RunThenWait(ctx, call, 1, Patience/2)
	if err == nil && acked < 1 {
		err = errors.New("no replica acknowledged, though there is one")
	}
	return err
}

func checkLostWait(ctx context.Context, e *env) error {
	b, in, err := e.waiter(ctx)
	if err != nil {
		return err
	}
	call := backend.Call{Script: e.incr(backend.Never), Keys: []string{e.key("n")}}
	if _, _, err := b.RunThenWait(ctx, call, 1, time.Millisecond); err != nil {
		return err
	}
	lost := in.Link.CutReply(func(words []string) bool { return isCommand(words, "WAIT") })
	reply, _, err := b.RunThenWait(ctx, call, 1, time.Millisecond)
	select {
	case <-lost:
	case <-ctx.Done():
		return fmt.Errorf("no WAIT was lost; the run's error was %w", err)
	}
	n, intErr := reply.Int()
	if !errors.Is(err, backend.ErrReplicas) || intErr != nil || n != 2 {
		return fmt.Errorf("got reply %v and error %w, want the reply and ErrReplicas", reply, err)
	}
	return e.wantCount(ctx, e.key("n"), 2)
}

func checkWaitOnce(ctx context.Context, e *env) error {
	b, in, err := e.waiter(ctx)
	if err != nil {
		return err
	}
	key := e.key("n")
	call := backend.Call{Script: e.incr(backend.Never), Keys: []string{key}}
	if _, _, err := b.RunThenWait(ctx, call, 1, time.Millisecond); err != nil {
		return err
	}
	lost := in.Link.CutReply(func(words []string) bool { return runsScript(words, key) })
	_, _, err = b.RunThenWait(ctx, call, 1, time.Millisecond)
	select {
	case <-lost:
	case <-ctx.Done():
		return errors.New("no reply was lost")
	}
	if !errors.Is(err, backend.ErrIndeterminate) {
		return fmt.Errorf("got error %w, want one that wraps ErrIndeterminate", err)
	}
	return e.wantCount(ctx, key, 2)
}
