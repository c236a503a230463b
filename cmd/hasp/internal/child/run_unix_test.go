//go:build unix

package child

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/cmd/hasp/internal/guard"
)

// rest is a lease of which so much is left.
type rest time.Duration

func (r rest) Remaining() time.Duration { return time.Duration(r) }
func (rest) Done() <-chan struct{}      { return nil }
func (rest) Err() error                 { return nil }

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
