package extend

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/batch"
	"github.com/hasp-go/hasp/primitives/internal/leases"
	"github.com/hasp-go/hasp/primitives/internal/renew"
	"github.com/hasp-go/hasp/primitives/lease"
)

// Leasable is one object that owners hold on the server, each until its lease expires or is
// released. An owner is a name that is used once. A lock has one owner at a time. Other objects may
// have many.
type Leasable interface {
	// Acquire tries once to make owner hold the object for one lease. token is the fencing token of
	// a grant, or another number that belongs to the grant: [lease.Lease.Token] returns it. If err is not
	// nil, token and answer are ignored. The lease counts by the server's clock. Acquire runs one
	// script, with r. If a caller leaves, another goroutine calls Acquire again for the same
	// request, with an r that has the answer. So Acquire must not keep anything from one call to
	// the next.
	Acquire(
		ctx context.Context, r backend.ScriptRunner, owner string, lease time.Duration,
	) (token int64, answer Answer, err error)

	// Release releases the object for owner alone, and reports whether owner held it. If a refusal
	// may have put owner into a queue ([Answer.Queued]), Release also removes it from the queue,
	// wakes the next waiter if that may acquire the object, and reports false. Release may be
	// repeated, and may reach the server before the Acquire of the same owner.
	Release(ctx context.Context, r backend.ScriptRunner, owner string) (released bool, err error)
}

// LeasableKind renews and releases many objects of one kind with one script. owners[i] is the owner
// that holds keys[i]. In a cluster all keys are in one slot. A key may occur more than once, if its
// object has many owners. Each owner gets a status of its own, so one failure does not fail
// the others.
//
// One script handles objects together if their kinds are equal. A kind is the key of a map: its
// type must be comparable, such as a struct with only the core. It must not contain anything of a
// single object.
type LeasableKind interface {
	// Renew extends each owner's lease to its whole length. The script may be repeated.
	Renew(
		ctx context.Context, r backend.ScriptRunner, keys, owners []string, lease time.Duration,
	) ([]Status, error)

	// ReleaseAll is [Leasable.Release] for each owner.
	ReleaseAll(ctx context.Context, r backend.ScriptRunner, keys, owners []string) ([]Status, error)
}

// Status is the result of a renewal or release for one owner: one of the following, or that of [TakenBy].
type Status = batch.Status

// The statuses of an owner after [LeasableKind.Renew] and [LeasableKind.ReleaseAll].
var (
	Failed    = batch.Failed    // the server has no result for it; the client repeats the request
	NotHeld   = batch.NotHeld   // it holds nothing
	OtherKind = batch.OtherKind // it holds nothing, and its key is of another kind
	Done      = batch.Done      // it has a whole lease again, or it was released
)

// TakenBy is the status, after a renewal, of an owner that holds nothing because other holds the object: the loss has the
// reason [lease.LossTaken] instead of [lease.LossGone], and names other unless it is "".
func TakenBy(other string) Status { return batch.TakenBy(other) }

// LeaseConfig configures the leases of an object.
type LeaseConfig struct {
	Leasable Leasable
	Kind     LeasableKind

	// Try is the Leasable that TryAcquire uses, for an object whose Leasable queues an owner that
	// it refuses. Nil means Leasable.
	Try Leasable

	// Wait says how a refused owner waits. TryAcquire also returns its Refusal, if that matches
	// [ErrNotAcquired].
	Wait WaitSpec

	// ExcludedBy is the object whose leases exclude an owner: for a lock the lock itself, for a read
	// lock the write lock. Under a context of such a lease Acquire returns [lease.ErrSelfDeadlock]: see
	// [Object.CheckSelfDeadlock]. Nil means none, for example because several owners hold at once.
	ExcludedBy *Object

	// Owner returns the name of a new owner that asks for the given number of units: see
	// [Leases.AcquireUnits]. No other owner of any process may have the same name. Nil means a name
	// of Redisson's form.
	Owner func(units int) string

	// OwnChannel returns the channel of one owner, for an object that wakes each waiter on a
	// channel of its own. The subscription ends with the waiting. Nil means Wait.Channel.
	OwnChannel func(owner string) string

	// QueueTTL is how long an owner's place in a queue on the server lasts. If an owner may have left
	// a place there, the client repeats its release for that long, or for Lease if that is longer.
	// Zero means that there is no queue.
	QueueTTL time.Duration

	// Waited says that the caller of Acquire has waited for a holder by other means, such as for another caller of its
	// process. Then an outage does not end its waiting, as after a refusal.
	Waited bool

	// Lease is as in primitives.LockOptions, and so are MaxHold, Replicas and ReplicaTimeout.
	Lease time.Duration

	// Renewed says that the watchdog renews a lease of the length Lease, too.
	Renewed bool

	MaxHold        time.Duration
	Replicas       int
	ReplicaTimeout time.Duration
}

// Leases makes the leases of one object.
type Leases struct {
	object *Object
	config LeaseConfig // with Try
	line   lined       // nil: waiters try again when a message wakes them
	terms  renew.Terms // of each lease
}

