//go:build !unix

package servers

import "os"

// No signal stops a process here.
var pauseSignal, resumeSignal os.Signal
