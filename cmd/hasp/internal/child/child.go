package child

import "time"

// StubName is the name by which the program runs as a stub: see [Stub].
const StubName = "hasp-start"

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
	Length time.Duration // of the lease
}

// Result is how a command has ended.
type Result struct {
	// Code is the command's exit code, or 128 and the number of the signal that ended it.
	Code int

	// Late says that the lease could not be renewed in time, and that the command was ended for that.
	Late bool

	// Unguarded says that the guard was killed, and that the command was ended for that.
	Unguarded bool
}
