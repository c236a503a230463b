package conformance

// promises are what the doc comments of package primitives say of a lock, and design.md of locks.
var promises = map[string]string{
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

	"Semaphore.Counts": `Permits are counted by the server and owned by nobody. A semaphore that does
not exist has none. What cannot be counted, or is no count, is a typed error and changes nothing; an
end of its life stays.`,

	"Semaphore.Limit": `No more permits are held at any time than there are.`,

	"Semaphore.Waiting": `A release wakes as many waiters as can use what is free then, on every
client, and a waiter for many holds up none for few. Once as many are free as a waiter needs, and
nobody else takes them, it gets them: by a message, by another waiter, or by a bounded poll.`,

	"Semaphore.GivingBack": `After an error nothing is acquired, unless it says that the outcome is
unknown. What a cancelled acquire takes comes back. A release is sent even if its
context ends. Nothing is sent twice.`,

	"Semaphore.Wire": `The key is Redisson's decimal count and its messages are the number of free
permits, at least 1.`,

	"Latch.Counts": `A latch is set once and counted down to 0, where it is gone. One that is not set
has the count 0. A key that holds something else is ErrConflict and is not touched.`,

	"Latch.Waiting": `Wait returns when the count is 0, and never while it is above 0. All waiters of
all clients go on at 0, when the latch is deleted, and when its life ends: by a message, by a gap of
the messages, or by a bounded poll. It may be set again.`,

	"Latch.Wire": `The key is Redisson's decimal count and its messages are 1 for a new count and 0
for those that wait, on its channel, but for names with braces where channels are sharded.`,

	"Atomic.Exact": `A number is exact over the range of its type. One that does not exist is 0.`,

	"Atomic.Errors": `A sum beyond the range is ErrOverflow and a key that holds something else
ErrConflict, which names both kinds; both leave the key as it was. A change whose outcome is unknown
is made at most once.`,

	"Atomic.Life": `What depends on the number keeps the end of its life; Store and Swap do not.`,

	"Atomic.RoundTrip": `Each call takes one round trip, by a plain command where there is one.`,
}
