package primitives

import "github.com/hasp-go/hasp/primitives/extend"

// Lease is one acquisition of a lock, or of permits. Its holder uses it to work while it holds them,
// and to release them. Lease is an alias of [extend.Lease], which documents its methods in full:
//
//   - Context(parent) returns a context that ends with the lease. Use it for the work.
//   - Do(ctx, work) calls work under such a context, and then releases the lease. Its error is a
//     [*ReleaseError] if the release failed.
//   - Release(ctx) releases the lease. Nil proves that it was held until then, except after a failover.
//     An error wraps [ErrNotHeld] if the lease had ended before, with the reason, and
//     [ErrIndeterminate] if there was no answer: then the client repeats the release.
//   - Extend(ctx, d) makes a lease of a fixed length last for d from now on.
//   - Reenter(ctx) returns a context under which the same lock can be acquired again.
//   - Err() returns nil while the lease is held, else [ErrLost], [ErrReleased] or [ErrClosed].
//   - Done() returns a channel that is closed when the lease ends.
//   - Remaining() returns how long the lease may be trusted if it is not renewed.
//   - Token() returns the fencing token, with which the holder claims what it reads.
//   - Owner() returns the holder's name on the server, for IsHeldBy and HoldCount.
//   - Parts() returns the leases of the parts of a [MultiLock] or [RedLock].
//   - Forget() ends the lease without a release: the server keeps the hold until it expires.
//
// A lease ends once: by Release, with its client, or by its loss. It is lost if the client cannot
// renew it in time, or if the server no longer has it. Then its contexts end with the cause
// [ErrLost]. [CountingSemaphore.Refresh] extends a lease of that semaphore.
type Lease = extend.Lease
