package renew

import (
	"context"

	"github.com/hasp-go/hasp/backend"
)

// Refresh renews e, which is held, now, by r and the renewer, whether the keeper renews it otherwise or not, and
// returns the server's answer. After an error, which is that of the request, and after Failed e is as it was. If
// the owner does not hold the key, or if the answer comes too late, e is lost, and its OnLost is called before
// Refresh returns.
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

// settleRefresh reports whether e is lost. Its grant was confirmed before the request was sent, whatever a
// coarse clock says.
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
