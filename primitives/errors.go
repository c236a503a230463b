package primitives

import (
	"errors"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
)

var (
	// ErrNotAcquired means that another owner holds the object. If a context ended the waiting, the
	// error wraps it beside the context's error.
	ErrNotAcquired = extend.ErrNotAcquired

	// ErrNotHeld means that Release released nothing: the lease was released before, or lost. After a
	// loss the error wraps [ErrLost] too.
	ErrNotHeld = extend.ErrNotHeld

	// ErrLost means that a lease ended before it was released: it could not be renewed in time, or
	// the server no longer had it. It is the cause of the end of the lease's contexts.
	ErrLost = extend.ErrLost

	// ErrReleased means that a lease was released. It is the cause of the end of the lease's
	// contexts after Release.
	ErrReleased = extend.ErrReleased

	// ErrClosed means that the client is closed, or the backend or driver below it. Nothing was sent.
	ErrClosed = backend.ErrClosed

	// ErrUnavailable means that no server could be reached, or none that would execute the request.
	// Nothing was executed, and nothing will be: the call may be repeated.
	ErrUnavailable = backend.ErrUnavailable

	// ErrIndeterminate means that a request was sent and its outcome is unknown: it may have been
	// executed, and may yet be, once.
	ErrIndeterminate = backend.ErrIndeterminate

	// ErrReplicas means that the lock was free, but that too few replicas acknowledged the grant in time,
	// or that the server could not be asked: see [LockOptions]. The grant was released, or is being
	// released in the background. The error says how many acknowledged. If the server does not know the
	// command WAIT, it wraps [backend.ErrNotSupported], too.
	ErrReplicas = backend.ErrReplicas

	// ErrConflict means that the key holds something else: another kind of primitive, or another
	// program's data. It was not touched.
	ErrConflict = extend.ErrConflict

	// ErrUpgrade means that the write lock was asked for under a context that re-enters a read lease of
	// the same lock: it would wait for itself. Nothing was sent, and the read lease is as it was.
	ErrUpgrade = errors.New("a reader cannot become a writer")

	// ErrNoRate means that nobody has set the rate of a rate limiter, or that it was deleted or has expired. Its
	// option Rate makes it.
	ErrNoRate = errors.New("no rate is set")

	// ErrAboveRate means that a rate limiter never has so many permits free at once: an interval has fewer.
	ErrAboveRate = errors.New("more permits than an interval has")

	// ErrAboveTotal means that a permit semaphore has fewer permits, free and taken ones together.
	ErrAboveTotal = errors.New("more permits than there are")

	// ErrNoPermission means that the server's access list (ACL) denies the user a command, a key or a channel that
	// the object needs. Nothing was written: an acquire asks for all that its release will need. The error names
	// what is missing, and how to grant it. docs/operations.md has the rights that objects need.
	ErrNoPermission = backend.ErrNoPermission

	// ErrNotSupported means that the server is older than Redis 7.0 and lacks what the object needs, or that the
	// backend lacks it. Nothing was written.
	ErrNotSupported = backend.ErrNotSupported

	// ErrOverflow means that a number would leave the range of its type. It is as it was.
	ErrOverflow = backend.ErrOverflow
)

// FieldError names the argument or option that cannot be used, and the reason: its fields are Field and
// Problem. Nothing was sent.
type FieldError = extend.FieldError

// Lease is one acquisition of a lock, or of permits. Its holder asks it whether it still holds them, and
// releases them by it. Its methods are Context, Reenter, Do, Done, Err, Remaining, Token, Owner, Parts, and
// Release or Release, which are the same. They are documented at [extend.Lease].
type Lease = extend.Lease