// fixed reports whether the leases are not renewed.
func (s *Leases) fixed() bool { return s.terms.Renewer == nil }

func (s *Leases) length() string {
	if s.fixed() {
		return s.terms.Lease.String()
	}
	return "the watchdog's " + s.terms.Lease.String()
}

// NewLeases returns the Leases of o, and keeps o. It returns a [*FieldError] for a lease that is
// too short, and for replicas if the backend cannot wait for them. It sends nothing.
func (o *Object) NewLeases(config LeaseConfig) (Leases, error) {
	config.Try = cmp.Or(config.Try, config.Leasable)
	s := Leases{object: o, config: config, terms: renew.Terms{Lease: config.Lease.Truncate(time.Millisecond)}}
	field := "Lease"
	if config.Lease == 0 {
		field, s.terms.Lease = "WatchdogLease", o.core.opts.WatchdogLease
	}
	if config.Lease == 0 || config.Renewed {
		s.terms.Renewer, s.terms.MaxHold = config.Kind, o.core.opts.MaxHold
	}
	s.terms.MaxHold = cmp.Or(config.MaxHold, s.terms.MaxHold)
	s.terms.ClockDrift = o.core.opts.driftFor(s.terms.Lease)
	err := o.core.opts.validateLease("Lease", cmp.Or(config.Lease, s.terms.Lease))
	if err == nil {
		err = validateMaxHold(s.terms.MaxHold, field, s.terms.Lease)
	}
	if err == nil && s.fixed() && config.MaxHold != 0 {
		err = &FieldError{"MaxHold", "the watchdog does not renew a lease of a fixed length"}
	}
	if s.line, _ = config.Leasable.(lined); err == nil && s.line != nil {
		_, worth := s.line.Line()
		err = o.core.opts.validateLease("a grant by a release", worth)
	}
	if err == nil {
		err = o.core.setReplicas(&s.terms, config)
	}
	return s, err
}

// Acquire waits until a new owner holds the object, and returns its lease. It waits like
// [Object.Wait]. If the outcome of an attempt is unknown, and an earlier attempt was refused, it
// continues as another owner. If ctx re-enters a lease of the same object ([lease.Lease.Reenter]), it
// returns another lease of that hold. If it would wait for a lease of its caller, it returns
// [lease.ErrSelfDeadlock]: see [LeaseConfig.ExcludedBy].
//
// After an error the caller holds nothing. The client releases a possible grant in the background,
// and repeats the release until it finds the grant, or until one lease has passed, or the time that
// a place in a queue lasts ([LeaseConfig.QueueTTL]) if that is longer. If the owner waits in a queue
// on the server, a release removes it from there. If a grant comes after its lease may have
// expired, the error is [lease.ErrLost]. If too few replicas acknowledged the last grant, the error wraps
// [backend.ErrReplicas]. The client releases such a grant before Acquire tries again, as another
// owner, or returns. Use Acquire within [Call].
func (s *Leases) Acquire(ctx context.Context) (*lease.Lease, error) {
	return s.acquire(ctx, s.config.Leasable, 0, false)
}

// Hold is Acquire as a [Call] of its own, with the operation "acquire". It has the Call's parts, since each caller of a
// lock would have two frames more.
func (s *Leases) Hold(ctx context.Context, invalid error) (l *lease.Lease, err error) {
	if err = s.object.enter(ctx, invalid); err == nil {
		defer s.object.core.work.leave()
		l, err = s.acquire(ctx, s.config.Leasable, 0, false)
		err = s.object.reason(ctx, err)
	}
	return l, s.object.describe("acquire", err)
}

// TryHold is TryAcquire as a [Call] of its own, with the operation "acquire".
func (s *Leases) TryHold(ctx context.Context, invalid error) (*lease.Lease, error) {
	return Call(ctx, s.object, invalid, "acquire", func() (*lease.Lease, error) { return s.TryAcquire(ctx) })
}

// AcquireUnits is Acquire for an owner that needs the given number of units, as in [WaitSpec.Need]: one
// lease has all of them. 0 means the Need of the configuration. If ctx re-enters a lease of fewer
// units, AcquireUnits does not re-enter that lease, but acquires all units that it needs.
func (s *Leases) AcquireUnits(ctx context.Context, units int) (*lease.Lease, error) {
	return s.acquire(ctx, s.config.Leasable, units, false)
}

// TryAcquire is Acquire without waiting: if it is refused, it returns the Refusal of
// [LeaseConfig.Wait], by default [ErrNotAcquired], and if too few replicas acknowledge the grant,
// [backend.ErrReplicas].
func (s *Leases) TryAcquire(ctx context.Context) (*lease.Lease, error) {
	return s.acquire(ctx, s.config.Try, 0, true)
}

// TryAcquireUnits is [Leases.AcquireUnits] without waiting, like TryAcquire.
func (s *Leases) TryAcquireUnits(ctx context.Context, units int) (*lease.Lease, error) {
	return s.acquire(ctx, s.config.Try, units, true)
}

