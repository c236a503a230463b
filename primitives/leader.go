package primitives

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/internal/script"
)

// Leader is the leader of an [Election], for one term.
type Leader struct {
	ID    string    // of the candidate: see [ElectionOptions]
	Value string    // of the candidate: see [ElectionOptions]
	Since time.Time // of the election, by the server's clock
	Owner string    // see [Lease.Owner]; each term has another
}

// maxIdentity is the most bytes of a candidate's ID and Value.
const maxIdentity = 1000

// identity returns what c stores as the metadata of an elected candidate.
func (o *ElectionOptions) identity(c *Client) (string, error) {
	id := o.ID
	if id == "" {
		id = candidateID(c.core.ID())
	}
	switch {
	case strings.Contains(id, "\n"):
		return "", &FieldError{Field: "ID", Problem: "has several lines"}
	case len(id)+len(o.Value) > maxIdentity:
		return "", &FieldError{Field: "Value", Problem: fmt.Sprintf(
			"with the ID it has %d bytes, more than %d", len(id)+len(o.Value), maxIdentity)}
	}
	return id + "\n" + o.Value, nil
}

// Leader returns the present leader. If there is none, the error wraps [ErrNoLeader]. If the leader is
// the holder of a [Lock] of the election's name, or a Java process, only Owner is known. When Leader
// returns, another process may lead: use the answer for messages or requests, and not to decide
// whether this process leads. It takes one round trip. Other errors are as for [Lock.Holder].
func (e *Election) Leader(ctx context.Context) (Leader, error) {
	return extend.Call(ctx, &e.lock.base, e.lock.invalid, "query", func() (Leader, error) {
		leader, err := e.leader(ctx)
		if err == nil && leader.Owner == "" {
			err = ErrNoLeader
		}
		return leader, err
	})
}

// leader asks the server for the leader. Without a leader Owner is "".
func (e *Election) leader(ctx context.Context) (Leader, error) {
	found, err := script.LockHolder(ctx, e.lock.base.Runner(), e.lock.base.Key(), e.watched.Key())
	if err != nil || !found.FieldOK {
		return Leader{}, err
	}
	holder := holderOf(fieldOwner(found.Field), found.Stored)
	id, value, _ := strings.Cut(holder.Metadata, "\n")
	return Leader{ID: id, Value: value, Since: holder.Since, Owner: holder.Owner}, nil
}

// Observe yields the present leader, and then each later one. While there is no leader, it yields once
// an error that wraps [ErrNoLeader]. It need not be a candidate, and writes nothing.
//
// A new leader is seen at once, by a message, or at the client's next poll, 5 s later by default. That
// a leader has left is seen when the next one is elected, or at the next poll. A term that ends
// before Observe has seen it is left out. Observe may yield a leader that does not lead any more.
//
// Observe waits through outages. If its first question, or the first after a change, reaches no
// server, Observe yields the error, and continues after a pause. It ends after another error, such as
// [ErrClosed] or [ErrNoPermission], or when ctx ends: then it yields an error that wraps ctx's error.
func (e *Election) Observe(ctx context.Context) iter.Seq2[Leader, error] {
	return func(yield func(Leader, error) bool) {
		w := leaderWatch{election: e}
		for failures := 0; ; {
			leader, err := w.next(ctx)
			if !yield(leader, err) {
				return
			}
			switch {
			case err == nil, errors.Is(err, ErrNoLeader):
				failures = 0
			case ctx.Err() != nil || !mayPass(err):
				return
			default:
				failures++
				_ = e.lock.base.Pause(ctx, campaignPause(failures)) // The next question returns the error.
			}
		}
	}
}

// leaderWatch is an observer of an election, which waits for a leader that it has not seen yet.
type leaderWatch struct {
	election *Election
	known    bool   // whether it has asked before
	last     Leader // that it has seen; without an Owner there was none
}

// next waits for a change, and returns the new leader.
func (w *leaderWatch) next(ctx context.Context) (Leader, error) {
	e := w.election
	return extend.Call(ctx, &e.lock.base, e.lock.invalid, "observe", func() (Leader, error) {
		err := e.watched.Wait(ctx, extend.WaitSpec{
			Channel: e.elected, FreeUnits: func(string) int { return extend.AllUnits },
		}, w)
		if err == nil && w.last.Owner == "" {
			err = ErrNoLeader
		}
		return w.last, err
	})
}

// Try implements [extend.Attempt].
func (w *leaderWatch) Try(ctx context.Context) (extend.Answer, error) {
	leader, err := w.election.leader(ctx)
	if err != nil || w.known && leader.Owner == w.last.Owner {
		return extend.Answer{}, err
	}
	w.known, w.last = true, leader
	return extend.Answer{Granted: true, Free: extend.AllUnits}, nil
}
