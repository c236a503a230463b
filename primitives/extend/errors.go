package extend

import (
	"errors"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/listen"
	"github.com/hasp-go/hasp/primitives/lease"
)

// The errors of all primitives, besides those of the packages backend and lease. Package primitives describes them under
// the same names.
var (
	ErrNotAcquired = errors.New("held by another owner")
	ErrConflict    = errors.New("key is in use by something else")
)

// errGone is the reason of a loss that a release has found.
var errGone error = &lease.LossError{Reason: lease.LossGone}

// errClosed means that the client is closed. It matches [backend.ErrClosed].
var errClosed = listen.ErrClosed

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
