package primitives

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/hasp-go/hasp/primitives/internal/script"
)

// Estimate is permits that [Throttle.AllowEstimate] has taken for work whose cost is known only when it is done, such as
// a call of a language model. The server does not know it: if the caller crashes, the estimate stays charged. It is safe
// for concurrent use.
type Estimate struct {
	throttle *Throttle
	n        int
	granted  int64 // the server's time, in microseconds
	local    bool  // the server does not know it
	settled  atomic.Bool
}

// AllowEstimate is [Throttle.Allow] of an estimate, which [Estimate.Settle] corrects. If n permits are not free, the
// Estimate is nil, and the Decision says when to try again. If the Decision is Local, Settle sends nothing.
func (t *Throttle) AllowEstimate(ctx context.Context, n int) (*Estimate, Decision, error) {
	a, err := t.allow(ctx, n)
	if err != nil || !a.decision.Allowed {
		return nil, a.decision, err
	}
	return &Estimate{throttle: t, n: n, granted: a.granted, local: a.decision.Local}, a.decision, nil
}

// Settle replaces the estimate by the permits that were used, 0 to 10 000 000, in one round trip. It does not wait.
//
// If less was used, Settle gives back the rest, but for what the rate has freed since the grant: so callers never get
// more than if actual had been taken at once. Exceptions are a Delete, a loss of data and a clock that is set
// back in the meantime: then they may get more, up to what is given back. If more was used, Settle takes the difference,
// even if too few permits are free: until all of the burst is in use, and [ThrottleOptions].Debt permits beyond it. What
// exceeds that is not charged.
//
// Settle settles once: afterwards it returns [ErrSettled]. After [ErrIndeterminate] either the estimate is charged or
// actual, and Settle cannot be called again. After any other error the estimate is charged, and Settle can be
// called again.
func (e *Estimate) Settle(ctx context.Context, actual int) error {
	t := e.throttle
	return t.do(ctx, within("actual", actual, 0, maxThrottlePermits), "settle", func() error {
		if !e.settled.CompareAndSwap(false, true) {
			return ErrSettled
		}
		err := e.settle(ctx, actual)
		if err != nil && !errors.Is(err, ErrIndeterminate) {
			e.settled.Store(false)
		}
		return err
	})
}

// settle gives back or charges the difference.
func (e *Estimate) settle(ctx context.Context, actual int) error {
	t := e.throttle
	permits, interval, burst := t.limit.args()
	run, keys := t.base.Runner(), []string{t.base.Key()}
	var err error
	switch more := int64(actual - e.n); {
	case e.local:
	case more < 0:
		defer t.client.localRefusals.end(t)
		_, err = script.ThrottleReturn(ctx, run, keys, e.granted, []int64{-more}, permits, interval, burst)
	case more > 0:
		_, err = script.ThrottleCharge(ctx, run, keys[0], more, permits[0], interval[0], burst[0]+int64(t.opts.Debt))
	}
	return err
}
