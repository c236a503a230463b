package matrix

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// The child of TestStoppedProcess gets the server's address and the adapter's name by these.
const (
	childAddr    = "HASP_CHILD_ADDR"
	childAdapter = "HASP_CHILD_ADAPTER"
	childLease   = time.Second
)

// TestStoppedProcess stops a process that holds a lock (SIGSTOP) until another has the lock, and
// lets it go on: the first thing that it asks its lease must tell of the loss.
func TestStoppedProcess(t *testing.T) {
	t.Parallel()
	for _, a := range adapters() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			on := standalone(t, servers.Redis)
			child, out := startChild(t, a, on)
			require.Equal(t, "held", line(t, out))
			require.NoError(t, child.Process.Signal(syscall.SIGSTOP))
			lease := lockWith(t, a, on)
			require.NoError(t, child.Process.Signal(syscall.SIGCONT))
			require.Equal(t, "lost true remaining 0s", line(t, out))
			require.NoError(t, child.Wait())
			require.NoError(t, lease.Err())
			require.NoError(t, lease.Unlock(t.Context()))
		})
	}
}

// startChild runs this test binary again, as a process that holds the lock.
func startChild(t *testing.T, a adapter, on *target) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestChildHolds$", "-test.v")
	child.Env = append(os.Environ(), childAddr+"="+on.addrs()[0], childAdapter+"="+a.name)
	child.Stderr = os.Stderr
	pipe, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	t.Cleanup(func() { _ = child.Process.Kill() })
	return child, bufio.NewReader(pipe)
}

// line returns the child's next line, without those of the test framework.
func line(t *testing.T, out *bufio.Reader) string {
	t.Helper()
	for {
		text, err := out.ReadString('\n')
		require.NoError(t, err, "the child ended: %s", text)
		if found, ok := strings.CutPrefix(text, "child: "); ok {
			return strings.TrimSpace(found)
		}
	}
}

// lockWith takes the lock that the child holds, once it can be had.
func lockWith(t *testing.T, a adapter, on *target) *primitives.Lease {
	t.Helper()
	client, _ := openClient(t, a, on, nil)
	ctx, cancel := context.WithTimeout(t.Context(), conformance.Patience)
	defer cancel()
	lease, err := client.NewLock("stopped", nil).Lock(ctx)
	require.NoError(t, err)
	return lease
}

// openClient makes a client of primitives that ends with the test.
func openClient(
	t *testing.T, a adapter, on *target, o *primitives.Options,
) (*primitives.Client, *servers.Wire) {
	t.Helper()
	in, w, err := open(t.Context(), a, on, variant{})
	require.NoError(t, err)
	client, err := primitives.New(in.Backend, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), conformance.Patience/4)
		defer cancel()
		_ = client.Close(ctx)
		_ = in.Backend.Close()
		in.Close()
	})
	return client, w
}

// TestChildHolds is the child of TestStoppedProcess.
func TestChildHolds(t *testing.T) {
	addr, name := os.Getenv(childAddr), os.Getenv(childAdapter)
	if addr == "" {
		t.Skip("it is the child of TestStoppedProcess")
	}
	for _, a := range adapters() {
		if a.name == name {
			require.NoError(t, holdInChild(t.Context(), a, addr))
		}
	}
}

// holdInChild holds the lock, renewed, until it notices that the process was stopped.
func holdInChild(ctx context.Context, a adapter, addr string) error {
	dial := func(ctx context.Context, addr string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	in, err := a.open(ctx, clientOptions{addrs: []string{addr}, dial: dial})
	if err != nil {
		return err
	}
	client, err := primitives.New(in.Backend, &primitives.Options{WatchdogLease: childLease})
	if err != nil {
		return err
	}
	lease, err := client.NewLock("stopped", nil).Lock(ctx)
	if err != nil {
		return err
	}
	fmt.Println("child: held")
	for last := time.Now(); ; {
		now := time.Now()
		if now.Sub(last) > childLease/2 {
			// Just woken. Err is asked before any timer can have run for sure.
			lost := errors.Is(lease.Err(), primitives.ErrLost)
			fmt.Printf("child: lost %t remaining %v\n", lost, lease.Remaining())
			return nil
		}
		if lease.Err() != nil {
			return fmt.Errorf("lost before it was stopped: %w", lease.Err())
		}
		last = now
		time.Sleep(time.Millisecond)
	}
}
