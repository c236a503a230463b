package extend

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/batch"
	"github.com/hasp-go/hasp/primitives/internal/dispatch"
	"github.com/hasp-go/hasp/primitives/internal/leases"
	"github.com/hasp-go/hasp/primitives/internal/orphan"
	"github.com/hasp-go/hasp/primitives/internal/renew"
	"github.com/hasp-go/hasp/primitives/internal/worded"
	"github.com/hasp-go/hasp/primitives/lease"
)

// hold is one owner's hold of an object on the server, with one entry in the watchdog. A client may
// have very many holds, so their size matters: fields that the holds of one object share are
// in their Leases.
type hold struct {
	renew.Entry
	leases.Group
	object   *Object
	source   *Leases // that made it
	leasable Leasable
	token    int64
	units    int32 // for which the owner asked; 0: as configured
	queued   bool  // the owner waits in a queue on the server
	inLine   bool  // it has waited in a line, which knows it until the hold ends
	left     bool  // its last caller left before the answer
	traced   bool  // a tracer has its end; guarded by the group
}

// Try implements [Attempt]. The watchdog watches the hold from before the request is sent until it
// is refused or released. After an error the caller may use h again only if the request was
// certainly not executed: otherwise its owner may hold the object, and the client releases that in the
// background.
func (h *hold) Try(ctx context.Context) (Answer, error) {
	keeper := h.object.core.keeper
	keeper.Begin(&h.Entry)
	held, panicked := false, true
	defer func() {
		if panicked {
			h.releaseInBackground(false)
		}
		if !held {
			keeper.End(&h.Entry)
		}
	}()
	q := h.object.core.calls.NewRequest((*lateAcquire)(h), (*leavers)(h.object))
	if h.Replicas > 0 {
		q.Replicas, q.ReplicaTimeout = h.Replicas, h.replicaTimeout(ctx)
	}
	asks := h.object.AsksRights()
	token, answer, err := h.leasable.Acquire(ctx, q, h.Owner, h.Lease)
	panicked = false
	shortage := h.settle(q, answer, err)
	if err != nil || !answer.Granted {
		return answer, err
	}
	h.object.noteRights(asks)
	if shortage != nil {
		keeper.End(&h.Entry)
		h.undo(ctx)
		return Answer{}, shortage
	}
	h.token = token
	if held = keeper.Confirm(&h.Entry); !held {
		h.releaseInBackground(true)
		return Answer{}, fmt.Errorf("granted too late: %w", h.lossCause())
	}
	if answer.RetryIn < time.Millisecond || answer.RetryIn > h.Lease { // Scripts return whole milliseconds, or nothing.
		answer.RetryIn = h.Lease
	}
	return answer, nil
}

// settle frees the request of an acquire, and notes whether the owner is in a queue. If the request failed,
// settle releases a possible grant in the background. shortage is an error if too few replicas have the grant.
func (h *hold) settle(q *dispatch.Request, answer Answer, err error) (shortage error) {
	h.left = q.HasLeft()
	shortage = q.Free()
	switch {
	case err == nil:
		h.queued = answer.Queued
	case !h.left:
		h.releaseUnwanted(false, err)
		h.queued = h.queued && !backend.MayHaveRun(err)
	}
	return shortage
}

// undo releases a new grant. If the release fails, it is repeated in the background. The same
// happens if it finds no hold: during a failover the acquire, on a connection of its own, may have
// reached another server.
func (h *hold) undo(ctx context.Context) {
	if err := h.release(ctx, leases.ReleaseWait{}); errors.Is(err, lease.ErrNotHeld) {
		h.releaseInBackground(false)
	}
}

// leaveQueue releases the owner if it waits in a queue. If the last request's caller has left,
// HandleLate does that instead.
func (h *hold) leaveQueue() {
	if !h.left && h.queued {
		h.queued = false
		h.releaseInBackground(true)
	}
}

// lateAcquire is a hold whose caller left before the acquire was answered.
type lateAcquire hold

// HandleLate implements [dispatch.LateHandler].
func (a *lateAcquire) HandleLate(r backend.ScriptRunner) {
	h := (*hold)(a)
	_, answer, err := h.leasable.Acquire(context.Background(), r, h.Owner, h.Lease)
	took := err == nil && (answer.Granted || answer.Queued)
	h.releaseUnwanted(took || h.queued, err) // This also releases its place in the queue.
}

