//go:build unix

package servers

import (
	"os"
	"syscall"
)

// The signals that stop a process and let it go on.
var pauseSignal, resumeSignal os.Signal = syscall.SIGSTOP, syscall.SIGCONT
