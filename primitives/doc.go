// Package primitives synchronizes processes through a Redis-protocol server, over the driver that
// the application has: a [Client] is made from a [backend.Backend], and makes locks.
//
//	client, err := primitives.New(b, nil)
//	lease, err := client.NewLock("orders:42", nil).Lock(ctx)
//	defer func() { err = errors.Join(err, lease.Unlock(ctx)) }() // nil: it was held to the end
//	return charge(lease.Context(ctx), lease.Token())             // the context ends if it is lost
//
// Keys, owners, channels and messages are those of Java's Redisson, so that Go and Java processes
// share one object by its name; docs/redisson.md has the map.
//
// # Guarantees
//
// A [Lease] is held for a time. If it is lost, its contexts end, and Err reports the loss, before
// the server can give the lock to another, even if the network hangs. This rests on the key being
// neither deleted nor evicted, on no failover losing it, and on the server's clock not gaining more
// than the allowance over a lease. Where that is not enough, hand [Lease.Token] to the resource and
// let it refuse lower ones. docs/guarantees.md says what survives what.
//
// # Errors
//
// Errors carry the operation and the object's name, and match the sentinels of this package, those
// of package backend and the context's error by errors.Is. [ErrUnavailable] says that a request
// surely was not executed, [ErrIndeterminate] that it may have been, or may yet be. After an error
// nothing is held: what a call may have taken is released in the background, and Close waits for that.
package primitives
