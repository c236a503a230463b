package extend

import (
	"context"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// Refresh renews the hold of l now, for a whole lease from the request on, even if the watchdog
// does not renew it. If l is nil, or not a lease of this object and this core, the error is a
// [*FieldError].
//
// If the server answers that the owner holds nothing, l is lost, and the error wraps [ErrNotHeld]
// and [ErrLost], and also [ErrConflict] if the key is of another kind. If l had ended before,
// Refresh sends nothing, and the error wraps ErrNotHeld and the reason of that end. After any other
// error l is unchanged, unless [Lease.Extend] had made it longer. Use Refresh within [Call].
func (s *Leases) Refresh(ctx context.Context, l *Lease) error {
	if l == nil || l.state == nil {
		return &FieldError{"lease", "nil"}
	}
	h, ok := l.state.group.target.(*hold)
	if !ok || !h.object.same(s.object) {
		return &FieldError{"lease", "of another object, or of another client"}
	}
	return h.extend(ctx, l.state, h.Lease, h.ClockDrift)
}

// Extend makes a lease of a fixed length last for d from now on, by the server's clock, for longer
// or shorter than before. It takes one round trip. All leases of one hold ([Lease.Reenter]) have
// the same length. A lease with parts extends them all: a MultiLock needs each of them, a RedLock a
// majority of the nodes. d is in whole milliseconds, at least 100 ms. If the watchdog renews the
// lease, or d is less, Extend sends nothing and returns a [*FieldError]. If d is shorter than the
// rest of the lease, the server may keep a ReadWriteLock for that rest.
//
// Nil means that the server has extended the lease. [Lease.Remaining] counts from the sending of
// the request. If the server no longer has the holder, l is lost, and the error wraps [ErrNotHeld]
// and [ErrLost]. If l had ended before, Extend sends nothing, and the error wraps ErrNotHeld and
// the reason of that end. After any other error the lease ends when it would have ended, or d after
// the call if that is earlier, and Extend may be called again. If the outcome is unknown
// ([backend.ErrIndeterminate]), the server may still execute the request. Then the holder trusts a
// later Extend for no longer than d.
func (l *Lease) Extend(ctx context.Context, d time.Duration) error {
	return l.state.group.target.extendLease(ctx, l.state, d)
}

// checkExtension implements [target].
func (h *hold) checkExtension(d time.Duration) error {
	if !h.source.fixed() {
		return &FieldError{"lease", "the watchdog renews it; only a lease of a fixed length can be extended"}
	}
	return h.object.core.opts.validateLease("d", d)
}

// extendLease implements [target].
func (h *hold) extendLease(ctx context.Context, l *leaseState, d time.Duration) error {
	_, err := Call(ctx, h.object, h.checkExtension(d), "extend", func() (struct{}, error) {
		d = d.Truncate(time.Millisecond)
		return struct{}{}, h.extend(ctx, l, d, h.object.core.opts.driftFor(d))
	})
	return err
}

// extend makes the hold last for length from now on.
func (h *hold) extend(ctx context.Context, l *leaseState, length, drift time.Duration) error {
	if _, ended := l.check(); ended != nil {
		return fmt.Errorf("%w: %w", ErrNotHeld, ended)
	}
	core := h.object.core
	status, err := core.keeper.Extend(ctx, core.calls, h.source.kind, &h.Entry, length, drift)
	switch {
	case err != nil:
		return err
	case status == Failed:
		return fmt.Errorf("%w: the server's user may not read the key", backend.ErrNoPermission)
	}
	_, ended := l.check()
	switch {
	case ended == nil:
		return nil
	case status == OtherKind:
		return fmt.Errorf("%w: %w: %w", ErrNotHeld, ended, h.object.kindConflict(ctx))
	}
	return fmt.Errorf("%w: %w", ErrNotHeld, ended)
}
