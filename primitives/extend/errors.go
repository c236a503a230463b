package extend

import (
	"errors"

	"github.com/hasp-go/hasp/backend"
)

// The errors of all primitives, besides the errors of package backend. Package primitives has them
// under the same names.
var (
	// ErrNotAcquired means that another owner holds the object. If a context ended the waiting, the
	// error also wraps the context's error.
	ErrNotAcquired = errors.New("held by another owner")

	// ErrNotHeld means that Release released nothing: the lease was released before, or lost. After
	// a loss the error also wraps [ErrLost].
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
)

// FieldError names an invalid argument or option, and the reason. Nothing was sent.
type FieldError struct {
	Field   string // such as "name" or "Lease"
	Problem string // such as "50ms is under the least, 100ms"
}

// Error returns the field and the problem.
func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// otherKind reports whether err, from the server or a script, says that the key is of another kind.
func otherKind(err error) bool {
	var server *backend.ServerError
	return errors.As(err, &server) && (server.Code == "WRONGTYPE" || server.Code == "OTHERKIND")
}
