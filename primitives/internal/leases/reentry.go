package leases

import (
	"context"

	"github.com/hasp-go/hasp/primitives/trace"
)

// ID identifies an object that owners hold. Two objects are the same if their ids are equal.
type ID struct {
	// Client is equal for objects of one client, and only for them.
	Client *string

	// Object is the kind and the name, as errors and tracers have them.
	Object trace.Object

	// Key is the key on the server. Objects of several kinds may have the same key.
	Key string
}

// reentryKey is the key of a context's *reentry.
type reentryKey struct{}

// reentry is a list of the groups whose leases a context re-enters, the innermost first.
type reentry struct {
	group *Group
	outer *reentry
}

// reentry adds g, or the groups of its parts, to the list of those that a context re-enters.
func (g *Group) reentry(outer *reentry) *reentry {
	parts := g.target.Parts()
	if parts == nil {
		return &reentry{group: g, outer: outer}
	}
	for _, part := range parts {
		if part != nil {
			outer = part.state.group.reentry(outer)
		}
	}
	return outer
}

// of returns the list from the innermost group on that holds the
// object; nil: there is none.
func (r *reentry) of(id *ID) *reentry {
	for r != nil && !r.group.target.Is(id) {
		r = r.outer
	}
	return r
}

// Reentered returns the target whose leases ctx re-enters ([Lease.Reenter]), if it is a hold of the
// object. If there are several, Reentered returns the innermost, even if its leases have ended. It returns
// nil if there is none.
func Reentered(ctx context.Context, id *ID) Target {
	r, _ := ctx.Value(reentryKey{}).(*reentry)
	if r = r.of(id); r != nil {
		return r.group.target
	}
	return nil
}

// Holder is extend.Object.Holder.
func Holder(ctx context.Context, id *ID) string {
	r, _ := ctx.Value(reentryKey{}).(*reentry)
	for r = r.of(id); r != nil; r = r.outer.of(id) {
		if r.group.isHeld() {
			owner, _ := r.group.target.Identity()
			return owner
		}
	}
	return ""
}

// leaseOf is the key of a context's lease that excludes owners of an object.
type leaseOf struct{ id *ID }

// CheckSelfDeadlock is extend.Object.CheckSelfDeadlock.
func CheckSelfDeadlock(ctx context.Context, id *ID) error {
	held, _ := ctx.Value(leaseOf{id}).(*state)
	if held == nil || Holder(ctx, id) != "" {
		return nil
	}
	if _, ended := held.check(); ended != nil {
		return nil //nolint:nilerr // ctx has ended, too, or the lock is free.
	}
	return ErrSelfDeadlock
}
