// Package leak finds goroutines that tests leave behind.
package leak

import (
	"fmt"
	"os"
	"runtime"
	"time"
)

// Main runs a package's tests, waits until there are as few goroutines as before, and returns the exit code.
func Main(tests interface{ Run() int }) int {
	before := runtime.NumGoroutine()
	code := tests.Run()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if runtime.NumGoroutine() <= before {
			return code
		}
		time.Sleep(5 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	fmt.Fprintf(os.Stderr, "goroutines left:\n%s\n", stacks[:runtime.Stack(stacks, true)])
	return 1
}
