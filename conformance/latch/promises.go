package latch

// Promises are what the doc comments of package primitives say of a latch.
var Promises = map[string]string{
	"Latch.Counts": `A latch is set once and counted down to 0, where it is gone. One that is not set
has the count 0. A key that holds something else is ErrConflict and is not touched.`,

	"Latch.Waiting": `Wait returns when the count is 0, and never while it is above 0. All waiters of
all clients go on at 0, when the latch is deleted, and when its life ends: by a message, by a gap of
the messages, or by a bounded poll. It may be set again.`,

	"Latch.Setting": `WaitUntilSet returns when the latch is set: by a message, by a gap of the messages, or by a
bounded poll. Calls of Wait on the same latch do not hold it up. A TTL is set together with the count.`,

	"Latch.Wire": `The key is Redisson's decimal count and its messages are 1 for a new count and 0
for those that wait, on its channel, but for names with braces where channels are sharded.`,
}
