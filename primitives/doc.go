// Package primitives synchronizes processes through a Redis-protocol server, over the application's own driver. A
// [Client], made from a [backend.Backend], makes locks, semaphores, rate limiters, latches, numbers and id generators.
//
//	client, err := primitives.New(b, nil)
//	lease, err := client.NewLock("orders:42", nil).Lock(ctx)
//	defer func() { err = errors.Join(err, lease.Release(ctx)) }() // nil: it was held to the end
//	return charge(lease.Context(ctx), lease.Token())             // the context ends if it is lost
//
// Keys, owners, channels and messages are those of Java's Redisson, so that Go and Java processes
// share one object by its name; docs/redisson.md has the map.
//
// # Guarantees
//
// A [Lease] ends by time. If it is lost, its contexts end, and Err reports the loss, before the server
// can give the lock to another holder, even if the network hangs. This is not so if the process is
// paused (it learns of the loss when it wakes), if the key is deleted or evicted, if a failover loses the
// key, or if the server's clock gains more than the clock drift during a lease. Where that is not enough,
// send [Lease.Token] to the resource, and let the resource refuse lower tokens. docs/guarantees.md says more.
//
// # Errors
//
// Errors carry the operation and the object's name, and match the sentinels of this package, those
// of package backend and the context's error by errors.Is. [ErrUnavailable] says that a request
// was not executed, [ErrIndeterminate] that it may have been, or may yet be. After an error the caller
// holds no lease: the client releases a possible grant in the background, and Close waits for that. Permits of
// a plain [Semaphore] or a [RateLimiter] may be used up after [ErrIndeterminate].
package primitives
