package wait_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWaitLooksAtTooFew: a message of too few units makes one waiter try where units return without one,
// since what a refusal said of that may be out of date; elsewhere it makes none try.
func TestWaitLooksAtTooFew(t *testing.T) {
	t.Parallel()
	for returns, tries := range map[bool]int{true: 1, false: 0} {
		synctest.Test(t, func(t *testing.T) {
			p := &pool{server: newServer(1)}
			w := p.client(t, hour)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			for range 3 {
				go func() {
					want := p.wants(2)
					want.Returns = returns
					_ = w.Wait(ctx, want, units{p, 2})
				}()
			}
			time.Sleep(time.Second)
			before := p.Tried()
			p.give(1)
			time.Sleep(time.Second)
			require.Equal(t, tries, p.Tried()-before, "returns: %v", returns)
		})
	}
}
