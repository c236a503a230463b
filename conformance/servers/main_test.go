package servers_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/servers"
)

func TestMain(m *testing.M) {
	before := runtime.NumGoroutine()
	code := m.Run()
	if err := errors.Join(servers.CloseShared(), leaked(before)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// leaked waits until there are as few goroutines as before the tests. Fuzzing leaves one of its own.
func leaked(before int) error {
	if flag.Lookup("test.fuzz").Value.String() != "" {
		return nil
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		if runtime.NumGoroutine() <= before {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	stacks := make([]byte, 1<<20)
	return fmt.Errorf("goroutines left:\n%s", stacks[:runtime.Stack(stacks, true)])
}

// eventually polls until check holds, with a deadline that no working machine needs.
func eventually(t *testing.T, check func() bool, what string) {
	t.Helper()
	require.Eventually(t, check, 30*time.Second, 5*time.Millisecond, what)
}

// eachKind runs test as a parallel subtest for every server program.
func eachKind(t *testing.T, test func(t *testing.T, kind servers.Kind)) {
	t.Helper()
	t.Parallel()
	for _, kind := range servers.Kinds() {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			servers.Need(t, kind)
			test(t, kind)
		})
	}
}

// fakeTB records what a test would see, and runs its cleanups on demand.
type fakeTB struct {
	mu       sync.Mutex
	failed   bool
	log      string
	cleanups []func()
}

type stopped struct{ how string }

func (f *fakeTB) Helper()      {}
func (f *fakeTB) Name() string { return "Fake" }
func (f *fakeTB) Failed() bool { return f.failed }

func (f *fakeTB) Cleanup(fn func()) { f.cleanups = append(f.cleanups, fn) }

func (f *fakeTB) Logf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log += fmt.Sprintf(format, args...) + "\n"
}

func (f *fakeTB) Errorf(format string, args ...any) {
	f.Logf(format, args...)
	f.failed = true
}

func (f *fakeTB) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	panic(stopped{"fatal"})
}

func (f *fakeTB) Skipf(format string, args ...any) {
	f.Logf(format, args...)
	panic(stopped{"skip"})
}

// run runs test and its cleanups, and returns how it was stopped, if it was.
func (f *fakeTB) run(test func()) (how string) {
	defer func() {
		for i := range f.cleanups {
			f.cleanups[len(f.cleanups)-1-i]()
		}
		if s, ok := recover().(stopped); ok {
			how = s.how
		}
	}()
	test()
	return ""
}
