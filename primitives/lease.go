package primitives

import "github.com/hasp-go/hasp/primitives/lease"

// Lease is one acquisition of a lock, or of permits. Its holder uses it to work while it holds them, and to
// release them: by its methods Context, Do and Release, for example. It is an alias of [lease.Lease], where
// all methods are documented: "go doc github.com/hasp-go/hasp/primitives/lease Lease" lists them.
// [lease.From] returns the lease of a context. [CountingSemaphore.Refresh] extends a lease of that semaphore.
type Lease = lease.Lease
