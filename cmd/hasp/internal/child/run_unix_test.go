//go:build unix

package child

import (
	"os"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/cmd/hasp/internal/guard"
)

// TestMain runs the tests. In another process the test's binary is the guard.
func TestMain(m *testing.M) {
	if os.Args[0] == guard.Name {
		os.Exit(guard.Main(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// rest is a lease of which so much is left.
type rest time.Duration

func (r rest) Remaining() time.Duration { return time.Duration(r) }
func (rest) Done() <-chan struct{}      { return nil }
func (rest) Err() error                 { return nil }

// renewed is a lease that ends when nobody renews it any more.
type renewed struct {
	rest
	ends atomic.Bool
}

func (r *renewed) Remaining() time.Duration {
	if r.ends.Load() {
		return 0
	}
	return r.rest.Remaining()
}

// TestRun: a command that runs hears how long its lease still lasts. Beside it the terminal's signals do not stop this
// process, and after it they do again.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "runs")
	l, c := &renewed{rest: rest(time.Hour)}, &Command{
		Path: "/bin/sh", Args: []string{"sh", "-c", `: >"$0"; while [ -e "$0" ]; do sleep 0.01; done`, file},
		Grace: time.Hour, Length: time.Second,
	}
	begun := func() bool { _, err := os.Stat(file); return err == nil && signal.Ignored(syscall.SIGTTIN) }
	ended, r, err := make(chan bool), Result{}, error(nil)
	go func() {
		defer close(ended)
		r, err = c.Run(l, nil)
	}()
	require.Eventually(t, begun, time.Minute, time.Millisecond)
	l.ends.Store(true)
	defer time.AfterFunc(20*time.Second, func() { _ = os.Remove(file) }).Stop()
	<-ended
	require.NoError(t, err)
	require.True(t, r.Late, "%+v", r)
	require.False(t, signal.Ignored(syscall.SIGTTIN))
}

// TestTimes: the command gets its grace before the end of the lease, which counts from the last renewal.
func TestTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ short, granted, rest, term, kill time.Duration }{
		{short: 3 * time.Second, rest: 27 * time.Second, term: 22500 * time.Millisecond, kill: 25500 * time.Millisecond},
		{short: time.Minute, rest: 27 * time.Second, term: 15500 * time.Millisecond, kill: 25500 * time.Millisecond},
		{short: time.Minute, granted: 9 * time.Second, rest: 9 * time.Second, term: 4500 * time.Millisecond, kill: 7500 * time.Millisecond},
		{short: time.Minute, granted: 9 * time.Second, rest: 27 * time.Second, term: 15500 * time.Millisecond, kill: 25500 * time.Millisecond},
		{short: time.Second, rest: time.Second, term: -1500 * time.Millisecond, kill: -500 * time.Millisecond},
	} {
		r := &running{Command: &Command{Short: c.short, Length: 30 * time.Second}, lease: rest(c.rest), granted: c.granted}
		before := guard.Now()
		got := r.times()
		term, kill := got.Term, got.Kill
		passed := guard.Now() - before
		require.LessOrEqual(t, term-before-c.term, passed)
		require.LessOrEqual(t, kill-before-c.kill, passed)
		require.Equal(t, c.kill-c.term, kill-term)
		r.ending = before + time.Millisecond
		require.LessOrEqual(t, r.times().Kill, r.ending, "after a signal")
	}
}
