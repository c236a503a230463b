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

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// These say to a child what to lock.
const (
	childAddr    = "HASP_CHILD_ADDR"
	childAdapter = "HASP_CHILD_ADAPTER"
	childLock    = "HASP_CHILD_LOCK"
	childLease   = time.Second

	// deadHolder is what a holder costs the others that dies or stops: its lease, and a poll of
	// theirs, give or take a tenth.
	deadHolder = childLease + 5500*time.Millisecond
	// deadWaiter is what a waiter costs them: nothing, but for a machine that is busy.
	deadWaiter = 10 * time.Second
)

// TestKilledProcess kills a process (SIGKILL) that uses a lock.
func TestKilledProcess(t *testing.T) {
	proof(t)
	t.Parallel()
	for _, a := range adapters() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			on := standalone(t, servers.Redis)
			t.Run("Holding", func(t *testing.T) { t.Parallel(); killHolder(t, a, on, "held") })
			t.Run("Renewing", func(t *testing.T) {
				t.Parallel()
				killHolder(t, a, on, "sends lock_renew")
			})
			t.Run("Waiting", func(t *testing.T) { t.Parallel(); killWaiter(t, a, on) })
		})
	}
}

// killHolder kills a child that holds the lock, when it says what is given. A waiter gets the lock.
func killHolder(t *testing.T, a adapter, on *target, when string) {
	t.Helper()
	c := startChild(t, a, on)
	token, _ := c.held(t)
	got := lockLater(t, a, on, nil)
	if when != "held" {
		c.await(t, when)
	}
	c.signal(t, syscall.SIGKILL)
	lease := within(t, deadHolder, got)
	require.Greater(t, lease.Token(), token)
	require.NoError(t, lease.Unlock(t.Context()))
}

// killWaiter kills a child that waits. Another waiter gets the lock when it is released, with no
// lease that ends and no poll to help it.
func killWaiter(t *testing.T, a adapter, on *target) {
	t.Helper()
	patient := &primitives.Options{PollInterval: time.Hour}
	lease := within(t, conformance.Patience, lockLater(t, a, on, patient))
	c := startChild(t, a, on)
	got := lockLater(t, a, on, patient)
	c.parked(t)
	c.signal(t, syscall.SIGKILL)
	require.NoError(t, lease.Unlock(t.Context()))
	require.NoError(t, within(t, deadWaiter, got).Unlock(t.Context()))
}

// TestStoppedProcess stops a process that uses a lock (SIGSTOP) until another has the lock, and
// lets it go on.
func TestStoppedProcess(t *testing.T) {
	proof(t)
	t.Parallel()
	for _, a := range adapters() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			on := standalone(t, servers.Redis)
			t.Run("Holding", func(t *testing.T) { t.Parallel(); stopHolder(t, a, on) })
			t.Run("Acquiring", func(t *testing.T) { t.Parallel(); stopAcquire(t, a, on) })
			t.Run("Waiting", func(t *testing.T) { t.Parallel(); stopWaiter(t, a, on) })
		})
	}
}

// stopHolder stops a child that holds the lock. The first thing that it asks its lease then must
// report the loss, and its Unlock must leave the lock to its new holder.
func stopHolder(t *testing.T, a adapter, on *target) {
	t.Helper()
	c := startChild(t, a, on)
	token, _ := c.held(t)
	c.signal(t, syscall.SIGSTOP)
	lease := within(t, deadHolder, lockLater(t, a, on, nil))
	require.Greater(t, lease.Token(), token)
	goesOn(t, c, lease)
	require.Equal(t, "0s remain, unlock refused true", c.lost)
}

// stopAcquire stops a child about when its acquire is sent. Its grant, if there was one, has ended
// before the reply reaches it: it must wait for its turn.
func stopAcquire(t *testing.T, a adapter, on *target) {
	t.Helper()
	c := startChild(t, a, on)
	c.await(t, "sends lock_acquire")
	c.signal(t, syscall.SIGSTOP)
	time.Sleep(childLease)
	lease := within(t, deadHolder, lockLater(t, a, on, nil))
	goesOn(t, c, lease)
}

