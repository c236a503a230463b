package primitives

import "context"

// LongAdder is a sum to which processes add without asking the server: each process counts by
// itself, and Sum asks all of them. It is for numbers that change far more often than they are
// read, and that may be lost with the process, such as statistics: an adder's count is lost when
// the adder is closed, or its process ends. Use an [AtomicLong] for a number that outlives
// processes, at one round trip for each change.
//
// # The sum
//
// The sum has the counts of all open adders of the name, on all clients of all processes:
// everything that was added before Sum was called, and nothing that is added after it has returned.
// Within one process numbers wrap around, like Go's int64. If the sum is out of range, the error is
// [ErrOverflow].
//
// Sum publishes a request, and waits for as many answers as the server says there were receivers.
// If an answer is missing after a second, Sum publishes another request, since a process may have
// ended, and repeats that after growing pauses. So it is as fast as the slowest process. There are
// two special cases:
//
//   - A process is stopped, or its connection has gone silent: Sum waits for it until the server
//     notices, but for no longer than a minute. Then, or at an earlier deadline, the error wraps an
//     [*UnansweredError] with the number of answers.
//   - A process's connection is just being restored: Sum omits its adders, without an error. The
//     caller's own adders are always part of the sum.
//
// # Adders of one name
//
// In one process, all adders of one name over one backend, of any clients, count as one: they share
// a subscription, and answer once, with their sum. They must use the same backend value, and not
// two values that wrap it. A name has adders of one kind, long or double.
//
// Each logical database of a server has sums of its own. But a channel belongs to the whole server,
// and Redisson's adders do not check from which database a request came: while a Redisson adder of
// the name is open in another database, each Sum fails after a minute. If you share a server with
// Redisson, give each database names of its own, for example by a KeyPrefix.
//
// A LongAdder is safe for concurrent use.
//
// Source: Redisson's RLongAdder: the requests 1:id and 0:id on the channels {name}:adder-topic and, before 3.38, {name}:topic, a
// decimal text at {name}:id:counter, and a semaphore at {name}:id:semaphore. Both keys expire after
// an hour. Under a KeyPrefix the prefix also stands in front of these keys, as in Redisson with a
// NameMapper.
type LongAdder struct{ adder }

// OpenLongAdder returns an adder called name. Sums include it from now on, until it is closed.
// OpenLongAdder subscribes, if no other adder of the name in the process has, and returns when the
// server has acknowledged the subscription.
//
// In a cluster a name with braces must have its hash tag in them. The error is or wraps
//
//   - a [*FieldError] for an empty name,
//   - [ErrConflict] if the process has a [DoubleAdder] of that name open,
//   - [backend.ErrNotSupported] if the backend cannot subscribe, if it is a cluster without sharded
//     channels (PUBLISH counts the receivers of one node only), or if its value cannot be compared,
//   - the error of the subscription if that fails.
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

// Sum asks all adders of the name, and returns the sum of their answers. It waits for the answers
// for up to a minute, or until ctx ends, the adder or the client is closed, or the backend fails.
// If an answer is missing, the error wraps an [*UnansweredError]. Sum changes nothing: after any
// error it may be called again.
func (a *LongAdder) Sum(ctx context.Context) (int64, error) {
	sum, err := a.sum(ctx)
	return sum.Long, err
}

// DoubleAdder is a [LongAdder] for float64, with the same errors. If a sum is infinite or NaN, the
// error is [ErrOverflow].
//
// Each process adds in float64, and the server adds as for an [AtomicDouble]: the last digit may
// depend on the order in which processes answer.
//
// Source: Redisson's RDoubleAdder, with the channel and the keys of RLongAdder.
type DoubleAdder struct{ adder }

// OpenDoubleAdder returns an adder called name. Sums include it from now on, until it is closed. It
// waits and fails like [Client.OpenLongAdder].
func (c *Client) OpenDoubleAdder(ctx context.Context, name string) (*DoubleAdder, error) {
	a := new(DoubleAdder)
	if err := a.open(ctx, c, doubleAdderKind, name); err != nil {
		return nil, err
	}
	return a, nil
}

// Add adds x. It sends nothing, and never fails.
func (a *DoubleAdder) Add(x float64) { a.addDouble(x) }

// Increment adds 1.
func (a *DoubleAdder) Increment() { a.Add(1) }

// Decrement subtracts 1.
func (a *DoubleAdder) Decrement() { a.Add(-1) }

// Sum asks all adders of the name, and returns the sum of their answers. It waits and fails like
// [LongAdder.Sum].
func (a *DoubleAdder) Sum(ctx context.Context) (float64, error) {
	sum, err := a.sum(ctx)
	return sum.Double, err
}
