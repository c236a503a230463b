package backend

import (
	"context"
	"time"
)

// ReplicaWaiter is implemented by backends that can hold replies back until replicas have the
// writes.
type ReplicaWaiter interface {
	// RunThenWait runs each call as RunBatch would. On the connection that the calls of a node used, it
	// then asks how many replicas have acknowledged all that was written there (WAIT), waiting for up to
	// replicas of them or for timeout. It passes each outcome to report, with that number in Acked, and
	// returns when all outcomes are reported. Claims are handled as B2 says. When ctx ends, RunThenWait
	// returns promptly, as Run does.
	//
	// W1. The calls of one node go over one connection, followed by one WAIT on it, and no redirect is
	// followed between them. If a script ran and the waiting failed, its outcome has the reply, and an
	// error that wraps [ErrReplicas], and [ErrNotSupported] too if the server does not know WAIT. Acked
	// may be smaller or larger than replicas; deciding is the caller's.
	//
	// W2. A call that is sent again is followed by a WAIT of its own. A node that is slow or silent, or whose
	// replicas do not acknowledge, must not hold up the outcomes of another node's calls.
	RunThenWait(
		ctx context.Context, calls []Call, replicas int, timeout time.Duration,
		report func(place int, outcome Outcome),
	)
}
