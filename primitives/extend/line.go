package extend

import (
	"context"
	"errors"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/line"
)

// lined is a [Leasable] that a release grants to the first owner of a queue on the server, with a message to that
// owner alone. Clients regularly send heartbeats of their waiters: a silent waiter loses its place. A grant
// lasts for as long as a heartbeat counts, from the sending of the last one that reached the server. After that the
// lease is renewed as always. It is package primitives' alone: others cannot name [line.Beats].
type lined interface {
	// Line returns the channel on which the releases of all clients send this client the grants of its owners, and
	// how long a heartbeat counts: at most the lease, in whole milliseconds. The payload of a grant is "owner token
	// stamp": the owner, the token of the grant, and the stamp of the heartbeat. The payload "owner" says that the
	// owner lost the object by force: if the client listens, it renews its leases of the object at once.
	Line() (channel string, wait time.Duration)

	// At returns the Leasable for an owner that has lost its place, or that replaces an owner which
	// may have lost it: the owner returns to the place with the given number. Such a try is also a
	// heartbeat, with the number stamp. The Leasable of the configuration queues at the end,
	// with the stamp 0.
	At(place, stamp int64) Leasable

	// Beat sends heartbeats of owners, and returns the status of each. It runs one script, with r.
	Beat(ctx context.Context, r backend.ScriptRunner, stamp int64, owners []string) (line.Beats, error)
}

// waitInLine waits until w is granted, by its own try or by the release of another owner.
func (s *Leases) waitInLine(ctx context.Context, w *waiter) error {
	channel, wait := s.line.Line()
	err := s.object.core.lines.Wait(ctx, line.Line{
		Key: s.object.id.Key, Channel: channel, Wait: wait, Beater: (*beater)(s),
	}, w)
	return w.explain(ctx, err, s.config.Wait.Refusal)
}

// Owner implements [line.Ticket].
func (w *waiter) Owner() string { return w.current().Owner }

func (w *waiter) Enqueue(ctx context.Context, place, stamp int64) (line.Enqueued, error) {
	if w.undone > 0 && !shortageMayPass(w.outage) {
		return line.Enqueued{}, w.outage
	}
	h := w.current()
	if h.leasable = w.leasable; place > 0 {
		h.leasable = w.leases.line.At(place, stamp)
	}
	h.inLine = true
	answer, err := w.Try(ctx)
	switch {
	case answer.Undone > 0:
		answer.Outage = true
	case answer.Granted && !w.lengthen(ctx):
		answer.Granted, answer.Outage = false, true
	}
	return line.Enqueued{
		Granted: answer.Granted, Outage: answer.Outage, Place: w.place, HeldFor: answer.RetryIn,
	}, err
}

func (w *waiter) Granted(ctx context.Context, token int64, started time.Time, lasts time.Duration) bool {
	h := w.hold
	core := h.object.core
	if !core.keeper.Adopt(&h.Entry, started, lasts, core.opts.driftFor(lasts)) {
		return false
	}
	h.token, h.queued = token, false
	if h.Replicas > 0 {
		return w.acknowledge(ctx)
	}
	return w.lengthen(ctx)
}

// acknowledge renews a grant by a release, which did not wait for replicas. If too few replicas acknowledge the renewal,
// or there is no answer for half of the grant's rest, the client releases the grant, acknowledge reports false, and
// another owner tries next.
func (w *waiter) acknowledge(ctx context.Context) bool {
	h := w.hold
	status, err := w.refresh(ctx)
	_, lost := h.Remaining()
	if lost == nil && status == Done {
		return true
	}
	w.hold = nil
	switch {
	case lost != nil:
	case errors.Is(err, backend.ErrReplicas):
		w.refused, w.undone, w.outage = true, w.undone+1, err
		fallthrough
	default:
		h.object.core.keeper.End(&h.Entry)
		h.undo(ctx)
	}
	return false
}

// refresh renews a hold whose grant no acquire has returned yet. It waits for the answer for half of the lease's rest. If
// the driver panics, the client releases the grant.
func (w *waiter) refresh(ctx context.Context) (Status, error) {
	h, core := w.hold, w.hold.object.core
	left, lost := h.Remaining()
	if lost != nil {
		return Failed, lost
	}
	h.setTraced(true) // A tracer gets the ends of leases that an acquire has returned.
	ctx, cancel := context.WithTimeout(ctx, left/2)
	defer cancel()
	panicked := true
	defer func() {
		if panicked {
			core.keeper.End(&h.Entry)
			h.releaseInBackground(true)
		}
	}()
	status, err := core.keeper.Refresh(ctx, core.insistentCalls, w.leases.config.Kind, &h.Entry)
	panicked = false
	if _, lost := h.Remaining(); lost == nil {
		h.setTraced(false)
	}
	return status, err
}

// lengthen renews a hold of a fixed length to its whole lease, if much of it had passed before the
// grant reached its owner. After a failure, or without an answer for half of the rest, the hold
// keeps the rest. If the hold is lost, lengthen reports false, and another owner tries next.
func (w *waiter) lengthen(ctx context.Context) bool {
	h := w.hold
	left, lost := h.Remaining()
	if lost == nil && w.leases.fixed() && left < (h.Lease-h.ClockDrift)*9/10 {
		_, _ = w.refresh(ctx)
		_, lost = h.Remaining()
	}
	if lost != nil {
		w.hold = nil
	}
	return lost == nil
}

// leaveLine notes that the owner no longer uses its grant in a line, or no longer waits.
func (h *hold) leaveLine() {
	if h.inLine {
		h.object.core.lines.Forget(h.Owner)
	}
}

// beater beats for the owners of one object, and releases owners that no caller uses.
type beater Leases

// Beat implements [line.Beater].
func (b *beater) Beat(ctx context.Context, stamp int64, owners []string) (line.Beats, error) {
	return b.line.Beat(ctx, b.object.core.backgroundCalls, stamp, owners)
}

func (b *beater) Stray(owner string) {
	s := (*Leases)(b)
	h := s.init(&hold{}, s.config.Leasable, 0)
	h.Owner = owner
	h.releaseInBackground(true)
}
