package extend

import (
	"context"
	"fmt"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/wait"
)

// Line is how owners wait for an object that a release grants to the first owner of a queue on the server, by a
// message to that owner alone. Clients regularly send signs of life of their waiters: a silent waiter loses its
// place. A grant lasts for the time Wait from the sending of the last sign that the server had. After that the lease is
// renewed as always.
type Line struct {
	// Channel is where the releases of all clients send this client the grants of its owners. The
	// payload is "owner token stamp": the owner, the token of the grant, and the stamp of the sign.
	Channel string

	// Wait is how long a sign of life is worth something, in whole milliseconds. It is at most the lease.
	Wait time.Duration

	// At returns what an owner acquires by that has lost its place, or that follows one which may have: it
	// comes back to the place with the given number. stamp is the number of the sign of life that this is.
	// The Leasable of the configuration queues at the end, with the stamp 0.
	At func(place, stamp int64) Leasable

	// Beat shows that owners live, and returns what each has. It runs one script by r.
	Beat func(ctx context.Context, r backend.ScriptRunner, stamp int64, owners []string) (Beats, error)
}

// Beats is the server's answer to a [Line.Beat].
type Beats = wait.Beats

// BeatStatus is what an owner has, by the answer to a beat.
type BeatStatus = wait.BeatStatus

// The statuses of an owner after a [Line.Beat].
const (
	NoPlace BeatStatus = wait.NoPlace // it has neither a place nor the object
	Waits   BeatStatus = wait.Waits
	Holds   BeatStatus = wait.Holds // for as long as a sign is worth something, from the beat's sending on
)

// waitInLine waits until a is granted by the server, or by the release of another owner.
func (s *Leases) waitInLine(ctx context.Context, a *attempt) error {
	t := ticket{attempt: a, loop: loopAttempt{attempt: a, owned: a, owns: true}}
	err := s.object.core.waiters.WaitInLine(ctx, wait.Line{
		Key: s.object.key, Channel: s.line.Channel, Wait: s.line.Wait, Beater: (*beater)(s),
	}, &t)
	if err != nil {
		return t.loop.explain(ctx, err, s.want.Refusal)
	}
	return s.lengthen(ctx, a.hold)
}

// lengthen gives a hold that nobody renews its whole lease, if others have waited for much of it already.
func (s *Leases) lengthen(ctx context.Context, h *hold) error {
	if left, lost := h.remaining(); !s.fixed() || lost != nil || left >= (h.Lease-h.ClockDrift)*9/10 {
		return nil
	}
	status, err := s.object.core.keeper.Refresh(ctx, s.object.core.calls, s.kind, &h.Entry)
	if err == nil && status.Lost() {
		return fmt.Errorf("granted too late: %w", ErrLost)
	}
	return nil // It has what is left.
}

// ticket is an attempt that waits in a line.
type ticket struct {
	*attempt
	loop loopAttempt
}

// Owner implements [wait.Ticket].
func (t *ticket) Owner() string { return t.current().Owner }

// Enqueue implements [wait.Ticket].
func (t *ticket) Enqueue(ctx context.Context, place, stamp int64) (wait.Enqueued, error) {
	h := t.current()
	if h.leasable = t.leasable; place > 0 {
		h.leasable = t.leases.line.At(place, stamp)
	}
	h.inLine = true
	answer, err := t.loop.Try(ctx)
	return wait.Enqueued{
		Granted: answer.Granted, Outage: answer.Outage, Place: t.place, HeldFor: answer.RetryIn,
	}, err
}

// Granted implements [wait.Ticket].
func (t *ticket) Granted(token int64, started time.Time, lasts time.Duration) bool {
	h := t.hold
	core := h.object.core
	if !core.keeper.Adopt(&h.Entry, started, lasts, core.opts.driftFor(lasts)) {
		return false
	}
	h.token, h.queued = token, false
	return true
}

// leaveLine says that what the owner was granted in a line, or waited for, is not used any more.
func (h *hold) leaveLine() {
	if h.inLine {
		h.object.core.waiters.Forget(h.Owner)
	}
}

// beater beats for the owners of one object, and releases those that nobody uses.
type beater Leases

// Beat implements [wait.Beater].
func (b *beater) Beat(ctx context.Context, stamp int64, owners []string) (Beats, error) {
	return b.line.Beat(ctx, b.object.core.backgroundCalls, stamp, owners)
}

// Stray implements [wait.Beater].
func (b *beater) Stray(owner string) {
	s := (*Leases)(b)
	h := s.init(&hold{}, s.leasable, 0)
	h.Owner = owner
	h.releaseInBackground(true)
}
