package processes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// childLease is how long the child's lock outlives it.
const childLease = time.Second

// child is a process that locks the test's lock again and again, and says what it does in lines.
type child struct {
	*cells.Child
	lost string // what it said last about a lease that it lost
}

func startChild(t *testing.T, a cells.Adapter, s *servers.Server) *child {
	t.Helper()
	return &child{Child: cells.StartChild(t, os.Args[0], "TestChild", s.Addr(), a.Name, t.Name())}
}

// await returns the rest of the child's next line that begins so.
func (c *child) await(t *testing.T, prefix string) string {
	t.Helper()
	for {
		line := c.Next(t)
		if lost, ok := strings.CutPrefix(line, "lost: "); ok {
			c.lost = lost
		}
		if found, ok := strings.CutPrefix(line, prefix); ok {
			return found
		}
	}
}

// held waits until the child says that it holds the lock, and returns its token, and when that was.
func (c *child) held(t *testing.T) (token int64, at time.Time) {
	t.Helper()
	var micros int64
	_, err := fmt.Sscan(c.await(t, "held "), &token, &micros)
	require.NoError(t, err)
	return token, time.UnixMicro(micros)
}

// parked waits until the child has tried, and again after its subscription: both are refused.
func (c *child) parked(t *testing.T) {
	t.Helper()
	for range 2 {
		c.await(t, "has run lock_acquire")
	}
}

// TestChild is the child of other tests: it holds the lock, renewed, until it is lost, again and again.
func TestChild(t *testing.T) {
	args, _ := cells.AsChild(t)
	addr, adapter, lockName := args[0], args[1], args[2]
	b := &cells.Runner{Backend: cells.Named(adapter).Backend(t, cells.At(addr))}
	b.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		cells.Say("sends", c.Script.Name)
		reply, err := b.Good(ctx, c)
		if err == nil {
			cells.Say("has run", c.Script.Name)
		}
		return reply, err
	}
	client := cells.Over(t, b, &primitives.Options{WatchdogLease: childLease})
	lock := client.NewLock(lockName, nil)
	for {
		lease, err := lock.Lock(t.Context())
		if err != nil {
			cells.Say("failed:", err)
			continue
		}
		keepInChild(t.Context(), lease)
	}
}

// keepInChild keeps the lock until it is lost. It prints when it gets it, and after every pause
// that it still believes to hold it: the lease is asked before any timer can have run for sure.
func keepInChild(ctx context.Context, lease *primitives.Lease) {
	for last := (time.Time{}); ; {
		now := time.Now()
		if lease.Err() != nil {
			break
		}
		if now.Sub(last) > childLease/4 {
			cells.Say("held", lease.Token(), now.UnixMicro())
		}
		last = now
		time.Sleep(time.Millisecond)
	}
	remaining := lease.Remaining()
	refused := errors.Is(lease.Release(ctx), primitives.ErrNotHeld)
	cells.Say("lost:", remaining, "remain, unlock refused", refused)
}
