package renew

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/batch"
	"github.com/hasp-go/hasp/primitives/lease"
)

// extension is what the keeper knows of the requests that set the length of one entry's lease. The
// server may still execute a request without an answer, after later ones. So the holder trusts no
// later length that is longer.
type extension struct {
	unanswered int           // requests under way, and requests whose outcome is unknown
	shortest   span          // the shortest lease that a request set since none was unanswered
	longest    time.Duration // the longest lease that a request set
}

// Refresh renews the held entry e now, to a whole lease: see Extend.
func (k *Keeper) Refresh(ctx context.Context, r Runner, by Renewer, e *Entry) (batch.Status, error) {
	return k.Extend(ctx, r, by, e, e.Lease, e.ClockDrift)
}

// Extend makes the lease of the held entry e last for length from now on, with r and the renewer,
// even if the keeper does not renew it, and returns the server's answer. The lease ends earlier for
// its holder, by drift. The error is the request's, or that too few replicas acknowledged it. After an error, or after Failed, the lease is
// at least as long as before, or as length if that is shorter. If the owner does not hold the key,
// or if the answer comes too late, e is lost, and Extend calls its OnLost before it returns.
func (k *Keeper) Extend(
	ctx context.Context, r Runner, by Renewer, e *Entry, length, drift time.Duration,
) (batch.Status, error) {
	sent := k.beginExtension(e, span{length, drift})
	statuses, shortage, err := e.waitingFor(length).renew(ctx, renewal{
		r, by, []string{e.Key}, []string{e.Owner}, length, k.left([]*Entry{e}, sent),
	})
	if err != nil || len(statuses) != 1 || statuses[0] == batch.Failed {
		k.failExtension(e, err)
		return batch.Failed, cmp.Or(err, shortage)
	}
	if loss := k.settleRefresh(e, statuses[0], sent); loss != nil {
		e.OnLost.HandleLoss(loss)
	}
	return statuses[0], nil
}

// beginExtension reads the clock for a request that is about to be sent. If it may make the lease
// end earlier, the holder trusts the lease no longer than that from now on.
func (k *Keeper) beginExtension(e *Entry, to span) (sent instant) {
	sent = k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	x := &e.rarely().extension
	if x.unanswered == 0 || to.length < x.shortest.length {
		x.shortest = to
	}
	x.unanswered++
	x.longest = max(x.longest, to.length)
	if e.state == stateHeld && to.length-to.drift < e.validFor()-sent.since(e.validFrom) {
		e.validFrom, e.first = sent, to
		k.plan(e, sent)
	}
	return sent
}

// failExtension notes that a request failed. If it may still be executed, it stays unanswered.
func (k *Keeper) failExtension(e *Entry, err error) {
	if !errors.Is(err, backend.ErrIndeterminate) {
		k.mu.Lock()
		defer k.mu.Unlock()
		e.rare.unanswered--
	}
}

// settleRefresh returns why e is lost, or nil if it is not. Its grant was confirmed before the request was sent,
// even if a coarse clock shows the same time for both.
func (k *Keeper) settleRefresh(e *Entry, status batch.Status, sent instant) *lease.LossError {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	e.rare.unanswered--
	if loss := k.settleOne(e, status, sent, now); loss != nil {
		return loss
	}
	switch {
	case e.state == stateHeld && batch.Lost(status):
		return k.lose(e, lossOnServer(status))
	case e.state == stateHeld && status == batch.Done && e.validFrom == sent:
		e.first = e.rare.shortest
		k.plan(e, now)
	}
	return nil
}

// MayLast returns the longest time for which the lease of e may last on the server, from a request
// on.
func (k *Keeper) MayLast(e *Entry) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if e.rare == nil {
		return e.Lease
	}
	return max(e.Lease, e.rare.longest)
}