// releaseUnwanted releases in the background the grant of an acquire without a caller, or the place
// in the queue, if there is or may be one.
func (h *hold) releaseUnwanted(granted bool, err error) {
	if granted || backend.MayHaveRun(err) {
		h.releaseInBackground(!errors.Is(err, backend.ErrIndeterminate))
	}
}

// differs returns an error if h's lease differs from those of s, as whose an inner call would get it.
func (h *hold) differs(s *Leases) error {
	switch {
	case h.Lease != s.terms.Lease || (h.Renewer == nil) != s.fixed():
		return &FieldError{"Lease", fmt.Sprintf(
			"%s differs from that of the lease that is re-entered, %s", s.length(), h.source.length())}
	case h.MaxHold != s.terms.MaxHold:
		return &FieldError{"MaxHold", fmt.Sprintf(
			"%s differs from that of the lease that is re-entered, %s", s.terms.MaxHold, h.MaxHold)}
	}
	return nil
}

// Release implements [leases.Target].
func (h *hold) Release(ctx context.Context, l *leases.Lease, wait leases.ReleaseWait) error {
	if err := h.object.core.work.enter(); err != nil {
		if _, ended := l.Check(); ended != nil {
			err = ended // The lease may have ended before the client.
		} else {
			h.EndAll(err) // Close is about to end the leases, and releases them.
		}
		return fmt.Errorf("%w: %w", lease.ErrNotHeld, err)
	}
	defer h.object.core.work.leave()
	if last, err := h.EndLease(l); err != nil || !last {
		return err
	}
	return h.end(ctx, byRelease, wait)
}

// ending is a way in which a hold ends.
type ending struct {
	cause     error // of its leases' end
	waits     bool  // its caller waits for the release; otherwise that is sent in the background
	unsent    bool  // no release is sent
	unreached bool  // no acquire has returned a lease: a tracer does not get the end
}

// The ways in which a hold ends.
var (
	byRelease = ending{cause: lease.ErrReleased, waits: true}
	byForget  = ending{cause: lease.ErrReleased, unsent: true}
	byLeaving = ending{cause: lease.ErrReleased, unreached: true} // The context of the acquire ended before the grant came.
	byClose   = ending{cause: errClosed}
)

// end ends h, first in the watchdog: no renewal may follow the release. Its leases end before its owner is
// released: no holder may go on when the server grants the object to another owner. The tracer gets the
// error of the release, which end returns.
func (h *hold) end(ctx context.Context, how ending, wait leases.ReleaseWait) (err error) {
	core, lasted := h.object.core, h.heldFor()
	held := core.keeper.End(&h.Entry) // False if the watchdog has ended it before.
	h.EndAll(how.cause)
	switch {
	case how.unsent:
		h.leaveLine()
	case how.waits && held:
		err = h.release(ctx, wait)
	case how.waits:
		err = fmt.Errorf("%w: %w", lease.ErrNotHeld, h.lossCause())
		fallthrough
	default:
		h.releaseInBackground(true)
	}
	if !how.unreached {
		h.traceEnd(lasted, how.cause, worded.WithCause(ctx, err))
	}
	return err
}

// release releases the object on the server. It sends the request even if ctx has ended. If the
// request may not have arrived, release repeats it in the background.
func (h *hold) release(ctx context.Context, wait leases.ReleaseWait) error {
	defer h.leaveLine() // Not before: a second message of the grant would release it, too.
	q := h.object.core.calls.NewRequest((*lateRelease)(h), (*leavers)(h.object))
	q.AlwaysSend, q.Grace, q.Limit = true, wait.Grace, wait.Within(h.Lease)
	panicked := true
	defer func() {
		if panicked {
			h.releaseInBackground(true)
		}
	}()
	released, err := h.leasable.Release(ctx, q, h.Owner)
	panicked = false
	left := q.HasLeft()
	if q.Heard > 0 {
		h.object.core.waiters.NoteCrowd(h.source.config.Wait.Channel, q.Heard-1)
	}
	_ = q.Free()
	switch {
	case err == nil && released:
		return nil
	case err == nil:
		return fmt.Errorf("%w: %w", lease.ErrNotHeld, errGone)
	case endedHold(err):
		return err
	case otherKind(err):
		return fmt.Errorf("%w: %w: %w", lease.ErrNotHeld, errGone, h.object.explain(ctx, err))
	case left, errors.Is(err, backend.ErrClosed):
		return err
	}
	h.releaseInBackground(true)
	if !backend.MayHaveRun(err) {
		err = fmt.Errorf("%w: %v", backend.ErrIndeterminate, err) // It may still run.
	}
	return err
}

