package extend

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/primitives/internal/hook"
	"github.com/hasp-go/hasp/primitives/internal/wait"
	"github.com/hasp-go/hasp/primitives/internal/worded"
	"github.com/hasp-go/hasp/primitives/trace"
)

func init() {
	hook.Repeat = func(ctx context.Context, pauses Backoff, refusal error, try func(context.Context) (bool, error)) error {
		w := waiter{attempt: shared(try), owns: true}
		return worded.WithCause(ctx, w.explain(ctx, wait.Repeat(ctx, pauses, &w), refusal))
	}
	hook.Completed = func(object any, period time.Time) {
		o := object.(*Object) //nolint:forcetypeassert // See [hook.Completed].
		if report := o.core.opts.Tracer.JobCompleted; report != nil {
			report(trace.JobCompleted{Object: o.traced(), Period: period})
		}
	}
}

// shared is the attempt of several clients.
type shared func(ctx context.Context) (granted bool, err error)

// Try implements [Attempt].
func (try shared) Try(ctx context.Context) (Answer, error) {
	granted, err := try(ctx)
	return Answer{Granted: granted}, err
}
