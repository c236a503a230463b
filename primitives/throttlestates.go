package primitives

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// ThrottleStates returns the [Throttle.State] of each of the throttles, in their order. It sends one command, in a
// cluster one for each slot, all at once, and waits for the answers as long as the first throttle's Timeout says. A
// server does nothing else while it runs a command: for 1 000 names that is about 10 ms. If one command fails,
// ThrottleStates returns its error, and no states. It returns a [*FieldError] if a throttle is nil, invalid, or of
// another client than the first.
func ThrottleStates(ctx context.Context, throttles ...*Throttle) ([]Decision, error) {
	if len(throttles) == 0 {
		return nil, nil
	}
	takes := make([]Take, len(throttles))
	for i, t := range throttles {
		if t == nil || t.base.Core() != throttles[0].base.Core() {
			return nil, &FieldError{Field: "throttles", Problem: fmt.Sprintf("number %d is nil or of another client", i+1)}
		}
		if t.invalid != nil {
			return nil, fmt.Errorf("query %s %q: %w", throttleKind, t.Name(), t.invalid)
		}
		takes[i].throttle = t
	}
	return queryStates(ctx, throttles, takes)
}

// queryStates returns the states of throttles of one client. It names the throttle that a server's error is about.
func queryStates(ctx context.Context, throttles []*Throttle, takes []Take) ([]Decision, error) {
	first, each := throttles[0], make([]Decision, len(throttles))
	names := fmt.Sprintf("%s and %d others", first.Name(), len(throttles)-1)
	all := first.base.Core().NewObject("throttles", names, throttleType)
	each, err := extend.Call(ctx, &all, nil, "query", func() ([]Decision, error) {
		err := noteStates(ctx, first.runner, throttleSteps(false, takes), each)
		if errors.Is(err, backend.ErrCrossSlot) {
			err = noteStates(ctx, first.runner, throttleSteps(true, takes), each)
		}
		return each, queryError(ctx, err)
	})
	if !errors.As(err, new(*backend.ServerError)) {
		return each, err
	}
	for _, t := range throttles {
		if _, named := t.State(ctx); named != nil {
			return nil, named
		}
	}
	return nil, err
}

// noteStates runs the steps at once, and notes the states.
func noteStates(ctx context.Context, run backend.ScriptRunner, steps []throttleStep, each []Decision) error {
	errs := make([]error, len(steps))
	var running sync.WaitGroup
	for i, s := range steps {
		running.Go(func() {
			found, err := script.ThrottleState(ctx, run, s.keys, s.permits, s.intervals, s.bursts)
			if errs[i] = err; err == nil {
				s.note(each, found.Remaining, found.Retry, found.Reset)
			}
		})
	}
	running.Wait()
	return cmp.Or(errs...)
}
