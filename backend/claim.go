package backend

import (
	"context"
	"sync/atomic"
)

// Claim is how the caller of a batch and the backend agree on whether a call may still be sent. A
// call has one if its caller may leave before the call is sent. The zero value is free, which means
// that the call certainly is not at a server. All methods are safe for concurrent use, and those of the
// backend do nothing on a nil Claim, which means that the caller stays.
type Claim struct {
	state atomic.Int32
	why   atomic.Pointer[error]
}

// The states of a claim.
const (
	claimFree int32 = iota
	claimBegun
	claimCancelled
)

type claimKey struct{}

// WithClaim returns a context for one call of Run that has claim, which has begun: for backends that are no [Batcher].
func WithClaim(ctx context.Context, claim *Claim) context.Context {
	return context.WithValue(ctx, claimKey{}, claim)
}

// ClaimOf returns the claim of the call of Run that got ctx, to be handled as B2 says. It is nil if there is none, and may be
// ignored: then a caller that leaves learns that its call may have been executed.
func ClaimOf(ctx context.Context) *Claim {
	claim, _ := ctx.Value(claimKey{}).(*Claim)
	return claim
}

// Begin claims the call for sending. The backend calls it before it sends the call. It reports false if
// the caller has cancelled the call, which must not be sent then.
func (c *Claim) Begin() bool {
	return c == nil || c.state.CompareAndSwap(claimFree, claimBegun) || c.state.Load() == claimBegun
}

// Begun reports whether the call may be at a server, or may have been executed.
func (c *Claim) Begun() bool { return c.state.Load() == claimBegun }

// NotSent reports that the call, whose sending had begun, was certainly not executed and is not under
// way. The caller gets why, if it is not nil, with its context's error if it cancels the call.
func (c *Claim) NotSent(why error) {
	if c == nil {
		return
	}
	if why != nil {
		kept := why // Only this one is allocated.
		c.why.Store(&kept)
	}
	c.state.CompareAndSwap(claimBegun, claimFree)
}

// Err returns the last error that NotSent was given; nil if there was none.
func (c *Claim) Err() error {
	if why := c.why.Load(); why != nil {
		return *why
	}
	return nil
}

// Cancel is for the caller. It reports true if the call was certainly not executed, and then the call is
// never sent. False means that the call may have been executed, or may yet be.
func (c *Claim) Cancel() bool {
	return c.state.CompareAndSwap(claimFree, claimCancelled) || c.state.Load() == claimCancelled
}
