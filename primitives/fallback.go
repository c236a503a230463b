package primitives

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/limits"
)

// Fallback says what a call of a limiter does if its server does not decide: no server can be reached, none
// that accepts writes, or the answer is lost or does not come in time. It is [Refuse], [Admit], or a
// [LocalShare]. Other errors, such as [ErrConflict], are returned with each of them.
//
// A call with a Fallback is sent once, and waits for the answer for its option Timeout at most. If it fails, the
// next calls of the client to the same server, in a cluster to the same node, are not sent, and fall back at
// once, until an answer has come. Nobody waits for that: such a call begins a probe, 100 ms after the last one, which
// asks for the type of the call's key, for Timeout at most. So after a pause without calls, too, the first call falls
// back. The client's Logger receives when that begins and ends.
type Fallback struct {
	share float64 // of Refuse and Admit less than 0, of an invalid share NaN
}

// Refuse returns the error, which wraps [ErrUnavailable], or [ErrIndeterminate] if the call may have been
// executed.
func Refuse() Fallback { return Fallback{-1} }

// Admit grants the call, so nothing is limited.
func Admit() Fallback { return Fallback{-2} }

// LocalShare limits calls within this client, to a share of the rate and of the burst: more than 0, at most
// 1, such as 1.0 divided by the number of processes. It grants at least one permit at a time, and refuses calls
// for more permits than its burst. It remembers some thousand names, those that were last used.
func LocalShare(share float64) Fallback {
	if share > 0 && share <= 1 {
		return Fallback{share}
	}
	return Fallback{math.NaN()}
}

// defaultTimeout is how long a call with a Fallback waits for the server's answer by default.
const defaultTimeout = time.Second

// validate returns a [*FieldError] for a Fallback or a Timeout that is invalid.
func (f Fallback) validate(timeout time.Duration) error {
	if f == (Fallback{}) {
		return &FieldError{Field: "Unavailable", Problem: "must be set: Refuse, Admit or a LocalShare"}
	}
	if math.IsNaN(f.share) {
		return &FieldError{Field: "Unavailable", Problem: "is a LocalShare that is not more than 0 and at most 1"}
	}
	if timeout < 0 {
		return &FieldError{Field: "Timeout", Problem: timeout.String() + " is negative"}
	}
	return nil
}

// decide decides a call for all of takes that has ended with err, if the server has not decided: then local is true. A
// refusal says when to try again, and so does each take.
func (f Fallback) decide(
	ctx context.Context, c *Client, err error, takes ...limits.Take,
) (local bool, retryIn time.Duration, _ error) {
	if err == nil {
		c.localLimits.Forget(takes)
	}
	if f == Refuse() || err == nil || ctx.Err() != nil || !undecided(err) {
		return false, 0, err
	}
	if f == Admit() {
		return true, 0, nil
	}
	return true, c.localLimits.Take(takes, f.share), nil
}

// undecided reports whether err means that a server has decided nothing, or that its decision is not known.
func undecided(err error) bool {
	var server *backend.ServerError
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrIndeterminate) ||
		errors.As(err, &server) && backend.RefusesWrites(server.Code)
}
