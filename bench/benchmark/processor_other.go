//go:build !unix

package benchmark

import "time"

// processorTime returns 0: how long this process has used processors is known on Unix alone.
func processorTime() time.Duration { return 0 }
