package extend

import (
	"context"
	"fmt"

	"github.com/hasp-go/hasp/backend"
)

// Refresh renews the hold of l now, for a whole lease from the request on, even if the watchdog
// does not renew it. If l is nil, or not a lease of this object and this core, the error is a
// [*FieldError].
//
// If the server answers that the owner holds nothing, l is lost, and the error wraps [ErrNotHeld]
// and [ErrLost], and also [ErrConflict] if the key is of another kind. If l had ended before,
// Refresh sends nothing, and the error wraps ErrNotHeld and the reason of that end. After any other
// error l is unchanged. Use Refresh within [Call].
func (s *Leases) Refresh(ctx context.Context, l *Lease) error {
	if l == nil || l.state == nil {
		return &FieldError{"lease", "nil"}
	}
	h, ok := l.state.group.target.(*hold)
	if !ok || !h.object.same(s.object) {
		return &FieldError{"lease", "of another object, or of another client"}
	}
	if _, ended := l.state.check(); ended != nil {
		return fmt.Errorf("%w: %w", ErrNotHeld, ended)
	}
	status, err := h.object.core.keeper.Refresh(ctx, h.object.core.calls, h.source.kind, &h.Entry)
	switch {
	case err != nil:
		return err
	case status == Failed:
		return fmt.Errorf("%w: the server's user may not read the key", backend.ErrNoPermission)
	}
	_, ended := l.state.check()
	switch {
	case ended == nil:
		return nil
	case status == OtherKind:
		return fmt.Errorf("%w: %w: %w", ErrNotHeld, ended, h.object.kindConflict(ctx))
	}
	return fmt.Errorf("%w: %w", ErrNotHeld, ended)
}
