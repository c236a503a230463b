package extend

import (
	"context"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/rights"
)

// Rights are what the server's user needs for the objects of one kind. The words of each field are separated by
// spaces. In the names of keys and channels, $ stands for the object's key, which is the client's prefix and the name,
// and @ for [Tagged] of it.
type Rights struct {
	Commands string // that the scripts call, other than PUBLISH
	Keys     string // such as "$ door_opener:@"
	Channels string // such as "door:@"
	Reads    bool   // objects are only read: without EVALSHA and PUBLISH, and of keys %R~
}

// WithRights returns o with the permissions that its user needs. The error of a call that lacks a permission then names
// all missing permissions of the object.
func (o Object) WithRights(r *Rights) Object {
	o.rights = r
	return o
}

// AsksRights reports whether [Leasable.Acquire] must also check the permissions of the release. It is false once a client
// has had a grant of one object with the same [Rights]: commands are the same for all names. It is true again when the
// server refuses a call on such an object because the client's user lacks a permission.
func (o *Object) AsksRights() bool {
	_, noted := o.core.rights.Load(o.rights)
	return !noted
}

// noteRights notes a grant. asks says whether its acquire has checked the permissions of its release. A grant that comes late
// proves nothing: the client may have forgotten them since it was sent.
func (o *Object) noteRights(asks bool) {
	if asks && o.rights != nil {
		o.core.rights.Store(o.rights, nil)
	}
}

// Rights returns the permissions that the server's user needs for the object, as
// [github.com/hasp-go/hasp/primitives.Lock.Rights] does.
func (o *Object) Rights() []string { return o.allRights().Rules() }

// MissingRights asks the server which of [Object.Rights] its user lacks, as
// [github.com/hasp-go/hasp/primitives.Lock.MissingRights] does. Use it within [Call].
func (o *Object) MissingRights(ctx context.Context) (rules []string, err error) {
	return o.allRights().Missing(ctx, o.core.calls)
}

// allRights returns the permissions that the server's user needs for o.
func (o *Object) allRights() rights.Rights {
	if o.rights == nil {
		return nil
	}
	return rights.Needs(*o.rights).For(o.core.opts.KeyPrefix+o.id.Object.Name, o.core.can.Sharded)
}

// lackOfRight explains err, whose cause is the server's refusal. The client forgets that an
// acquire has checked the permissions of its release.
func (o *Object) lackOfRight(ctx context.Context, refusal *backend.ServerError, err error) error {
	o.core.rights.Delete(o.rights)
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	return o.allRights().Explain(ctx, o.core.calls, refusal, err)
}