// stopWaiter stops a child that waits, while the lock goes from one to another.
func stopWaiter(t *testing.T, a adapter, on *target) {
	t.Helper()
	first := within(t, conformance.Patience, lockLater(t, a, on, nil))
	c := startChild(t, a, on)
	c.parked(t)
	c.signal(t, syscall.SIGSTOP)
	require.NoError(t, first.Unlock(t.Context()))
	lease := within(t, deadWaiter, lockLater(t, a, on, nil))
	time.Sleep(childLease)
	goesOn(t, c, lease)
}

// goesOn lets the child, which goes on, come to the lock that lease holds: nothing that it does may
// touch the lease, and it may believe that it holds the lock only after that.
func goesOn(t *testing.T, c *child, lease *primitives.Lease) {
	t.Helper()
	granted := time.Now()
	c.signal(t, syscall.SIGCONT)
	c.await(t, "sends ") // Whatever it has to do about what it had.
	time.Sleep(childLease / 4)
	require.NoError(t, lease.Err())
	require.NoError(t, lease.Unlock(t.Context()), "the lock was held to the end")
	for {
		token, at := c.held(t)
		if token > lease.Token() {
			return
		}
		require.True(t, at.Before(granted), "the child believed in token %d, after %d was granted",
			token, lease.Token())
	}
}

// lockLater takes the test's lock, by a client of its own.
func lockLater(
	t *testing.T, a adapter, on *target, o *primitives.Options,
) <-chan *primitives.Lease {
	t.Helper()
	client, _ := openClient(t, a, on, o)
	got := make(chan *primitives.Lease, 1)
	go func() {
		defer close(got)
		if lease, err := client.NewLock(t.Name(), nil).Lock(t.Context()); err == nil {
			got <- lease
		}
	}()
	return got
}

// within returns what comes from got, which must not take longer than bound.
func within(t *testing.T, bound time.Duration, got <-chan *primitives.Lease) *primitives.Lease {
	t.Helper()
	select {
	case lease, ok := <-got:
		require.True(t, ok, "Lock failed")
		return lease
	case <-time.After(bound):
		require.FailNow(t, "the lock was not acquired", "within %v", bound)
		return nil
	}
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

// child is a process that locks the test's lock again and again, and says what it does in lines.
type child struct {
	process *os.Process
	out     *bufio.Reader
	lost    string // what it printed last about a lease that it lost
}

// startChild runs this test binary again, as a child.
func startChild(t *testing.T, a adapter, on *target) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
	cmd.Env = append(os.Environ(),
		childAddr+"="+on.addrs()[0], childAdapter+"="+a.name, childLock+"="+t.Name())
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

// TestChild is the child of other tests.
func TestChild(t *testing.T) {
	addr, name := os.Getenv(childAddr), os.Getenv(childAdapter)
	if addr == "" {
		t.Skip("it is the child of other tests")
	}
	for _, a := range adapters() {
		if a.name == name {
			require.NoError(t, lockInChild(t.Context(), a, addr))
		}
	}
}

// lockInChild holds the lock, renewed, until it is lost, again and again.
func lockInChild(ctx context.Context, a adapter, addr string) error {
	dial := func(ctx context.Context, addr string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}
	in, err := a.open(ctx, clientOptions{addrs: []string{addr}, dial: dial})
	if err != nil {
		return err
	}
	client, err := primitives.New(talkative{in.Backend}, &primitives.Options{WatchdogLease: childLease})
	if err != nil {
		return err
	}
	for {
		lease, err := client.NewLock(os.Getenv(childLock), nil).Lock(ctx)
		if err != nil {
			fmt.Println("child: failed:", err)
			continue
		}
		keepInChild(ctx, lease)
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

// talkative is a backend that says which scripts it runs.
type talkative struct{ backend.Backend }

// Run implements [backend.ScriptRunner].
func (b talkative) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	fmt.Println("child: sends", script.Name)
	reply, err := b.Backend.Run(ctx, script, keys, args)
	if err == nil {
		fmt.Println("child: has run", script.Name)
	}
	return reply, err
}
