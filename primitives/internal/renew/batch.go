package renew

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
)

// batch is what holds must share to be renewed by one script.
type batch struct {
	renewer Renewer
	lease   time.Duration
	slot    int
}

func (k *Keeper) batchOf(h *Hold) batch {
	b := batch{renewer: h.Renewer, lease: h.Lease}
	if k.cluster {
		b.slot = backend.Slot(h.Key)
	}
	return b
}

// renew renews holds by one script, under a deadline that leaves time for other tries.
func (k *Keeper) renew(b batch, holds []*Hold) {
	defer k.running.Done()
	k.renewAll(b, holds)
}

func (k *Keeper) renewAll(b batch, holds []*Hold) {
	ctx, cancel := context.WithTimeout(k.ctx, b.lease/3)
	defer cancel()
	sent := time.Now()
	statuses, err := b.renewer.Renew(ctx, k.runner, holds)
	if refused(err) && len(holds) > 1 {
		// One key that the server refuses (by its ACL, say) must not cost the others their lease.
		half := len(holds) / 2
		k.renewAll(b, holds[:half])
		k.renewAll(b, holds[half:])
		return
	}
	if err != nil {
		k.log.Warn("leases not renewed", zap.Int("count", len(holds)), zap.Error(err))
	}
	for _, h := range k.settle(holds, sent, statuses, err) {
		h.OnLost.Lost()
	}
}

// refused reports whether the server answered, and would answer the same again.
func refused(err error) bool {
	var server *backend.ServerError
	return errors.As(err, &server) && !backend.NotExecuted(server.Code)
}

// settle notes the outcome of a renewal sent at the given time, and returns the holds it found lost.
func (k *Keeper) settle(holds []*Hold, sent time.Time, statuses []Status, err error) (gone []*Hold) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	for i, h := range holds {
		status := Failed
		if err == nil && i < len(statuses) {
			status = statuses[i]
		}
		h.renewing = false
		if k.settleOne(h, status, sent, now) {
			gone = append(gone, h)
		}
	}
	return gone
}

// settleOne reports whether h is lost. A reply that comes after the lease ended does not bring it
// back, and "not held" counts only from a renewal that was sent after the grant was confirmed.
func (k *Keeper) settleOne(h *Hold, status Status, sent, now time.Time) bool {
	if h.state != held && h.state != pending {
		return false
	}
	granted := h.state == held
	if granted && (h.expired(now) || status == NotHeld && sent.After(h.granted)) {
		k.remove(h, lost)
		return true
	}
	h.renewAt = now.Add(h.Lease / 10)
	if status == Renewed && !sent.Before(h.started) {
		h.started = sent
		h.renewAt = sent.Add(h.Lease / 3)
	}
	k.arm(now, h)
	return false
}
