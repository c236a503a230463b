package renew

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// Hold is one lease under a [Keeper]'s watch. A primitive embeds it in what it hands out, fills the
// exported fields once, and leaves the others to the keeper.
type Hold struct {
	Key       string        // the key whose expiry is the lease
	Owner     string        // who holds it
	Lease     time.Duration // in whole milliseconds
	Allowance time.Duration // how much earlier than the server the holder gives it up
	Renewer   Renewer       // nil: a fixed lease
	OnLost    Loser

	// Guarded by the keeper's mutex.
	state       state
	place       int       // in Keeper.holds
	started     instant   // when the request that granted or last renewed it was sent
	granted     time.Time // when the grant was confirmed
	renewAt     time.Time
	renewing    bool      // a renewal is under way
	deniedUntil time.Time // until when its key is taken to be denied
}

// Renewer renews holds of one kind.
type Renewer interface {
	// Renew gives each hold a whole lease again by one script, and returns a status for each. The
	// holds are of one lease length and, in a cluster, of one slot.
	Renew(ctx context.Context, r backend.ScriptRunner, holds []*Hold) ([]Status, error)
}

// Status is the server's answer for one hold.
type Status int64

const (
	// Failed means that the server could not answer for it.
	Failed Status = -1
	// NotHeld means that the owner does not hold the key.
	NotHeld Status = 0
	// Renewed means that the lease runs anew.
	Renewed Status = 1
)

// Loser is called once when a hold is lost, without any mutex held. It must not block.
type Loser interface {
	Lost()
}

type state int

const (
	idle    state = iota // not watched
	pending              // an acquire is under way
	held
	lost
)

// belief is how long after it started the holder may trust its lease.
func (h *Hold) belief() time.Duration { return h.Lease - h.Allowance }

// expired reports whether a held lease may have ended by now.
func (h *Hold) expired(now instant) bool { return now.since(h.started) >= h.belief() }

// due reports whether h wants renewing. Holds that are due soon go with those that are due now, so
// that batches fill.
func (h *Hold) due(now time.Time) bool {
	return h.Renewer != nil && !h.renewing && !now.Before(h.renewAt.Add(-h.Lease/30))
}

// next is when h wants attention again, at the latest at the given time.
func (h *Hold) next(latest time.Time) time.Time {
	if end := h.started.Add(h.belief()); h.state == held && end.Before(latest) {
		latest = end
	}
	if h.Renewer != nil && !h.renewing && h.renewAt.Before(latest) {
		latest = h.renewAt
	}
	return latest
}
