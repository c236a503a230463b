package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/hasp-go/hasp/cmd/hasp/internal/connect"
	"github.com/hasp-go/hasp/primitives"
)

// Exit codes. Others are 0, those of commands that hasp runs, and 128 and the number of a signal. Most are of sysexits.h.
const (
	exitFailed      = 1   // a check found a fault, or an observer was asked for what there is not
	exitUsage       = 64  // a wrong flag or argument: nothing was acquired
	exitUnavailable = 69  // no server
	exitInternal    = 70  // another error
	exitNotAcquired = 75  // not free in time
	exitNoRight     = 77  // the server refuses the user
	exitLost        = 79  // the lease was lost while the command ran
	exitNoCommand   = 127 // there is no such program: as shells have it
)

// exitError is an error with the program's exit code. Without an error nothing is printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage returns the error of a wrong flag or argument.
func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

func codeOf(err error) int {
	var exit *exitError
	var wrong *connect.UsageError
	var field *primitives.FieldError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.code
	case errors.As(err, &wrong), errors.As(err, &field), errors.Is(err, primitives.ErrAboveRate):
		return exitUsage
	case errors.Is(err, primitives.ErrNoPermission):
		return exitNoRight
	case errors.Is(err, primitives.ErrNoLatch):
		return exitFailed
	case errors.Is(err, primitives.ErrNotAcquired):
		return exitNotAcquired
	case errors.Is(err, primitives.ErrUnavailable), errors.Is(err, primitives.ErrIndeterminate),
		errors.Is(err, context.DeadlineExceeded):
		return exitUnavailable
	}
	return exitInternal
}
