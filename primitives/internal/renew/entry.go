package renew

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// Terms are what the leases of one object have in common.
type Terms struct {
	Lease      time.Duration // in whole milliseconds
	ClockDrift time.Duration // how much earlier than the server the holder gives it up
	Renewer    Renewer       // nil: nobody renews the lease
	MaxHold    time.Duration // after the grant it is lost, however it was renewed; 0: it is not
}

// Entry is one lease that a [Keeper] watches. Its user sets the exported fields once, and leaves the
// others to the keeper. There are very many: its size counts.
type Entry struct {
	*Terms
	Key    string // the key whose expiry is the lease
	Owner  string // who holds it
	OnLost LossHandler

	// Guarded by the keeper's mutex. Times are by the monotonic clock, if nothing else is said.
	first       span          // of a grant that lasts for another time than Lease; zero after a renewal
	checkAt     time.Duration // when the keeper checks it next, since its start
	validFrom   instant       // when the request that granted or last renewed the lease was sent
	grantedAt   time.Duration // when the grant was confirmed; 0: it was not
	renewAt     time.Duration
	deniedUntil time.Duration // until then the key counts as denied
	index       int32         // in Keeper.entries
	state       entryState
	renewing    bool // a renewal is under way
}

// Renewer renews entries of one kind. It is the key of a map, so that its type must be comparable.
type Renewer interface {
	// Renew gives each key's owner a whole lease again by one script, and returns a status for each.
	// In a cluster the keys are of one slot.
	Renew(
		ctx context.Context, r backend.ScriptRunner, keys, owners []string, lease time.Duration,
	) ([]Status, error)
}

// Status is the server's answer for one entry.
type Status int64

const (
	// Failed means that the server could not answer for it.
	Failed Status = -1
	// NotHeld means that the owner does not hold the key.
	NotHeld Status = 0
	// Renewed means that the owner has a whole lease again.
	Renewed Status = 1
	// OtherKind means that the owner does not hold the key, which is of another kind.
	OtherKind Status = 2
)

// Lost reports whether the owner does not hold the key.
func (s Status) Lost() bool { return s == NotHeld || s == OtherKind }

// LossHandler learns that a lease was lost.
type LossHandler interface {
	// HandleLoss is called once, without any mutex held. It must not block.
	HandleLoss()
}

type entryState uint8

const (
	stateIdle    entryState = iota // not watched
	statePending                   // an acquire is under way
	stateHeld
	stateLost
)

// span is how long a grant lasts, and how much earlier than the server the holder gives it up.
type span struct{ length, drift time.Duration }

// present returns how long the present lease lasts.
func (e *Entry) present() span {
	if e.first != (span{}) {
		return e.first
	}
	return span{e.Lease, e.ClockDrift}
}

// validFor is how long after validFrom the holder may trust its lease.
func (e *Entry) validFor() time.Duration {
	lasts := e.present().length - e.present().drift
	if e.MaxHold > 0 && e.grantedAt != 0 {
		lasts = min(lasts, e.grantedAt+e.MaxHold-e.validFrom.at)
	}
	return lasts
}

// expired reports whether a held lease may have expired by now.
func (e *Entry) expired(now instant) bool { return now.since(e.validFrom) >= e.validFor() }
