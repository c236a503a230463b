package benchmark

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
)

// Scope is what a measurement opens, and what ends with it. It takes the place of a test where servers and
// proxies are started.
type Scope struct {
	mu       sync.Mutex
	cleanups []func()
	err      error
}

// within calls f in a goroutine of its own, and then ends what f has left to the scope, the last first: also
// before a panic of f ends the program. It returns the errors of f's Must, Fatalf and Errorf.
func within(f func(s *Scope)) error {
	s, done := &Scope{}, make(chan struct{})
	go func() {
		defer close(done)
		defer s.end()
		f(s)
	}()
	<-done
	return s.err
}

func (s *Scope) end() {
	for _, cleanup := range slices.Backward(s.cleanups) {
		cleanup()
	}
}

// Must ends the goroutine of f, which calls it, if err is not nil.
func (s *Scope) Must(err error) {
	if err != nil {
		s.fail(err)
		runtime.Goexit()
	}
}

func (s *Scope) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = errors.Join(s.err, err)
}

// Cleanup calls f when the measurement ends.
func (s *Scope) Cleanup(f func()) { s.cleanups = append(s.cleanups, f) }

// Close closes what can fail to, when the measurement ends.
func (s *Scope) Close(closing func() error) {
	s.Cleanup(func() {
		if err := closing(); err != nil {
			s.fail(err)
		}
	})
}

// Helper does nothing. It, and what follows, are for the packages that start servers.
func (s *Scope) Helper() {}

// Errorf notes an error.
func (s *Scope) Errorf(format string, args ...any) { s.fail(fmt.Errorf(format, args...)) }

// Fatalf is Must.
func (s *Scope) Fatalf(format string, args ...any) { s.Must(fmt.Errorf(format, args...)) }

// Skipf is Fatalf: a server that was asked for and is missing is an error.
func (s *Scope) Skipf(format string, args ...any) { s.Fatalf(format, args...) }

// Logf prints to standard error.
func (s *Scope) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// Failed reports whether there was an error.
func (s *Scope) Failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}
