package backend

import (
	"context"
	"time"
)

// ReplicaWaiter is implemented by backends that can hold a reply back until replicas have the
// write.
type ReplicaWaiter interface {
	// RunThenWait runs call as Run would, then asks the same connection how many replicas have
	// acknowledged all that was written on it (WAIT), waiting for up to replicas of them or for
	// timeout.
	//
	// W1. Both go over one connection, to one node, and no redirect is followed between the two.
	// If the script ran and the waiting failed, RunThenWait returns the reply, and an error that
	// wraps [ErrReplicas]. acked may be smaller or larger than replicas; deciding is the caller's.
	//
	// If the server does not know WAIT, the error wraps [ErrNotSupported], too. A call that has a
	// Claim should be handled as B2 says.
	RunThenWait(
		ctx context.Context, call Call, replicas int, timeout time.Duration,
	) (reply Reply, acked int, err error)
}
