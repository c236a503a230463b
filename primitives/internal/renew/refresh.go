package renew

import (
	"context"

	"github.com/hasp-go/hasp/backend"
)

// Refresh renews the held entry e now, with r and the renewer, even if the keeper does not renew
// it, and returns the server's answer. The error is the request's. After an error, or after Failed,
// e is unchanged. If the owner does not hold the key, or if the answer comes too late, e is lost,
// and Refresh calls its OnLost before it returns.
func (k *Keeper) Refresh(
	ctx context.Context, r backend.ScriptRunner, by Renewer, e *Entry,
) (Status, error) {
	sent := k.now()
	statuses, err := by.Renew(ctx, r, []string{e.Key}, []string{e.Owner}, e.Lease)
	if err != nil || len(statuses) != 1 || statuses[0] == Failed {
		return Failed, err
	}
	if k.settleRefresh(e, statuses[0], sent) {
		e.OnLost.HandleLoss()
	}
	return statuses[0], nil
}

// settleRefresh reports whether e is lost. Its grant was confirmed before the request was sent,
// even if a coarse clock shows the same time for both.
func (k *Keeper) settleRefresh(e *Entry, status Status, sent instant) bool {
	now := k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.settleOne(e, status, sent, now) {
		return true
	}
	lost := e.state == stateHeld && status.Lost()
	if lost {
		k.remove(e, stateLost)
	}
	return lost
}
