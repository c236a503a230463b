package lock

import "strings"

// PromisesOf returns the promises of a kind of locks.
func PromisesOf(name string) map[string]string {
	all := map[string]string{}
	for clause, text := range Promises {
		all[strings.Replace(clause, "Lock", name, 1)] = text
	}
	return all
}

// Promises are the promises of a lock.
var Promises = map[string]string{
	"Lock.Exclusion": `At any time at most one owner holds a lock. Each call of Lock or TryLock is
an owner of its own, even on one Lock value and under a lease's Context.`,
	"Lock.Waiting": `Lock acquires when the lock becomes free: by a message, at the end of the
holder's lease, or by a bounded poll. A woken waiter that leaves wakes the next one.`,
	"Lock.Lease": `A lease is lost at its last confirmed end less the clock drift, counted from before the
request was sent. Then its contexts end with cause ErrLost, for good.`,
	"Lock.Renewal": `A lock without a fixed lease is renewed every third of the watchdog's lease until
Release, while its owner holds it. A bad key costs only itself.`,
	"Lock.Release": `Release ends the lease's contexts and then frees the lock, even under a context
that has ended. A nil error proves that the lock was held to the end.`,
	"Lock.Reenter": `Under a lease's Reenter context Lock and TryLock re-enter its hold, with the same
options. Each lease is released once, and the last release frees the lock.`,
	"Lock.GivingBack": `A cancelled acquire returns at once, and a grant that it may have got is released.
That release never touches another hold.`,
	"Lock.Token": `A grant's token is higher than that of every earlier grant of the name. Re-entry
does not raise it.`,
	"Lock.Input": `Bad input gets a typed error that names the field, at once, with nothing sent.`,
	"Lock.Close": `Close ends waiting and the contexts of held leases with ErrClosed, releases the holds,
and leaves no subscription and no goroutine.`,
	"Lock.Queries": `IsLocked, IsHeldBy, HoldCount and Remaining return the server's state. ForceUnlock
frees the lock no matter who holds it, and Revoke keeps it, for an owner that no client has, until the lease has ended. A key of another kind is ErrConflict and is not touched.`,
	"Lock.Wire": `Keys, owners, channels and messages are Redisson's: a hash of owner and hold
count at the name, the message 0 on its channel at the release.`,
}