// lateRelease is a hold whose caller left before the release was answered.
type lateRelease hold

// HandleLate implements [dispatch.LateHandler].
func (r *lateRelease) HandleLate(runner backend.ScriptRunner) {
	h := (*hold)(r)
	_, err := h.leasable.Release(context.Background(), runner, h.Owner)
	if err != nil && !otherKind(err) && !errors.Is(err, backend.ErrClosed) {
		h.releaseInBackground(true)
	}
}

// HandleLoss implements [renew.LossHandler].
func (h *hold) HandleLoss(loss *lease.LossError) {
	core := h.object.core
	held, unrenewed := core.keeper.Ages(&h.Entry)
	_ = h.end(context.Background(), ending{cause: h.lossCause()}, leases.ReleaseWait{})
	if entry := core.opts.Logger.Check(zap.WarnLevel, "lease lost"); entry != nil {
		fields := append(h.object.fields(), zap.String("owner", h.Owner), zap.Int64("token", h.token), zap.Error(loss),
			zap.String("reason", string(loss.Reason)), zap.Duration("held", held), zap.Duration("unrenewed", unrenewed))
		// The caller watches other leases too, and the logger may block.
		core.background(func(context.Context) { entry.Write(fields...) })
	}
}

func (h *hold) lossCause() error {
	if h.object.core.work.isClosed() {
		return errClosed
	}
	return h.object.core.keeper.Loss(&h.Entry)
}

func (h *hold) Forget() {
	if _, lost := h.Remaining(); lost == nil {
		_ = h.end(context.Background(), byForget, leases.ReleaseWait{})
	}
}

func (h *hold) Remaining() (time.Duration, error) {
	left := h.object.core.keeper.Remaining(&h.Entry)
	if left > 0 {
		return left, nil
	}
	return 0, h.lossCause()
}

func (h *hold) Identity() (owner string, token int64) { return h.Owner, h.token }

func (h *hold) Parts() []*leases.Lease { return nil }

func (h *hold) Is(id *leases.ID) bool { return h.object.id == *id }

// Covers implements [leases.Target]. A lease that excludes owners of its own object also excludes those of any
// other object with the same key, such as a lock and an election that have one name.
func (h *hold) Covers(id *leases.ID) bool {
	own := h.source.config.ExcludedBy != nil && h.Is(&h.source.config.ExcludedBy.id)
	return h.Is(id) || own && h.object.id.Client == id.Client && h.object.id.Key == id.Key
}

func (h *hold) Describe(ctx context.Context, operation string, err error) error {
	if err == nil {
		return nil
	}
	return h.object.describe(operation, h.object.explain(ctx, err))
}

// releaseInBackground releases a possible hold of h's owner on the server. acquireDone is as for
// [orphan.Orphan].
func (h *hold) releaseInBackground(acquireDone bool) {
	h.leaveLine()
	if h.object.core.work.enterUnlessIdle() {
		h.object.core.orphans.Add(&orphan.Orphan{
			Object: h.object.id.Object, Key: h.Key, Owner: h.Owner, Kind: h.source.config.Kind, Hold: (*orphaned)(h),
			AcquireDone: acquireDone,
		})
	}
}

// orphaned is a hold that is released in the background.
type orphaned hold

// ReleaseAlone implements [orphan.Hold].
func (o *orphaned) ReleaseAlone(ctx context.Context, r backend.ScriptRunner) (Status, error) {
	released, err := o.leasable.Release(ctx, r, o.Owner)
	switch {
	case released, endedHold(err):
		return batch.Done, nil
	case err == nil || otherKind(err):
		return batch.NotHeld, nil
	}
	return batch.Failed, err
}

func (o *orphaned) MayLast() time.Duration {
	return max(o.object.core.keeper.MayLast(&o.Entry), o.source.config.QueueTTL)
}

// HandleEnd implements [orphan.Hold]. Without an error, the owner was released, or the server has answered
// that it holds nothing: no late grant has come.
func (o *orphaned) HandleEnd(err error) {
	defer o.object.core.work.leave()
	if err != nil {
		o.object.Logger().Warn("gave up releasing", zap.Error(err))
	}
}
