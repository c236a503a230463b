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
	denied  bool // the server has denied each of their keys of late
}

func (k *Keeper) batchOf(h *Hold, now time.Time) batch {
	b := batch{renewer: h.Renewer, lease: h.Lease, denied: now.Before(h.deniedUntil)}
	if k.cluster {
		b.slot = backend.Slot(h.Key)
	}
	return b
}

// renew renews holds of one batch, under a deadline that leaves time for other tries.
func (k *Keeper) renew(b batch, holds []*Hold) {
	defer k.running.Done()
	ctx, cancel := context.WithTimeout(k.ctx, b.lease/3)
	defer cancel()
	var failed int
	var failure error
	for parts := [][]*Hold{holds}; len(parts) > 0; parts = parts[1:] {
		halves, err := k.renewOnce(ctx, b, parts[0])
		parts = append(parts, halves...)
		if err != nil {
			failed, failure = failed+len(parts[0]), err
		}
	}
	if failure != nil { // Last of all, since the logger may block.
		k.log.Warn("leases not renewed", zap.Int("count", failed), zap.Error(failure))
	}
}

// renewOnce sends one script, and settles its holds. If the server denies one of their keys, it does
// not say which: then it returns them in halves, to renew those that it does not deny. Any other
// refusal is of the whole script, so that there is nothing to find.
func (k *Keeper) renewOnce(
	ctx context.Context, b batch, holds []*Hold,
) (halves [][]*Hold, err error) {
	sent := k.now()
	statuses, err := b.renewer.Renew(ctx, k.runner, holds)
	if half := len(holds) / 2; half > 0 && !b.denied && errors.Is(err, backend.ErrKeyDenied) {
		return [][]*Hold{holds[:half], holds[half:]}, nil
	}
	for _, h := range k.settle(holds, sent, statuses, err) {
		h.OnLost.Lost()
	}
	return nil, err
}

// settle notes the outcome of a renewal sent at the given time, and returns the holds it found lost.
func (k *Keeper) settle(holds []*Hold, sent instant, statuses []Status, err error) (gone []*Hold) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if len(holds) == 1 && errors.Is(err, backend.ErrKeyDenied) {
		// Meanwhile it is renewed apart from the others, so that they need not be halved again.
		holds[0].deniedUntil = now.Add(holds[0].Lease / 3)
	}
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
func (k *Keeper) settleOne(h *Hold, status Status, sent, now instant) bool {
	if h.state != held && h.state != pending {
		return false
	}
	granted := h.state == held
	if granted && (h.expired(now) || status == NotHeld && sent.After(h.granted)) {
		k.remove(h, lost)
		return true
	}
	h.renewAt = now.Add(h.Lease / 10)
	if status == Renewed && !sent.Before(h.started.Time) {
		h.started = sent
		h.renewAt = sent.Add(h.Lease / 3)
	}
	k.arm(now.Time, h)
	return false
}
