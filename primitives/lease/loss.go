package lease

import (
	"errors"
	"time"

	"github.com/hasp-go/hasp/primitives/internal/leases"
)

// LossError is the cause with which a lease ends when it is lost. It matches [ErrLost] and its Reason:
//
//	errors.Is(context.Cause(ctx), primitives.LossTaken)
type LossError struct {
	Reason LossReason

	// Holder is the owner that held the object instead, with LossTaken: see [Lease.Owner]. It is "" if several did.
	Holder string

	// Paused is how long the process did not run, with LossPaused, to within a second.
	Paused time.Duration
}

// LossReason is the reason for the loss of a lease, as one or two words for a label.
type LossReason string

// The reasons. Only LossTaken says that another owner holds the object. With any other it may hold it or not.
const (
	// LossTaken means that a renewal found another owner, or the owner by which a Revoke keeps the lock.
	LossTaken LossReason = "taken"

	// LossGone means that the server no longer had the owner: the key was deleted, forced to be free, evicted, or
	// overwritten, it had expired by the server's clock, or a failover or restart lost it. The server cannot say
	// which.
	LossGone LossReason = "gone"

	// LossOutage means that no renewal succeeded in time, although the process ran: the link or the server was
	// down or slow, the server refused the renewals, or too few replicas acknowledged them. The warnings "leases not renewed" have the errors.
	LossOutage LossReason = "outage"

	// LossPaused means that the process did not run when the lease ended: it was stopped, starved or suspended, or
	// its clock was set forward.
	LossPaused LossReason = "paused"

	// LossMaxHold means that the option MaxHold ended the lease.
	LossMaxHold LossReason = "max hold"

	// LossExpired means that the length of a lease that is not renewed has passed.
	LossExpired LossReason = "expired"
)

// LossReasons are all reasons, for a label.
func LossReasons() []LossReason {
	return []LossReason{LossTaken, LossGone, LossOutage, LossPaused, LossMaxHold, LossExpired}
}

// Error returns the reason.
func (r LossReason) Error() string { return string(r) }

// Error returns a sentence of the reason.
func (e *LossError) Error() string { return ErrLost.Error() + ": " + e.explain() }

func (e *LossError) explain() string {
	switch e.Reason {
	case LossTaken:
		if e.Holder == "" {
			return "other owners hold it"
		}
		return "held by " + e.Holder
	case LossGone:
		return "the server no longer has it"
	case LossOutage:
		return "not renewed in time"
	case LossPaused:
		return "the process did not run for " + e.Paused.Round(time.Millisecond).String()
	case LossMaxHold:
		return "MaxHold has passed"
	case LossExpired:
		return "its length has passed"
	}
	return e.Reason.Error()
}

// Is reports whether target is [ErrLost] or the reason.
func (e *LossError) Is(target error) bool { return target == ErrLost || target == e.Reason } //nolint:errorlint // Both are compared as they are.

// The errors of leases, which package primitives describes under the same names.
var (
	ErrNotHeld      = leases.ErrNotHeld
	ErrLost         = leases.ErrLost
	ErrReleased     = leases.ErrReleased
	ErrSelfDeadlock = leases.ErrSelfDeadlock
	ErrOverdue      = errors.New("renewals of held leases are overdue")
)
