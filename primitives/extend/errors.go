package extend

import (
	"errors"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/listen"
)

// The errors of all primitives, besides the errors of package backend. Package primitives has them
// under the same names.
var (
	// ErrNotAcquired means that another owner holds the object, that other waiters come first, or that
	// too few units are free. If a context ended the waiting, the error also wraps the context's error.
	ErrNotAcquired = errors.New("held by another owner")

	// ErrNotHeld means that Release released nothing, because the lease had ended before. The error
	// also wraps the reason: [ErrLost], [ErrReleased] or [backend.ErrClosed].
	ErrNotHeld = errors.New("not held")

	// ErrLost means that a lease ended before it was released: the client could not renew it in
	// time, or the server no longer had it. It is also the cause with which the lease's contexts
	// end.
	ErrLost = errors.New("lease lost")

	// ErrReleased means that a lease was released. It is also the cause with which the lease's
	// contexts end at Release.
	ErrReleased = errors.New("lease released")

	// ErrConflict means that the key holds something else: another kind of primitive, or another
	// program's data. The key was not changed.
	ErrConflict = errors.New("key is in use by something else")

	// ErrSelfDeadlock means that the caller would wait for itself: it waits for a lock that its own
	// lease excludes it from, under a context of that lease. Under [Lease.Reenter] it re-enters the
	// lock. Nothing was sent, and the lease is unchanged.
	ErrSelfDeadlock = errors.New("self-deadlock: the context is of a lease that excludes this call; " +
		"use Lease.Reenter, or release that lease first")
)

// errClosed means that the client is closed. It matches [backend.ErrClosed].
var errClosed = listen.ErrClosed

// Worded returns an error that has the given text, and matches all of the given errors. It is for
// errors whose own texts would repeat it.
func Worded(text string, matches ...error) error { return &worded{text, matches} }

type worded struct {
	text    string
	matches []error
}

func (e *worded) Error() string { return e.text }

func (e *worded) Unwrap() []error { return e.matches }

// Join returns the errors that are not nil as one error, whose text is one line. If there is only one, Join
// returns it.
func Join(errs ...error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return Worded(strings.Join(texts, "; "), errs...)
}

// FieldError names an invalid argument or option, and the reason. Nothing was sent.
type FieldError struct {
	Field   string // such as "name" or "Lease"
	Problem string // such as "50ms is less than the minimum, 100ms"
}

// Error returns the field and the problem.
func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// otherKind reports whether err, from the server or a script, says that the key is of another kind.
func otherKind(err error) bool {
	return errors.Is(err, backend.ScriptError("WRONGTYPE")) || errors.Is(err, backend.ScriptError("OTHERKIND")) ||
		errors.Is(err, sideKind)
}

// sideKind is the code of a release that has ended the hold, although another key of the object is of
// another kind.
const sideKind = backend.ScriptError("SIDEKIND")

// endedHold reports whether err, of a release, says that the owner's hold has ended by it.
func endedHold(err error) bool { return errors.Is(err, sideKind) }
