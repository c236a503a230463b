package primitives

import (
	"context"
	"errors"
	"fmt"

	"github.com/hasp-go/hasp/primitives/internal/wait"
)

// refusals is what a caller that waits knows of its attempts so far.
type refusals struct {
	refused bool  // the server has refused it: somebody else holds what it waits for
	outage  error // what the last attempt got instead of an answer
}

// note turns the outcome of an attempt into what the waiting loop gets. Once a caller was refused it
// waits on through outages: without a server, and, if repeats says so, after an unknown outcome.
func (r *refusals) note(
	ctx context.Context, answer wait.Answer, err error, repeats bool,
) (wait.Answer, error) {
	switch {
	case err == nil:
		r.refused, r.outage = !answer.Granted, nil
	case r.refused && ctx.Err() == nil && (repeats || errors.Is(err, ErrUnavailable)):
		r.outage = err
		return wait.Answer{Outage: true, RetryIn: -1}, nil
	}
	return answer, err
}

// explain adds to the error that ended a waiting what is known of it: if ctx has ended, that no server
// answered, or what a refusal means, if it means something; and the cause of ctx's end.
func (r *refusals) explain(ctx context.Context, err, refusal error) error {
	ended := ctx.Err() != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, ErrIndeterminate)
	switch {
	case ended && r.outage != nil:
		err = fmt.Errorf("%w: %w", err, r.outage)
	case ended && r.refused && refusal != nil:
		err = fmt.Errorf("%w: %w", refusal, err)
	}
	return withCause(ctx, err)
}

// tryOnce makes one attempt, and fails with [ErrNotAcquired] if it is refused.
func tryOnce(ctx context.Context, a wait.Attempt) error {
	answer, err := a.Try(ctx)
	if err == nil && !answer.Granted {
		return ErrNotAcquired
	}
	return err
}
