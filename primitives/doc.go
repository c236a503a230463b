// Package primitives synchronizes processes through a Redis-protocol server, over whatever driver
// the application has: a [Client] is made from a [backend.Backend], and makes locks.
//
//	client, err := primitives.New(b, nil)
//	lease, err := client.NewLock("orders:42", nil).Lock(ctx)
//	defer lease.Unlock(ctx)
//	charge(lease.Context(ctx), lease.Token())
//
// Keys, owners, channels and messages are those of Java's Redisson, so that Go and Java processes
// share one object by its name; docs/redisson.md has the map.
//
// # Guarantees
//
// A [Lease] is what is held, and it is held for a time: its contexts end, and Err tells of the
// loss, before the server can give the lock to another, however the network behaves. This rests on
// the key being neither deleted nor evicted, on no failover losing it, and on the server's clock
// not gaining more than the allowance over a lease. Where that is not enough, hand [Lease.Token] to
// the resource and let it refuse lower ones. docs/guarantees.md says what survives what.
//
// # Errors
//
// Errors carry the operation and the object's name, and match the sentinels of this package, those
// of package backend and the context's error by errors.Is. After an error nothing is held: what a
// call may have taken is given back in the background, and Close waits for that.
package primitives
