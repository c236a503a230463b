// Package parts makes the calls on several objects that are held as one.
package parts

import (
	"fmt"
	"sync"
)

// Each calls do for each number below n, concurrently, and returns the errors when all calls
// have returned. It returns a panic as an error, since these goroutines have no caller in which to
// raise it.
func Each(n int, do func(i int) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = Contained(func() error { return do(i) }) })
	}
	all.Wait()
	return errs
}

// Contained calls do, and returns a panic as an error.
func Contained(do func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic in the driver: %v", value)
		}
	}()
	return do()
}
