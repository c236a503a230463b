package backend

import "sync/atomic"

// Claim is how the caller of a batch and the backend agree on whether a call may still be sent. A
// call has one if its caller may leave before the call is sent. The zero value is free, which means
// that the call surely is not at a server. All methods are safe for concurrent use, and those of the
// backend do nothing on a nil Claim, which means that the caller stays.
type Claim struct {
	state atomic.Int32
	why   atomic.Pointer[error]
}

// The states of a claim.
const (
	claimFree int32 = iota
	claimTaken
	claimWithdrawn
)

// Take is what comes before each sending of the call. It reports false if the caller has withdrawn
// the call, which must not be sent then.
func (c *Claim) Take() bool {
	return c == nil || c.state.CompareAndSwap(claimFree, claimTaken) || c.state.Load() == claimTaken
}

// Taken reports whether the call may be at a server, or may have been executed.
func (c *Claim) Taken() bool { return c.state.Load() == claimTaken }

// Return says that the call, whose claim was taken, surely was not executed, and is not under way. why
// is what the caller gets with its context's error if it withdraws the call; nil if there is nothing
// to say yet.
func (c *Claim) Return(why error) {
	if c == nil {
		return
	}
	if why != nil {
		kept := why // Only this one is allocated.
		c.why.Store(&kept)
	}
	c.state.CompareAndSwap(claimTaken, claimFree)
}

// Why returns the last error that Return was given; nil if there was none.
func (c *Claim) Why() error {
	if why := c.why.Load(); why != nil {
		return *why
	}
	return nil
}

// Withdraw is for the caller. It reports true if the call surely was not executed, and sees to it
// that it is not sent any more. False means that the call may have been executed, or may yet be.
func (c *Claim) Withdraw() bool {
	return c.state.CompareAndSwap(claimFree, claimWithdrawn) || c.state.Load() == claimWithdrawn
}
