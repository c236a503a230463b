package extend

import (
	"context"
	"fmt"
)

// Refresh renews the hold of l now, for a whole lease from the request on, whether the watchdog renews it or
// nobody does. l is a lease of this object, by the same core; otherwise, and for nil, the error is a [*FieldError].
//
// If the server answers that the owner holds nothing, l is lost, and the error wraps [ErrNotHeld] and
// [ErrLost]. If l had ended before, the error wraps ErrNotHeld and what had ended it, and nothing is sent.
// After any other error, such as [ErrConflict] for a key of another kind, l is as it was. Use Refresh
// within [Call].
func (s *Leases) Refresh(ctx context.Context, l *Lease) error {
	if l == nil || l.state == nil {
		return &FieldError{"lease", "nil"}
	}
	h, ok := l.state.holder.held.(*hold)
	if !ok || !h.object.same(s.object) {
		return &FieldError{"lease", "not of this object"}
	}
	if _, ended := l.state.check(); ended != nil {
		return fmt.Errorf("%w: %w", ErrNotHeld, ended)
	}
	status, err := h.object.core.keeper.Refresh(ctx, h.object.core.calls, h.kind, &h.Entry)
	switch {
	case err != nil:
		return err
	case status == Failed:
		return h.object.kindConflict(ctx)
	}
	if _, ended := l.state.check(); ended != nil {
		return fmt.Errorf("%w: %w", ErrNotHeld, ended)
	}
	return nil
}
