// Package lock declares primitives.Lock and primitives.FencedLock for the suite: their promises, their
// model, their operations, and what their leases hold.
package lock

import "strings"

// PromisesOf are the promises of a kind of locks.
func PromisesOf(name string) map[string]string {
	all := map[string]string{}
	for clause, text := range Promises {
		all[strings.Replace(clause, "Lock", name, 1)] = text
	}
	return all
}

// Promises are what the doc comments of package primitives say of a lock, and design.md of locks.
var Promises = map[string]string{
	"Lock.Exclusion": `At any time at most one owner holds a lock. Each call of Lock or TryLock is
an owner of its own, also on one Lock value and under a lease's Context.`,

	"Lock.Waiting": `Lock acquires when the lock becomes free: by a message, by the end of the
holder's lease, or by a bounded poll. A woken waiter that leaves passes the wake on.`,

	"Lock.Lease": `A lease is lost at the last confirmed end of the lease less the allowance,
counted from before the request was sent, by the clock and whatever the network does. Its contexts
end with cause ErrLost. Loss is final.`,

	"Lock.Renewal": `Without a lease of its own a lock is renewed every third of the watchdog's
lease until Unlock. Only what its owner still holds is renewed; a bad key costs only itself.`,

	"Lock.Unlock": `Unlock ends the lease's contexts and then frees the lock, also under a context
that is done. A nil error proves that the lock was held to the end. A lease is released once.`,

	"Lock.Reenter": `Under a lease's Reenter context Lock and TryLock re-enter its hold. Each lease
is released once and the last one frees the lock; inner options must agree.`,

	"Lock.GivingBack": `An acquire that was cancelled, or whose outcome is unknown, returns at once,
and what it may have taken is given back. Its late release never touches another hold.`,

	"Lock.Token": `A grant's token is higher than that of every earlier grant of the name. Re-entry
does not raise it.`,

	"Lock.Input": `Bad input gets a typed error that names the field, at once, with nothing sent.`,

	"Lock.Close": `Close ends waiting with ErrClosed and the contexts of held leases with that cause,
releases what is held and leaves no subscription and no goroutine.`,

	"Lock.Queries": `IsLocked, IsHeldBy, HoldCount and Remaining return what the server has. ForceUnlock
frees the lock no matter who holds it. A key of another kind is ErrConflict and is not touched.`,

	"Lock.Wire": `Keys, owners, channels and messages are Redisson's: a hash of owner and hold
count at the name, the message 0 on its channel at the release.`,
}
