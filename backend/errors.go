package backend

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var (
	// ErrIndeterminate means that a script which may write was sent and its outcome is unknown: it
	// may have run, may still run later (at most once), or may never run. It is wrapped together
	// with the cause, and with the context's error if a context ended the waiting.
	ErrIndeterminate = errors.New("outcome unknown")

	// ErrClosed means that the backend was closed. Nothing was sent.
	ErrClosed = errors.New("backend closed")

	// ErrNotSupported means that the backend or its server lacks what was asked for. Nothing was
	// sent, or the server refused it unexecuted.
	ErrNotSupported = errors.New("not supported")

	// ErrCrossSlot means that the keys of one script, or a sharded channel beside them, hash to
	// different slots of a cluster. Nothing was sent.
	ErrCrossSlot = errors.New("keys hash to different slots")

	// ErrReply means that a reply does not have the shape that the script declares. The script
	// ran.
	ErrReply = errors.New("unexpected reply")

	// ErrReplicas means that a script ran, but that replicas could not be waited for (W1).
	ErrReplicas = errors.New("waiting for replicas failed")
)

// ServerError is an error reply of the server.
type ServerError struct {
	// Code is the error's first word if that is in upper case, such as WRONGTYPE; else ERR.
	Code string
	// Message is the rest of the text, as the server worded it.
	Message string
	// Line is the line of the script's file that raised the error; 0 if none is known.
	Line int
}

// Error returns the code and the message.
func (e *ServerError) Error() string { return e.Code + " " + e.Message }

// ParseServerError returns the error reply with the given text, which may begin with '-'. It knows
// how Redis, Valkey and miniredis word the errors of scripts: there the code may stand inside, and
// the line with it. It is for adapters; nothing else looks at an error's text (R6).
func ParseServerError(text string) *ServerError {
	text = strings.TrimPrefix(text, "-")
	e := &ServerError{Line: scriptLine(text)}
	if wrapped := scriptWrapper.FindStringSubmatch(text); wrapped != nil {
		text = wrapped[1]
	}
	e.Code, e.Message = splitCode(text)
	return e
}

// scriptWrapper matches what servers put before the error of a command that a script called:
// Redis 6 and miniredis name the script first, newer servers last.
var scriptWrapper = regexp.MustCompile(
	`^(?:ERR )?Error (?:running script|compiling script|loading script)[^:]*: (?:@?<?[^ :]*>?:\d+: )?(.*)$`)

// lineNumber matches the line in each server's form: "on @user_script:12.", "user_script:12:",
// and miniredis's "<string>:12:" and "line:12(column:3)".
var lineNumber = regexp.MustCompile(`(?:user_script|<string>):(\d+)|\bline:(\d+)\(`)

func scriptLine(text string) int {
	for i, group := range lineNumber.FindStringSubmatch(text) {
		if n, err := strconv.Atoi(group); i > 0 && err == nil {
			return n
		}
	}
	return 0
}

func splitCode(text string) (code, message string) {
	first, rest, _ := strings.Cut(text, " ")
	if first != "" && strings.IndexFunc(first, notCode) < 0 {
		return first, rest
	}
	return "ERR", text
}

func notCode(r rune) bool {
	return (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_'
}

// NotExecuted reports whether an error reply with this code proves that the command was refused
// before it ran, so that it may be sent again (R3).
func NotExecuted(code string) bool {
	switch code {
	case "NOSCRIPT", "MOVED", "ASK", "TRYAGAIN", "LOADING", "BUSY",
		"CLUSTERDOWN", "MASTERDOWN", "READONLY":
		return true
	}
	return false
}

// MayHaveRun reports whether a script that returned err may have been executed, now or later: its
// outcome is unknown, it raised an error on its way, or its reply was not understood. It is false
// for nil: then the script did run.
func MayHaveRun(err error) bool {
	if errors.Is(err, ErrIndeterminate) || errors.Is(err, ErrReply) {
		return true
	}
	var server *ServerError
	return errors.As(err, &server) && !NotExecuted(server.Code)
}

// Indeterminate wraps cause so that it matches both [ErrIndeterminate] and itself.
func Indeterminate(cause error) error {
	return fmt.Errorf("%w: %w", ErrIndeterminate, cause)
}
