package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// claimCases are about callers that leave a batch: B2.
func claimCases() []Case {
	batches, link := []need{needsBatches}, []need{needsBatches, needsLink}
	return []Case{
		{Name: "WithdrawnCallIsNotSentAgain", Clause: "B2", needs: batches, check: checkWithdrawn},
		{Name: "CallUnderWayIsNotWithdrawn", Clause: "B2", needs: link, check: checkUnderWay},
	}
}

// claimed runs calls as a batch, of which the first has the claim, which is taken. It returns what
// receives the outcome of the first.
func claimed(
	ctx context.Context, b backend.Batcher, calls []backend.Call, claim *backend.Claim,
) <-chan backend.Outcome {
	claim.Take()
	calls[0].Claim = claim
	outcome := make(chan backend.Outcome, 1)
	go b.RunBatch(ctx, calls, func(place int, o backend.Outcome) {
		if place == 0 {
			outcome <- o
		}
	})
	return outcome
}

// checkWithdrawn withdraws a call that the server refuses in a way that lets a backend send it again,
// alone and beside another. Its claim is returned between two tries.
func checkWithdrawn(ctx context.Context, e *env) error {
	b, _, err := e.batcher(ctx)
	if err != nil {
		return err
	}
	for i := range 2 {
		refused, key := e.script(
			"redis.call('incr', KEYS[1]) return redis.error_reply('LOADING not yet')",
			1, backend.Never), e.key(fmt.Sprint("n", i))
		calls := append([]backend.Call{{Script: refused, Keys: []string{key}}}, e.spread(i)...)
		if err := e.withdraws(ctx, b, calls); err != nil {
			return fmt.Errorf("in a batch of %d: %w", len(calls), err)
		}
	}
	return nil
}

// withdraws withdraws the first of calls, which counts its runs, once it has run.
func (e *env) withdraws(ctx context.Context, b backend.Batcher, calls []backend.Call) error {
	var claim backend.Claim
	key := calls[0].Keys[0]
	ended := claimed(ctx, b, calls, &claim)
	err := eventually(ctx, "the call to run", func() (bool, error) {
		n, err := e.count(ctx, key)
		return n > 0, err
	})
	if err != nil {
		return err
	}
	for !claim.Withdraw() {
		select {
		case o := <-ended:
			return fmt.Errorf("the call could not be withdrawn until it returned %w", o.Err)
		case <-time.After(time.Millisecond):
		}
	}
	before, err := e.count(ctx, key)
	if err != nil {
		return err
	}
	select {
	case o := <-ended:
		if o.Err == nil {
			return errors.New("a withdrawn call was reported without an error")
		}
	case <-ctx.Done():
		return errors.New("a withdrawn call was not reported")
	}
	return e.wantCount(ctx, key, before)
}

// checkUnderWay loses the reply to a call: as nobody knows that the server ran it, it cannot be
// withdrawn.
func checkUnderWay(ctx context.Context, e *env) error {
	b, in, err := e.batcher(ctx)
	if err != nil {
		return err
	}
	script := e.incr(backend.Never)
	calls := []backend.Call{
		{Script: script, Keys: []string{e.key("n")}}, {Script: script, Keys: []string{e.key("m")}},
	}
	// The connections are there before: they are no part of it.
	for range 64 {
		if err := firstError(backend.RunAll(ctx, b, calls)); err != nil {
			return err
		}
	}
	lost := in.Link.LoseReply(func(words []string) bool { return runsScript(words, e.key("n")) })
	defer in.Link.Restore()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var claim backend.Claim
	ended := claimed(ctx, b, calls, &claim)
	select {
	case <-lost:
	case o := <-ended:
		return fmt.Errorf("no reply was lost, the call returned %w", o.Err)
	case <-ctx.Done():
		return errors.New("no reply was lost")
	}
	time.Sleep(soonEnded) // For as long the reply might have come.
	if claim.Withdraw() {
		return errors.New("a call that the server has run was withdrawn")
	}
	cancel()
	o := <-ended
	if !errors.Is(o.Err, backend.ErrIndeterminate) {
		return fmt.Errorf("got error %w, want one that wraps ErrIndeterminate", o.Err)
	}
	return nil
}
