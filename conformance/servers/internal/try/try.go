// Package try has what the tests of servers and of proxies share.
package try

import (
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/conformance/servers/internal/resp"
)

// Must returns a function that returns what a call returned, and ends the test if the call failed.
func Must[T any](v T, err error) func(tb servers.TB) T {
	return func(tb servers.TB) T {
		tb.Helper()
		if err != nil {
			tb.Fatalf("%v", err)
		}
		return v
	}
}

// Err returns the error alone that a call returned.
func Err[T any](_ T, err error) error { return err }

// Dial returns a connection that ends with the test.
func Dial(tb servers.TB, addr string) *resp.Conn {
	tb.Helper()
	c := Must(resp.Dial(addr))(tb)
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

// Get returns the value of a key; "" if there is none.
func Get(tb servers.TB, s *servers.Server, key string) string {
	tb.Helper()
	reply := Must(s.Do("GET", key))(tb)
	text, _ := reply.Text()
	return text
}

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
