package propertytest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/hasptest/propertytest"
	"github.com/hasp-go/hasp/primitives"
)

// order stands for a row of a table: the token that claimed it, and how often it was shipped.
type order struct {
	mu      sync.Mutex
	fence   int64
	shipped int
}

// claim reads the order, and notes which holder of its lock has read it last.
func (o *order) claim(token int64) (open bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fence = max(o.fence, token)
	return o.shipped == 0
}

// ship is a write. It fails unless its holder has read the order last.
func (o *order) ship(token int64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if token != o.fence {
		return errors.New("another holder has read the order since")
	}
	o.shipped++
	return nil
}

// shipOnce ships an open order, after a minute of packing.
func shipOnce(ctx context.Context, client *primitives.Client, o *order) error {
	return client.NewLock("orders:42", nil).Do(ctx, func(_ context.Context, lease *primitives.Lease) error {
		if !o.claim(lease.Token()) {
			return nil
		}
		time.Sleep(time.Minute)
		return o.ship(lease.Token())
	})
}

// shippedOnce is the property: whatever several processes and faults do, an order is shipped once at most.
func shippedOnce(ship func(context.Context, *primitives.Client, *order) error) propertytest.Property {
	return func(ctx context.Context, r *rapid.T, s *hasptest.Server) {
		o := &order{}
		seconds := rapid.IntRange(1, 40)
		r.Repeat(map[string]func(*rapid.T){
			"ship":        func(*rapid.T) { client := s.Client(nil); go func() { _ = ship(ctx, client, o) }() },
			"wait":        func(r *rapid.T) { time.Sleep(time.Duration(seconds.Draw(r, "seconds")) * time.Second) },
			"lose":        func(*rapid.T) { s.TryLose("orders:42") },
			"lose answer": func(*rapid.T) { s.LoseAnswers(1) },
			"go away":     func(r *rapid.T) { s.Away(time.Duration(seconds.Draw(r, "seconds")) * time.Second) },
			"":            func(*rapid.T) { synctest.Wait() }, // After each: all have done what they can at once.
		})
		time.Sleep(time.Hour)
		synctest.Wait()
		require.LessOrEqual(r, o.shipped, 1, "shipments")
	}
}

func TestOrderIsShippedOnce(t *testing.T) { propertytest.Check(t, shippedOnce(shipOnce)) }

// shipAgain is shipOnce with a bug: the holder writes although another one has read the order since.
func shipAgain(ctx context.Context, client *primitives.Client, o *order) error {
	return client.NewLock("orders:42", nil).Do(ctx, func(_ context.Context, lease *primitives.Lease) error {
		if o.claim(lease.Token()) {
			time.Sleep(time.Minute)
			o.mu.Lock()
			defer o.mu.Unlock()
			o.shipped++
		}
		return nil
	})
}

// TestSecondShipmentIsFound checks shipAgain in a process of its own, which rapid lets fail.
func TestSecondShipmentIsFound(t *testing.T) {
	if os.Getenv("SHIP_AGAIN") != "" {
		propertytest.Check(t, shippedOnce(shipAgain))
		return
	}
	t.Parallel()
	found := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", //nolint:gosec // This test.
		"-rapid.seed=1", "-rapid.checks=1000", "-rapid.shrinktime=1s", "-rapid.nofailfile")
	found.Env = append(os.Environ(), "SHIP_AGAIN=yes")
	out, err := found.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "shipments")
}
