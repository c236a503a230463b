//go:build !unix

package child

import (
	"errors"
	"os"
	"os/signal"
)

// Run returns an error: here a process cannot end what its child has started.
func (c *Command) Run(Lease, <-chan os.Signal) (Result, error) {
	return Result{}, errors.New("this system has no groups of processes, so hasp runs no commands here")
}

// HasTerminal reports whether a user can be asked: here it is not known.
func HasTerminal() bool { return false }

// Ends reports whether a process is to end after a signal.
func Ends(os.Signal) bool { return true }

// Pause stops this process if s is SIGTSTP, and reports whether it was: here there is no such signal.
func Pause(os.Signal) bool { return false }

// Notify returns the signals that end a command.
func Notify() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	return c, func() { signal.Stop(c) }
}
