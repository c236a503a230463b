package permits

import "github.com/hasp-go/hasp/conformance/lock"

// Promises are those of a lock that are about its leases, but for what several permits change.
var Promises = promises()

func promises() map[string]string {
	all := map[string]string{}
	for _, part := range []string{"Lease", "Renewal", "Unlock", "Close", "Input", "GivingBack"} {
		all["PermitSemaphore."+part] = lock.Promises["Lock."+part]
	}
	all["PermitSemaphore.Limit"] = `No more permits are held at any time than there are. What a holder took
comes back when its lease ends by the server's clock, also if it crashed.`
	all["PermitSemaphore.IDs"] = `Each permit has an id, by which anybody can release it or give it another
lease: all of some or, with ErrNotHeld, none, if one is unknown or its lease has ended.`
	all["PermitSemaphore.Counts"] = `Free permits are counted by the server. Those whose leases have ended
are free. A semaphore that does not exist has none; what cannot be counted, or is no count, is a typed
error and changes nothing.`
	all["PermitSemaphore.Waiting"] = `A release wakes as many waiters as can use what is free then, on every
client, and a waiter for many holds up none for few. The end of a lease wakes a waiter without a message.`
	all["PermitSemaphore.Reenter"] = `Under a lease's Reenter context an acquire of no more permits than it
has shares its hold; one of more takes its own. Each lease is released once.`
	all["PermitSemaphore.Life"] = `Expire and its kin end the count and the leases together.`
	all["PermitSemaphore.Wire"] = `The keys are Redisson's: a decimal count, and a sorted set of ids of 16
bytes by the ends of their leases in milliseconds. Messages are the number of free permits, at least 1.`
	return all
}
