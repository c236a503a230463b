package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// patience is how long a call must have been tried, at least, before its failure lets other calls fail at
// once. So a server that is down for a shorter time fails none that the backend keeps trying.
const patience = 500 * time.Millisecond

// errNoAnswer is wrapped by the error of a caller that has waited for its request's Limit.
var errNoAnswer = errors.New("no answer within")

// retries is the key of a context whose calls are the further tries of a waiter.
type retries struct{}

// Retry returns a context for the further tries of a waiter. Its calls are sent even if their node is away, and their
// callers leave when the client begins to close.
func Retry(ctx context.Context) context.Context { return context.WithValue(ctx, retries{}, true) }

// askAway returns an error if r fails at once, since its node is away. It lets r fail fast if r is hasty, or a
// probe: the callers after it shall not wait for it. A hasty call does not become a probe, but may begin one.
func (d *Dispatcher) askAway(ctx context.Context, r *Request) error {
	probe := false
	if !d.nodes.none() && !r.AlwaysSend && !r.Contained && !r.Insistent && ctx.Value(retries{}) == nil {
		calls := nodeCalls{node: d.nodeOf(r.Keys), hasty: r.Hasty}
		var err error
		if probe, err = d.nodes.ask(calls); probe && r.Hasty {
			go d.probe(calls, r.Keys[0], r.Limit)
		}
		if err != nil {
			return err
		}
	}
	if (probe || r.Hasty) && !r.Script.FailFast {
		r.Script = d.failFast(r.Script)
	}
	return nil
}

// probe asks a node that is away for the type of a key, once, until limit has passed, or the client begins to close.
// The call notes its outcome.
func (d *Dispatcher) probe(calls nodeCalls, key string, limit time.Duration) {
	defer d.nodes.probed(calls)
	_, _ = script.ObjectKind(d.closing, &Runner{Dispatcher: d, Hasty: true, Limit: limit, Contained: true}, key)
}

// failFast returns a script that is equal to s, but fails fast. It keeps it for the next call.
func (d *Dispatcher) failFast(s *backend.Script) *backend.Script {
	if known, ok := d.fast.Load(s); ok {
		return known.(*backend.Script) //nolint:forcetypeassert // It has nothing else.
	}
	fast := *s
	fast.FailFast = true
	known, _ := d.fast.LoadOrStore(s, &fast)
	return known.(*backend.Script) //nolint:forcetypeassert // As above.
}

// noteOutcome notes what the outcome of a call says about its node. Only a failed dial says that the node is
// away: no error reply of a server, and no call whose caller has left.
func (d *Dispatcher) noteOutcome(r *Request, call backend.Call, tried time.Duration, err error) {
	switch {
	case err == nil, errors.Is(err, backend.ErrReply), errors.As(err, new(*backend.ServerError)):
		if !d.nodes.none() && d.nodes.answered(d.nodeOf(call.Keys)) && d.OnBack != nil {
			d.OnBack(call.Keys[0])
		}
	case r.state.Load() == callerWaits && unreached(call, err):
		d.noteAway(call.Keys, r.Hasty, err, r.Hasty || tried >= patience)
	}
}

// unreached reports whether err, which is no reply, means that a call has reached no server: it is certainly not
// executed, and was neither withdrawn nor queued for a connection all the time.
func unreached(call backend.Call, err error) bool {
	return errors.Is(err, backend.ErrUnavailable) && (call.Script.Retry.Writes() || !call.Claim.Begun()) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, errNoConnection)
}

// noteSilence notes that a hasty call got no answer within its Limit.
func (d *Dispatcher) noteSilence(r *Request, why error) {
	if r.Hasty && errors.Is(why, errNoAnswer) {
		d.noteAway(r.Keys, true, fmt.Errorf("%w: %w", backend.ErrUnavailable, why), true)
	}
}

func (d *Dispatcher) noteAway(keys []string, hasty bool, cause error, begins bool) {
	first := d.nodes.failed(nodeCalls{node: d.nodeOf(keys), hasty: hasty}, cause, begins)
	if first && d.OnAway != nil {
		d.OnAway(keys[0], cause)
	}
}

func (d *Dispatcher) nodeOf(keys []string) string {
	if d.locator == nil || len(keys) == 0 {
		return ""
	}
	return d.locator.NodeOf(keys[0])
}
