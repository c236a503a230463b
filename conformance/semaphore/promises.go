package semaphore

// Promises are what the doc comments of package primitives say of a semaphore.
var Promises = map[string]string{
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
}
