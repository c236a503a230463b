package extend

import (
	"context"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/leases"
	"github.com/hasp-go/hasp/primitives/lease"
)

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