// TryAs is TryAcquire by another Leasable than that of the configuration, such as one that takes the object over from a
// former owner. It re-enters no lease. If it is refused, it returns refusal.
func (s *Leases) TryAs(ctx context.Context, leasable Leasable, refusal error) (*lease.Lease, error) {
	ctx, q := s.object.beginAcquire(ctx, true, true)
	w := newWaiter(waiter{leases: s, leasable: leasable, owns: true})
	defer w.free()
	tried, err := tryOnce(ctx, refusal, w.current())
	l, err := w.lease(ctx, err)
	q.end(ctx, tried, err)
	return l, err
}

// acquire is AcquireUnits, or TryAcquireUnits if try is true. It reports to the client's tracer.
func (s *Leases) acquire(ctx context.Context, leasable Leasable, units int, try bool) (*lease.Lease, error) {
	ctx, q := s.object.beginAcquire(ctx, try, true)
	if outer, _ := leases.Reentered(ctx, &s.object.id).(*hold); outer != nil && units <= int(outer.units) {
		if inner, err := outer.Another(outer.differs(s)); inner != nil || err != nil {
			q.end(ctx, tries{}, err)
			return (*lease.Lease)(inner), err
		}
	}
	w := newWaiter(waiter{leases: s, leasable: leasable, units: units, owns: true, refused: s.config.Waited})
	var err error
	if !try && s.config.ExcludedBy != nil {
		err = s.config.ExcludedBy.CheckSelfDeadlock(ctx)
	}
	switch {
	case err != nil: // It would wait for itself.
	case try:
		w.tries, err = tryOnce(ctx, cmp.Or(s.config.Wait.Refusal, ErrNotAcquired), w.current())
	case s.line != nil:
		err = s.waitInLine(ctx, w)
	default:
		err = w.wait(ctx, s.object, w.want())
	}
	l, err := w.lease(ctx, err)
	q.end(ctx, w.tries, err)
	if s.line == nil { // In a line, a message may still find the waiter.
		w.free()
	}
	return l, err
}

func (s *Leases) init(h *hold, leasable Leasable, units int) *hold {
	h.object, h.source, h.leasable = s.object, s, leasable
	h.units = int32(min(units, math.MaxInt32)) //nolint:gosec // It fits.
	h.Entry = renew.Entry{Terms: &s.terms, Key: s.object.id.Key, Owner: s.ownerOf(units), OnLost: h}
	h.Init(h)
	return h
}

func (s *Leases) ownerOf(units int) string {
	if s.config.Owner != nil {
		return s.config.Owner(units)
	}
	return s.object.core.newOwner()
}

// Refresh renews the hold of l now, for a whole lease from the request on, even if the watchdog
// does not renew it. If l is nil, or not a lease of this object and this core, the error is a
// [*FieldError].
//
// Errors are as for [lease.Lease.Extend]. That of a lost lease also wraps [ErrConflict] if the key is of another kind.
// Use Refresh within [Call].
func (s *Leases) Refresh(ctx context.Context, l *lease.Lease) error {
	target := (*leases.Lease)(l).Target()
	if target == nil {
		return &FieldError{"lease", "nil"}
	}
	h, ok := target.(*hold)
	if !ok || !h.Is(&s.object.id) {
		return &FieldError{"lease", "of another object, or of another client"}
	}
	return h.extend(ctx, (*leases.Lease)(l), h.Lease, h.ClockDrift)
}

func (h *hold) CheckExtension(d time.Duration) error {
	if !h.source.fixed() {
		return &FieldError{"lease", "the watchdog renews it; only a lease of a fixed length can be extended"}
	}
	return h.object.core.opts.validateLease("d", d)
}

func (h *hold) Extend(ctx context.Context, l *leases.Lease, d time.Duration) error {
	_, err := Call(ctx, h.object, h.CheckExtension(d), "extend", func() (struct{}, error) {
		d = d.Truncate(time.Millisecond)
		return struct{}{}, h.extend(ctx, l, d, h.object.core.opts.driftFor(d))
	})
	return err
}

// extend makes the hold last for length from now on.
func (h *hold) extend(ctx context.Context, l *leases.Lease, length, drift time.Duration) error {
	if _, ended := l.Check(); ended != nil {
		return fmt.Errorf("%w: %w", lease.ErrNotHeld, ended)
	}
	core := h.object.core
	status, err := core.keeper.Extend(ctx, core.insistentCalls, h.source.config.Kind, &h.Entry, length, drift)
	switch {
	case err != nil:
		return err
	case status == Failed:
		return fmt.Errorf("%w: the server's user may not read the key", backend.ErrNoPermission)
	}
	_, ended := l.Check()
	switch {
	case ended == nil:
		return nil
	case status == OtherKind:
		return fmt.Errorf("%w: %w: %w", lease.ErrNotHeld, ended, h.object.kindConflict(ctx))
	}
	return fmt.Errorf("%w: %w", lease.ErrNotHeld, ended)
}
