package redisson

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Contest is what threads in the JVM do: each locks and unlocks for a while.
type Contest struct {
	// Name is the name of the lock, or with Own, of each thread's lock, before the thread's number.
	Name string

	// Threads is how many there are.
	Threads int

	// Own gives each thread a lock of its own, all of one client. Otherwise all threads compete for one lock, and
	// each has a client of its own.
	Own bool

	// Lasts is for how long they go on, and Patience how much later one that still waits for a lock gives up.
	Lasts, Patience time.Duration
}

// Measured is what a contest came to.
type Measured struct {
	Ops         int             // times that a thread had a lock
	Took        time.Duration   // until the last thread had ended
	Processor   time.Duration   // how long the JVM used processors, in steps of 10 ms on Linux
	Least, Most int             // times that one thread had the lock while the contest lasted
	Stuck       int             // threads that gave up
	Waits       []time.Duration // the percentiles from 0 to 100 of the waits for a lock; none, if nobody had it
}

// Measure runs a contest. One runs at a time. The first needs longer, since a JVM compiles what it runs often.
func (c *Client) Measure(ctx context.Context, of Contest) (m Measured, err error) {
	method := "measure.shared"
	if of.Own {
		method = "measure.own"
	}
	text, err := c.Do(ctx, method, of.Name, of.Threads, of.Lasts.Milliseconds(), of.Patience.Milliseconds())
	if err != nil {
		return m, err
	}
	if json.Unmarshal([]byte(text), &m) != nil { // The answer is an exception.
		return m, fmt.Errorf("%s: %s", method, text)
	}
	return m, nil
}
