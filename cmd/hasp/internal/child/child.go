package child

import "time"

// NotExecuted is the exit code if the system does not execute the command, as shells have it.
const NotExecuted = 126

// MinLease is the shortest lease that leaves a command the time to end.
const MinLease = time.Second

// Lease is what a command needs to know of its lease.
type Lease interface {
	// Remaining returns how long the lease may still be trusted, by the clock.
	Remaining() time.Duration

	// Done is closed when the lease has ended.
	Done() <-chan struct{}

	// Err returns the reason of the lease's end, or nil.
	Err() error
}

// Command is what to run.
type Command struct {
	Path   string
	Args   []string      // the first is the command's name
	Env    []string      // added to the environment of this process
	Grace  time.Duration // from a signal that ends the command until SIGKILL
	Short  time.Duration // the same if the lease ends; at most a third of the lease
	Length time.Duration // of the lease

	// Reserved reports whether nobody gets a lost lease before it would have ended.
	Reserved func(err error) bool
}

// Result is how a command has ended.
type Result struct {
	// Code is the command's exit code, or 128 and the number of the signal that ended it.
	Code int

	// Late says that the lease could not be renewed in time, and that the command was ended for that.
	Late bool

	// Unguarded says that the guard was killed or stopped, and that the command was ended for that.
	Unguarded bool

	// Left are processes of the command that SIGKILL does not end.
	Left []int
}
