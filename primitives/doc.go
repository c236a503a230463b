// Package primitives synchronizes processes through a Redis-protocol server, over the application's
// own driver. A [Client] makes locks, semaphores, rate limiters, latches, elections, periodic jobs,
// memos, numbers and id generators. NewClient of an adapter's package (backend/rueidis, backend/valkey,
// backend/goredis) makes a Client over the driver's client. [New] makes a Client over any
// [backend.Backend].
//
//	client, err := rueidisbackend.NewClient(conn, nil) // one for each process
//	lock := client.NewLock("orders:42", nil)
//	err = lock.Do(ctx, func(ctx context.Context, lease *primitives.Lease) error { // waits for the lock
//		return charge(ctx, lease.Token()) // ctx ends if the lock is lost
//	}) // nil: it was held to the end
//
// The methods of a [Client] make objects. The methods of nil, and of an object's zero value, panic.
//
// Where Redisson has the object, keys, owners, channels and messages are the same, and Go and Java processes can share
// it by its name. docs/redisson.md lists the objects.
//
// # Semaphores
//
// There are three. The permits of a crashed holder return when its lease ends. Only those of a [Semaphore] have no
// lease, and stay taken. A [Semaphore] and a [PermitSemaphore] count permits on the server. A [CountingSemaphore]
// has a limit, which each caller gives. docs/choosing.md compares all kinds of objects.
//
// # Guarantees
//
// A [Lease] ends by time. If it is lost, its contexts end, and Err reports the loss, before the server
// can give the lock to another holder, even if the network hangs. There are four exceptions: the
// process is paused (it learns of the loss when it wakes), the key is deleted or evicted, a failover
// loses the key, or the server's clock is set forward, or runs fast, by more than
// [Options].ClockDrift during a lease. If that is not enough, claim with [Lease.Token] what you
// read, and let the resource refuse lower tokens from then on. See docs/guarantees.md.
//
// # Errors
//
// Errors carry the operation and the object's name, and match by errors.Is the sentinels of this
// package, the sentinels of package backend, and the context's error. [ErrUnavailable] says that a
// request was not executed, [ErrIndeterminate] that it may have been executed, or may still be. After
// the error of an acquire the caller holds no lease: the client releases a possible grant in the
// background, and [Client.Close] waits for that. There is one exception: after [ErrIndeterminate],
// permits of a plain [Semaphore], a [RateLimiter] or a [Throttle] may be used up. If work was called, and only the
// release failed, Do returns a [*ReleaseError].
//
// The tests of this package are in hasptest/primitives: their server in the process is of a module that users must not get.
package primitives
