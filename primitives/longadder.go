package primitives

import "context"

// LongAdder is a sum to which processes add without asking the server: each counts for itself, and Sum asks
// all of them. It is for what changes far more often than it is read, and may be lost with the process, as
// statistics may: what an adder has counted is gone when it is closed, or its process ends. A number that
// outlives processes is an [AtomicLong], at a round trip for each change.
//
// # What a sum has
//
// All that was added, on any client of any process, to adders of that name which are open: at least what
// was added before Sum was called, and nothing that is added after it has returned. Numbers wrap around
// within one process, as Go's int64 does; a sum beyond the range is [ErrOverflow].
//
// Sum publishes a request, and waits until as many have answered as the server says have got it. If not all
// have within a second, it publishes another one, since some may have left, and so on, in growing pauses. So
// it is as fast as the slowest of them, and:
//
//   - a process that is stopped, or a connection that has gone silent, is waited for until the server knows
//     that it is gone, but no longer than a minute. Then, or at an earlier deadline, the error wraps an
//     [*UnansweredError], which says how many have answered.
//   - a process whose connection is just being restored is left out, without a word. Not so the one that
//     asks: its own adders are always part of the sum.
//
// # Adders of one name
//
// The adders of one name over one backend, of whichever clients of the process, are one for those who ask:
// they share a subscription, and answer once, with the sum of what they have counted. They must be over the
// same backend, and not over two that wrap it. A name has adders of one kind, long or double.
//
// Each logical database of a server has sums of its own. But a channel belongs to the whole server, and Redisson's
// adders do not ask which database a request came from: while one of them is open in another database, each Sum
// fails after a minute. Next to Redisson, give each database names of its own, by a KeyPrefix, say.
//
// A LongAdder is safe for concurrent use.
//
// Source: Redisson's RLongAdder: the requests 1:id and 0:id on the channel {name}:adder-topic, a decimal
// text at {name}:id:counter, and a semaphore at {name}:id:semaphore, which end after an hour. Under a KeyPrefix
// these keys also have the prefix in front, as Redisson with a NameMapper has them.
type LongAdder struct{ adder }

// OpenLongAdder returns an adder called name, which takes part in sums from now on, until it is closed. It
// subscribes, if no other adder of the process has done so, and returns when the server has acknowledged
// that.
//
// It returns a [*FieldError] for an empty name; [backend.ErrNotSupported] if the backend has no messages,
// or has those of a cluster by PUBLISH, which counts the receivers of one node only, or cannot be compared;
// [ErrConflict] if the process has a [DoubleAdder] of that name open; and what a subscription fails with. In
// a cluster a name with braces must have its hash tag in them.
func (c *Client) OpenLongAdder(ctx context.Context, name string) (*LongAdder, error) {
	a := new(LongAdder)
	if err := a.open(ctx, c, longAdderKind, name); err != nil {
		return nil, err
	}
	return a, nil
}

// Add adds n. It sends nothing, and never fails.
func (a *LongAdder) Add(n int64) { a.long.Add(n) }

// Increment adds 1.
func (a *LongAdder) Increment() { a.Add(1) }

// Decrement subtracts 1.
func (a *LongAdder) Decrement() { a.Add(-1) }

// Sum asks all adders of that name, and returns the sum of their answers. It waits for them for up to a minute, until
// ctx ends, the adder or the client is closed, or the backend fails. If some have not answered, the error wraps an
// [*UnansweredError]. It changes nothing: after any error, also after
// [ErrIndeterminate], it may be called again.
func (a *LongAdder) Sum(ctx context.Context) (int64, error) {
	sum, err := a.ask(ctx, "sum", adderSum)
	return sum.long, err
}
