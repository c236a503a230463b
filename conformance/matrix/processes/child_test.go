package processes

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// These say to a child what to lock.
const (
	childAddr    = "HASP_CHILD_ADDR"
	childAdapter = "HASP_CHILD_ADAPTER"
	childLock    = "HASP_CHILD_LOCK"
)

// childLease is how long the child's lock outlives it.
const childLease = time.Second

// child is a process that locks the test's lock again and again, and says what it does in lines.
type child struct {
	process *os.Process
	out     *bufio.Reader
	lost    string // what it printed last about a lease that it lost
}

// startChild runs this test binary again, as a child.
func startChild(t *testing.T, a cells.Adapter, s *servers.Server) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
	cmd.Env = append(os.Environ(),
		childAddr+"="+s.Addr(), childAdapter+"="+a.Name, childLock+"="+t.Name())
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &child{process: cmd.Process, out: bufio.NewReader(pipe)}
}

func (c *child) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	require.NoError(t, c.process.Signal(s))
}

// await returns the rest of the child's next line that begins so.
func (c *child) await(t *testing.T, prefix string) string {
	t.Helper()
	for {
		text, err := c.out.ReadString('\n')
		require.NoError(t, err, "the child ended: %s", text)
		if lost, ok := strings.CutPrefix(text, "child: lost: "); ok {
			c.lost = strings.TrimSpace(lost)
		}
		if found, ok := strings.CutPrefix(text, "child: "+prefix); ok {
			return strings.TrimSpace(found)
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
	addr := os.Getenv(childAddr)
	if addr == "" {
		t.Skip("it is the child of other tests")
	}
	a := cells.Named(os.Getenv(childAdapter))
	b := &cells.Runner{Backend: a.Backend(t, cells.At(addr))}
	b.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		fmt.Println("child: sends", c.Script.Name)
		reply, err := b.Good(ctx, c)
		if err == nil {
			fmt.Println("child: has run", c.Script.Name)
		}
		return reply, err
	}
	client := cells.Over(t, b, &primitives.Options{WatchdogLease: childLease})
	lock := client.NewLock(os.Getenv(childLock), nil)
	for {
		lease, err := lock.Lock(t.Context())
		if err != nil {
			fmt.Println("child: failed:", err)
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
			fmt.Println("child: held", lease.Token(), now.UnixMicro())
		}
		last = now
		time.Sleep(time.Millisecond)
	}
	remaining := lease.Remaining()
	refused := errors.Is(lease.Unlock(ctx), primitives.ErrNotHeld)
	fmt.Printf("child: lost: %v remain, unlock refused %t\n", remaining, refused)
}
