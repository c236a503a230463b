package renew

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/batch"
	"github.com/hasp-go/hasp/primitives/lease"
)

// Terms are shared by the leases of one object.
type Terms struct {
	Lease      time.Duration // in whole milliseconds
	ClockDrift time.Duration // how much earlier than on the server the lease ends for the holder
	Renewer    Renewer       // nil: the lease is not renewed
	MaxHold    time.Duration // the lease is lost that long after the grant, despite renewals; 0: no bound

	// Replicas is how many replicas must acknowledge a renewal, within ReplicaTimeout, or a tenth of the lease if that
	// is less. Otherwise the renewal has failed. 0: none.
	Replicas       int
	ReplicaTimeout time.Duration
}

// Entry is one lease that a [Keeper] watches. Its user sets the exported fields once, and leaves
// the others to the keeper. There may be very many entries, so their size matters.
type Entry struct {
	*Terms
	Key    string // the key whose expiry is the lease
	Owner  string // the owner that holds it
	OnLost LossHandler

	// Guarded by the keeper's mutex. Times are by the monotonic clock, unless stated otherwise.
	first     span          // of a grant, or an extension, that lasts for a time other than Lease; zero after a renewal
	checkAt   time.Duration // when the keeper checks the entry next, since the keeper's start
	validFrom instant       // when the request that granted, last renewed or shortened the lease was sent
	grantedAt time.Duration // when the grant was confirmed; 0: not yet
	renewAt   time.Duration
	rare      *rare // nil: nothing of it has happened
	index     int32 // in Keeper.entries
	state     entryState
	renewing  bool  // a renewal is under way
	again     bool  // another renewal follows it at once
	node      uint8 // the number of the node that last had the key; 0: not known
}

// rare is the part of an entry's state that few entries have.
type rare struct {
	extension
	deniedUntil time.Duration    // until then the key counts as denied
	loss        *lease.LossError // why the lease was lost; nil: it was not
}

// rarely returns the rare state of e, to be changed. The caller holds the keeper's mutex.
func (e *Entry) rarely() *rare {
	if e.rare == nil {
		e.rare = &rare{}
	}
	return e.rare
}

// Renewer renews entries of one kind. It is the key of a map: its type must be comparable.
type Renewer interface {
	// Renew extends the lease of each key's owner to its whole length, with one script, and returns
	// a status for each. In a cluster the keys are in one slot.
	Renew(
		ctx context.Context, r backend.ScriptRunner, keys, owners []string, length time.Duration,
	) ([]batch.Status, error)
}

// LossHandler handles the loss of a lease.
type LossHandler interface {
	// HandleLoss is called once, without any mutex held. It must not block.
	HandleLoss(*lease.LossError)
}

// entryState is a state of a hold. The words in brackets are methods of the keeper. Adopt leads from idle to held.
//
//	        an attempt is about to send the acquire (Begin)
//	idle ------------------------------------------------------> pending --.
//	 ^  ^                                                        |   |   ^ | the keeper renews
//	 |  |      refused, failed, or left by its caller (End),     |   |   '-' when due: the acquire
//	 |  '------ or granted after its lease had ended (Confirm) --'   |       may take long
//	 |                                                               |
//	 |                                     granted in time (Confirm) |
//	 |                                                               v
//	 |   Release of the last lease is about to send                  held --.
//	 '------ the release (End), or the client closes (Close) -------  |  ^ | the keeper renews: each
//	                                                                  |  '-' answer in time begins
//	             the server does not know the owner, or the lease     |      the lease again
//	lost <------ has ended by the clock: seen by the keeper's timer, -'
//	             in an answer (settle), or by a call (Remaining)
type entryState uint8

const (
	stateIdle    entryState = iota // not watched
	statePending                   // an acquire is under way
	stateHeld
	stateLost
)

// span is the length of a grant, and how much earlier than on the server it ends for the holder.
type span struct{ length, drift time.Duration }

func (e *Entry) present() span {
	if e.first != (span{}) {
		return e.first
	}
	return span{e.Lease, e.ClockDrift}
}

// validFor returns how long after validFrom the holder may trust its lease.
func (e *Entry) validFor() time.Duration {
	if e.boundByMaxHold() {
		return e.untilMaxHold()
	}
	return e.present().length - e.present().drift
}

// boundByMaxHold reports whether MaxHold ends the lease first.
func (e *Entry) boundByMaxHold() bool {
	return e.MaxHold > 0 && e.grantedAt != 0 && e.untilMaxHold() < e.present().length-e.present().drift
}

// untilMaxHold returns how long after validFrom MaxHold ends the lease.
func (e *Entry) untilMaxHold() time.Duration { return e.grantedAt + e.MaxHold - e.validFrom.at }

// expired reports whether a held lease may have expired by now.
func (e *Entry) expired(now instant) bool { return now.since(e.validFrom) >= e.validFor() }
