package backend

import (
	"errors"
	"fmt"
)

var (
	// ErrIndeterminate means that a script which may write was sent and its outcome is unknown: it
	// may have run, may still run later (at most once), or may never run. It is wrapped together
	// with the cause, and with the context's error if a context ended the waiting.
	ErrIndeterminate = errors.New("outcome unknown")

	// ErrUnavailable means that no server could be reached, or none that would take the script, for
	// as long as the backend tries by itself: dialing failed, the server refused the connection (a wrong
	// password, a database that it lacks), the client's pool had no connection to give, the server refused the
	// script unexecuted (LOADING, CLUSTERDOWN, READONLY and their like,
	// [NotExecuted]), or replies to a script that only reads were lost. The script wrote nothing and
	// never will, so the caller may call again. It is wrapped together with the cause, and never
	// together with [ErrIndeterminate].
	ErrUnavailable = errors.New("no server available")

	// ErrClosed means that the backend, or the client below it, was closed. Nothing was sent.
	ErrClosed = errors.New("backend closed")

	// ErrNotSupported means that the backend or its server lacks what was asked for. Nothing was
	// sent, or the server refused it unexecuted, or it is matched by the [*ServerError] of a script that needs a
	// command or a function which the server lacks.
	ErrNotSupported = errors.New("not supported")

	// ErrCrossSlot means that the keys of one script, or a sharded channel with them, hash to
	// different slots of a cluster. Nothing was sent, or it is matched by the [*ServerError] of a cluster
	// that the backend takes for one server.
	ErrCrossSlot = errors.New("keys hash to different slots")

	// ErrArgument means that a function which luagen made got a key or an argument that its script
	// does not allow: a number or a time outside its bounds, a time that would be cut to 0, a name
	// without a hash tag. Nothing was sent.
	ErrArgument = errors.New("bad argument")

	// ErrReply means that a reply does not have the shape that the script declares. The script
	// ran.
	ErrReply = errors.New("unexpected reply")

	// ErrOverflow means that a sum does not fit the number's type. The number is as it was. It is
	// matched by a [*ServerError].
	ErrOverflow = errors.New("number out of range")

	// ErrNotANumber means that a key which was to hold a number holds another text. It is matched by
	// a [*ServerError].
	ErrNotANumber = errors.New("value is not a number")

	// ErrKeyDenied means that the server's access list (ACL) denies the user one of the script's keys;
	// it does not say which. It is matched by a [*ServerError].
	ErrKeyDenied = errors.New("no access to a key")

	// ErrNoPermission means that the server's access list (ACL) denies the user a command, a key or a channel. It is
	// matched by a [*ServerError]. If a script was refused, it is as far as it had come: hasp's own have written nothing.
	ErrNoPermission = errors.New("no permission")

	// ErrReplicas means that a script ran, but that replicas could not be waited for (W1).
	ErrReplicas = errors.New("waiting for replicas failed")
)

// ScriptError is the code of an error that a script returned, such as "NOTOWNER". It serves to compare:
// errors.Is(err, backend.ScriptError("NOTOWNER")) reports whether err is, or wraps, a [*ServerError] with this code.
type ScriptError string

// Error returns the code.
func (code ScriptError) Error() string { return string(code) }

// NotExecuted reports whether an error reply with this code proves that the command was refused
// before it ran, so it may be sent again (R3).
func NotExecuted(code string) bool {
	switch code {
	case "NOSCRIPT", "MOVED", "ASK", "TRYAGAIN", "LOADING", "BUSY",
		"CLUSTERDOWN", "MASTERDOWN", "READONLY", "NOAUTH":
		return true
	}
	return false
}

// RefusesWrites reports whether an error reply with this code says that the server takes no writes for now: its
// memory or its disk is full, or its replicas are missing. It refuses the first write of a script, so the
// script has written nothing.
func RefusesWrites(code string) bool {
	return code == "OOM" || code == "NOREPLICAS" || code == "MISCONF"
}

// MayHaveRun reports whether a script that returned err may have been executed, now or later: its
// outcome is unknown, it raised an error on its way, its reply was not understood, or replicas could not be
// waited for ([ErrReplicas]). It is false for nil: then the script did run.
func MayHaveRun(err error) bool {
	if errors.Is(err, ErrIndeterminate) || errors.Is(err, ErrReply) || errors.Is(err, ErrReplicas) {
		return true
	}
	var server *ServerError
	return errors.As(err, &server) && !NotExecuted(server.Code)
}

// Indeterminate wraps cause so that it matches both [ErrIndeterminate] and itself.
func Indeterminate(cause error) error {
	return fmt.Errorf("%w: %w", ErrIndeterminate, cause)
}
