//go:build unix

package benchmark

import (
	"syscall"
	"time"
)

// processorTime returns how long this process has used processors.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
