package mutants

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// refusalMutants break a rule of R12 each.
func refusalMutants() []mutant {
	return []mutant{
		{"takes a refusal for a reply of nothing", oneServer, "RefusedHandshake RefusedAll", onJudged(instead(backend.ErrUnavailable, nil))},
		{"takes a refusal for a lost reply", oneServer, "RefusedHandshake RefusedCall RefusedLoad",
			onJudged(instead(backend.ErrUnavailable, backend.ErrIndeterminate))},
		{"keeps a server's words to itself", oneServer, "RefusedHandshake RefusedLoad",
			onJudged(instead(backend.ErrUnavailable, backend.ErrUnavailable))},
		{"takes a lost reply for a refusal", oneServer, "RefusedCall",
			onJudged(instead(backend.ErrIndeterminate, backend.ErrUnavailable))},
		{"takes an error reply for a lost one", oneServer, "RefusedCall",
			onJudged(instead(backend.ScriptError("OOM"), backend.Indeterminate(errors.New("OOM command not allowed when used memory > 'maxmemory'."))))},
		{"returns what no server has said", oneServer, "RefusedNodes", onReply(
			func(c backend.Call, r backend.Reply, err error) (backend.Reply, error) {
				if err == nil && len(c.Args) > 0 {
					r = backend.StringReply("7")
				}
				return r, err
			})},
		{"does not say that the waiting failed", oneServer, "RefusedWait", onWait(outcomes(
			func(_ []backend.Call, outcomes []backend.Outcome) {
				for i := range outcomes {
					outcomes[i].Err = nil
				}
			}))},
		{"does not come back to a server that has refused", oneServer, "RefusedOnce", func(b *broken) {
			var gone atomic.Bool
			onJudged(func(err error) error { gone.Store(true); return err })(b)
			good := b.run
			b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
				if gone.Load() {
					return backend.Reply{}, backend.ErrUnavailable
				}
				return good(ctx, c)
			}
		}},
		{"takes a refused subscription for a made one", oneServer, "RefusedSubscribe", onSubscribe(
			func(good subscribeFunc) subscribeFunc {
				return func(ctx context.Context, channel string, h backend.Handler) (backend.Subscription, error) {
					if sub, err := good(ctx, channel, h); err == nil {
						return sub, nil
					}
					return canceler(func() {}), nil
				}
			})},
		{"hears nothing after a gap", oneServer, "RefusedResubscribe", deafOnce(
			func(e backend.Event, _ time.Time) bool { return e.Kind == backend.EventResubscribed })},
		{"hears nothing after a ping is due", oneServer, "RefusedPing", deafOnce(
			func(_ backend.Event, begun time.Time) bool { return time.Since(begun) > 3*time.Second })},
		{"hears nothing on what it subscribes again", oneServer, "RefusedUnsubscribe", func(b *broken) {
			var left atomic.Bool
			onCancel(func(cancel func()) { left.Store(true); cancel() })(b)
			deafOnce(func(backend.Event, time.Time) bool { return left.Load() })(b)
		}},
	}
}

// onJudged changes the errors of the calls that the cases of R12 judge: they have arguments, and time.
func onJudged(change func(err error) error) func(*broken) {
	return onReply(func(c backend.Call, r backend.Reply, err error) (backend.Reply, error) {
		if err != nil && len(c.Args) > 0 && !c.Script.FailFast {
			err = change(err)
		}
		return r, err
	})
}

// deafOnce keeps all events from a handler once one is as described; begun is when the subscription was made.
func deafOnce(is func(e backend.Event, begun time.Time) bool) func(*broken) {
	return onEvents(func(h backend.Handler) backend.Handler {
		deaf, begun := false, time.Now()
		return func(event backend.Event) {
			if deaf = deaf || is(event, begun); !deaf {
				h(event)
			}
		}
	})
}
