package primitives

import (
	"errors"

	"github.com/hasp-go/hasp/backend"
)

var (
	// ErrNotAcquired means that another owner holds what was tried for. Where a context ended the
	// waiting for it, it is wrapped beside the context's error.
	ErrNotAcquired = errors.New("held by another owner")

	// ErrNotHeld means that the lease does not hold what it was to release: it was released before,
	// or lost. An error that wraps it after a loss wraps [ErrLost] too.
	ErrNotHeld = errors.New("not held")

	// ErrLost means that a lease ended before it was released: it could not be renewed in time, or
	// the server no longer had it. It is the cause of the end of the lease's contexts.
	ErrLost = errors.New("lease lost")

	// ErrReleased means that a lease was released. It is the cause of the end of the lease's
	// contexts after Unlock.
	ErrReleased = errors.New("lease released")

	// ErrClosed means that the client is closed, or the backend or driver below it. Nothing was sent.
	ErrClosed = backend.ErrClosed

	// ErrUnavailable means that no server could be reached, or none that would execute the request.
	// Nothing was executed, and nothing will be: the call may be repeated.
	ErrUnavailable = backend.ErrUnavailable

	// ErrIndeterminate means that a request was sent and its outcome is unknown: it may have been
	// executed, and may yet be, once.
	ErrIndeterminate = backend.ErrIndeterminate

	// ErrConflict means that the key holds something else: another kind of primitive, or another
	// program's data. It was not touched.
	ErrConflict = errors.New("key is in use by something else")

	// ErrOverflow means that a number would leave the range of its type. It is as it was.
	ErrOverflow = backend.ErrOverflow
)

// FieldError names the argument or option that cannot be used, and the reason. Nothing was sent.
type FieldError struct {
	Field   string // such as "name" or "Lease"
	Problem string // such as "50ms is under the least, 100ms"
}

// Error returns the field and the problem.
func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// otherKind reports whether the server, or a script, says that the key is of another kind.
func otherKind(err error) bool {
	var server *backend.ServerError
	return errors.As(err, &server) && (server.Code == "WRONGTYPE" || server.Code == "OTHERKIND")
}
