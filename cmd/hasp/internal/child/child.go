// Package child runs a command while a lease is held. The command's processes end before the server could give the lease
// to another holder: a guard sees to that, even if this process is stopped or killed.
package child

import "time"

// NotExecuted is the exit code if the system does not execute the command, as shells have it.
const NotExecuted = 126

// MinLease is the shortest lease that leaves a command the time to end.
const MinLease = time.Second

// Lease is what a command needs to know of its lease.
type Lease interface {
	Remaining() time.Duration // how long it may still be trusted, by the clock
	Done() <-chan struct{}    // closed when it has ended
	Err() error               // why it has ended, or nil
}

// Command is what to run.
type Command struct {
	Path     string
	Args     []string             // the first is the command's name
	Env      []string             // added to the environment of this process
	Grace    time.Duration        // from a signal that ends the command until SIGKILL
	Short    time.Duration        // the same if the lease ends; at most a third of the lease
	Length   time.Duration        // of the lease
	Reserved func(err error) bool // reports whether nobody gets a lost lease before it would have ended
}

// Result is how a command has ended.
type Result struct {
	Code      int   // the command's exit code, or 128 and the number of the signal that ended it
	Late      bool  // the lease could not be renewed in time, and the command was ended for that
	Unguarded bool  // the guard was killed or stopped, and the command was ended for that
	Left      []int // processes of the command that SIGKILL does not end
}
