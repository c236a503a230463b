package renew

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/batch"
)

// Runner runs renewals.
type Runner interface {
	backend.ScriptRunner

	// Waiting returns a runner of one call, which also waits for replicas, for up to timeout. Calls for leases that end
	// sooner are sent first: these end in left. When the call has returned without an error, shortage returns nil if
	// enough replicas have acknowledged it, and otherwise an error that wraps [backend.ErrReplicas].
	Waiting(replicas int, timeout, left time.Duration) (r backend.ScriptRunner, shortage func() error)
}

// waiting says for how many replicas a renewal waits, and for how long. The zero waits for none.
type waiting struct {
	replicas int
	timeout  time.Duration
}

// waitingFor returns how a renewal waits that makes the lease last for length.
func (t *Terms) waitingFor(length time.Duration) waiting {
	if t.Replicas == 0 {
		return waiting{}
	}
	return waiting{t.Replicas, min(t.ReplicaTimeout, (length / 10).Truncate(time.Millisecond))}
}

// scriptsAtOnce is how many scripts of a group are under way at a time.
func (w waiting) scriptsAtOnce() int {
	if w.replicas > 0 {
		return waitingAtOnce
	}
	return scriptsAtOnce
}

// renewal is a script that is about to be sent.
type renewal struct {
	runner       Runner
	renewer      Renewer
	keys, owners []string
	length       time.Duration
	left         time.Duration // until the first of the leases ends
}

// renew sends a script. If too few replicas have acknowledged it, shortage is not nil, and the renewals that the server
// has done count as failed: the next primary may not know them. The answer that an owner holds nothing counts.
func (w waiting) renew(ctx context.Context, of renewal) (statuses []batch.Status, shortage, err error) {
	if w.replicas == 0 {
		statuses, err = of.renewer.Renew(ctx, of.runner, of.keys, of.owners, of.length)
		return statuses, nil, err
	}
	runner, short := of.runner.Waiting(w.replicas, w.timeout, of.left)
	if statuses, err = of.renewer.Renew(ctx, runner, of.keys, of.owners, of.length); err != nil {
		return nil, nil, err
	}
	if shortage = short(); shortage != nil {
		for i, status := range statuses {
			if status == batch.Done {
				statuses[i] = batch.Failed
			}
		}
	}
	return statuses, shortage, nil
}

// left returns how long the first of the entries may still be trusted that wait for replicas.
func (k *Keeper) left(entries []*Entry, now instant) time.Duration {
	left := never
	if entries[0].Replicas == 0 {
		return left
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range entries {
		left = min(left, e.validFor()-now.since(e.validFrom))
	}
	return left
}
