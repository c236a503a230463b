package extend

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/worded"
	"github.com/hasp-go/hasp/primitives/lease"
	"github.com/hasp-go/hasp/primitives/trace"
)

// trace connects the client's tracer with the parts that report to it.
func (c *Core) trace() {
	if report := c.opts.Tracer.Renewal; report != nil {
		c.keeper.OnRenewal = func(r trace.Renewal) {
			r.Err = readable(r.Err)
			report(r)
		}
	}
	if report := c.opts.Tracer.SubscriptionGap; report != nil {
		c.listen.OnGap = func(channel string, err error) {
			report(trace.SubscriptionGap{Channel: worded.Text(channel), Err: readable(err)})
		}
	}
}

// readable returns err with a text as a tracer gets it: see [worded.Text].
func readable(err error) error {
	if err == nil || utf8.ValidString(err.Error()) {
		return err
	}
	return worded.New(worded.Text(err.Error()), err)
}

// traced returns the object as a tracer gets it.
func (o *Object) traced() trace.Object {
	return trace.Object{Kind: worded.Text(o.id.Object.Kind), Name: worded.Text(o.id.Object.Name)}
}

// ReportThrottled reports a decision about o, a throttle, to the client's tracer. It sets the object.
func (o *Object) ReportThrottled(data trace.Throttled) {
	if report := o.core.opts.Tracer.Throttled; report != nil {
		data.Object, data.Policy, data.Err = o.traced(), worded.Text(data.Policy), readable(matched(data.Err))
		report(data)
	}
}

// acquisition is an acquire that a tracer observes.
type acquisition struct {
	tracer  *trace.Tracer // nil: none observes it
	object  trace.Object
	try     bool
	leased  bool
	started time.Time
}

// tries counts the attempts of an acquire.
type tries struct {
	count   int
	refused bool // at least one of them was
}

// beginAcquire reports the start of an acquire, with or without a lease. It returns the context under which
// the acquire runs.
func (o *Object) beginAcquire(ctx context.Context, try, leased bool) (context.Context, acquisition) {
	tracer := o.core.opts.Tracer
	if tracer.AcquireStart == nil && tracer.AcquireEnd == nil {
		return ctx, acquisition{}
	}
	q := acquisition{tracer, o.traced(), try, leased, time.Now()}
	if tracer.AcquireStart != nil {
		ctx = tracer.AcquireStart(ctx, trace.AcquireStart{Object: q.object, Try: try, Leased: leased})
	}
	return ctx, q
}

func (q acquisition) end(ctx context.Context, t tries, err error) {
	if q.tracer == nil || q.tracer.AcquireEnd == nil {
		return
	}
	q.tracer.AcquireEnd(ctx, trace.AcquireEnd{
		Object: q.object, Try: q.try, Leased: q.leased, Waited: time.Since(q.started), Attempts: t.count, Contended: t.refused,
		Err: readable(worded.WithCause(ctx, matched(err))),
	})
}

// matched returns err such that it matches the error that [Call] makes of it. Unlike Call it does not
// ask the server for the type of the key.
func matched(err error) error {
	if err == nil {
		return nil
	}
	notANumber := errors.Is(err, backend.ErrNotANumber) || errors.Is(err, backend.ScriptError("NOTANUMBER"))
	if notANumber || otherKind(err) {
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	return err
}

// heldFor returns how long h has been held. It returns 0 if no tracer wants to know.
func (h *hold) heldFor() time.Duration {
	if h.object.core.opts.Tracer.LeaseEnd == nil {
		return 0
	}
	held, _ := h.object.core.keeper.Ages(&h.Entry)
	return held
}

// traceEnd reports the end of h, unless it was reported before.
func (h *hold) traceEnd(held time.Duration, cause, err error) {
	report := h.object.core.opts.Tracer.LeaseEnd
	if report == nil || h.setTraced(true) {
		return
	}
	if errors.Is(err, lease.ErrNotHeld) {
		cause = notHeldCause(err)
	}
	report(trace.LeaseEnd{Object: h.object.traced(), Held: held, Cause: readable(cause), Err: readable(matched(err))})
}

// notHeldCause returns why a release found that its lease had ended: its loss, or else its client was closed.
func notHeldCause(err error) error {
	var loss *lease.LossError
	if errors.As(err, &loss) {
		return loss
	}
	return errClosed
}

// setTraced says whether the tracer gets no end of h any more, and reports whether that was so before.
func (h *hold) setTraced(traced bool) (before bool) {
	h.Guard(func() { before, h.traced = h.traced, traced })
	return before
}

// maxMismatches is how many mismatches a client reports, so objects with the names of users do
// not fill its memory and the log.
const maxMismatches = 1000

// mismatches are those that a client has reported.
type mismatches struct {
	count    atomic.Int32
	reported sync.Map // by the trace.Mismatch
}

// add reports whether m is to be reported.
func (all *mismatches) add(m trace.Mismatch) bool {
	if all.count.Load() >= maxMismatches {
		return false
	}
	_, known := all.reported.LoadOrStore(m, nil)
	return !known && all.count.Add(1) <= maxMismatches
}

// ReportMismatch reports that an option of o does not apply, since the server has another value: as a
// warning in the log, and to the client's tracer. A client reports the same mismatch once,
// and a thousand mismatches at most.
func (o *Object) ReportMismatch(option, want, have string) {
	m := trace.Mismatch{Object: o.traced(), Option: worded.Text(option), Want: worded.Text(want), Have: worded.Text(have)}
	if !o.core.mismatches.add(m) {
		return
	}
	if report := o.core.opts.Tracer.Mismatch; report != nil {
		report(m)
	}
	if entry := o.core.opts.Logger.Check(zap.WarnLevel, "option differs from what the server has"); entry != nil {
		fields := append(o.fields(), zap.String("option", option), zap.String("want", want), zap.String("have", have))
		o.core.background(func(context.Context) { entry.Write(fields...) }) // The logger may block.
	}
}
