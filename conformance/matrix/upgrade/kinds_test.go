package upgrade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// This file is also compiled in the checkout of the other version: it uses only what both have.

// hold is a hold of an object that one holder has at a time: its token, 0 if there is none, and what ends it.
type hold struct {
	token   int64
	release func(ctx context.Context) error
}

// acquire acquires an object of one kind, or tries to.
type acquire func(ctx context.Context, c *primitives.Client, name string, try bool) (hold, error)

// kinds are the objects that one holder has at a time.
var kinds = map[string]acquire{
	"lock":   locker(func(c *primitives.Client, name string) takes { return c.NewLock(name, nil) }),
	"fenced": locker(func(c *primitives.Client, name string) takes { return c.NewFencedLock(name, nil) }),
	"spin":   locker(func(c *primitives.Client, name string) takes { return c.NewSpinLock(name, nil) }),
	"fair":   locker(func(c *primitives.Client, name string) takes { return c.NewFairLock(name, nil) }),
	"write":  locker(func(c *primitives.Client, name string) takes { return c.NewReadWriteLock(name, nil).WriteLock() }),
	"mutex":  locker(func(c *primitives.Client, name string) takes { return c.NewMutex(name, nil) }),
	"multi": locker(func(c *primitives.Client, name string) takes {
		return primitives.NewMultiLock(c.NewLock(name+"a", nil), c.NewLock(name+"b", nil))
	}),
	"counting": counting(primitives.ByTime),
	"arrival":  counting(primitives.ByArrival),
	"permit":   permit,
	"permits":  permits,
	"election": election,
}

func init() { maps.Copy(kinds, later) }

// ordered are the kinds that are granted in the order of their waiters.
var ordered = []string{"fair", "mutex", "arrival"}

// takes is a lock.
type takes interface {
	Lock(ctx context.Context) (*primitives.Lease, error)
	TryLock(ctx context.Context) (*primitives.Lease, error)
}

func locker(of func(c *primitives.Client, name string) takes) acquire {
	return func(ctx context.Context, c *primitives.Client, name string, try bool) (hold, error) {
		if try {
			return leased(of(c, name).TryLock(ctx))
		}
		return leased(of(c, name).Lock(ctx))
	}
}

// leased returns the hold of a lease.
func leased(lease *primitives.Lease, err error) (hold, error) {
	if err != nil {
		return hold{}, err
	}
	return hold{lease.Token(), lease.Release}, nil
}

// slot is a counting semaphore with one slot, as a lock.
type slot struct{ *primitives.CountingSemaphore }

func (s slot) Lock(ctx context.Context) (*primitives.Lease, error)    { return s.Acquire(ctx) }
func (s slot) TryLock(ctx context.Context) (*primitives.Lease, error) { return s.TryAcquire(ctx) }

func counting(order primitives.CountingOrder) acquire {
	return locker(func(c *primitives.Client, name string) takes {
		return slot{c.NewCountingSemaphore(name, 1, &primitives.CountingSemaphoreOptions{Order: order})}
	})
}

func permits(ctx context.Context, c *primitives.Client, name string, try bool) (hold, error) {
	s := c.NewPermitSemaphore(name, nil)
	if _, err := s.InitPermits(ctx, 1); err != nil {
		return hold{}, err
	}
	if try {
		return leased(s.TryAcquire(ctx, 1))
	}
	return leased(s.Acquire(ctx, 1))
}

func permit(ctx context.Context, c *primitives.Client, name string, try bool) (hold, error) {
	s := c.NewSemaphore(name, nil)
	if _, err := s.InitPermits(ctx, 1); err != nil {
		return hold{}, err
	}
	take := s.Acquire
	if try {
		take = s.TryAcquire
	}
	return hold{release: func(ctx context.Context) error { return s.Release(ctx, 1) }}, take(ctx, 1)
}

// election leads until the hold is released. A candidate that cannot wait asks who leads, since an election has no
// attempt without a wait.
func election(ctx context.Context, c *primitives.Client, name string, try bool) (hold, error) {
	e := c.NewElection(name, nil)
	if try {
		if _, err := e.Leader(ctx); err == nil {
			return hold{}, primitives.ErrNotAcquired
		}
	}
	return working(ctx, func(ctx context.Context, until func(context.Context, int64) error) error {
		return e.Run(ctx, func(ctx context.Context, lease *primitives.Lease) error { return until(ctx, lease.Token()) })
	})
}

// working returns the hold of work under a lease, which calls until. The release ends its context.
func working(
	ctx context.Context, work func(ctx context.Context, until func(ctx context.Context, token int64) error) error,
) (hold, error) {
	ctx, cancel := context.WithCancel(ctx)
	begun, over := make(chan int64, 1), make(chan error, 1)
	go func() {
		over <- work(ctx, func(ctx context.Context, token int64) error {
			begun <- token
			<-ctx.Done()
			return ctx.Err()
		})
	}()
	select {
	case token := <-begun:
		return hold{token, func(context.Context) error { cancel(); <-over; return nil }}, nil
	case err := <-over:
		cancel()
		return hold{}, errors.Join(errors.New("the work has ended"), err)
	}
}

// calls are the methods of objects that several processes share. Each returns its result as text.
var calls = map[string]func(ctx context.Context, c *primitives.Client, name string) string{
	"latch.init": func(ctx context.Context, c *primitives.Client, name string) string {
		return result(c.NewCountDownLatch(name).InitCount(ctx, 2))
	},
	"latch.count": func(ctx context.Context, c *primitives.Client, name string) string {
		return result(c.NewCountDownLatch(name).CountDown(ctx))
	},
	"latch.wait": func(ctx context.Context, c *primitives.Client, name string) string {
		return said("open", c.NewCountDownLatch(name).Wait(ctx))
	},
	"long.add": func(ctx context.Context, c *primitives.Client, name string) string {
		return result(c.NewAtomicLong(name).Increment(ctx))
	},
	"double.add": func(ctx context.Context, c *primitives.Client, name string) string {
		return result(c.NewAtomicDouble(name).Add(ctx, 0.5))
	},
	"id.next": func(ctx context.Context, c *primitives.Client, name string) string {
		_, _ = c.NewIDGenerator(name).Init(ctx, 1, 10)
		return result(c.NewIDGenerator(name).Next(ctx))
	},
	"rate.try": tryRate,
	"job.try":  tryJob,
	"read.hold": func(ctx context.Context, c *primitives.Client, name string) string {
		_, err := c.NewReadWriteLock(name, nil).ReadLock().Lock(ctx)
		return said("granted", err)
	},
	"adder.add": func(ctx context.Context, c *primitives.Client, name string) string {
		a, err := c.OpenLongAdder(ctx, name)
		if err == nil {
			a.Increment()
		}
		return said("added", err)
	},
	"adder.sum": func(ctx context.Context, c *primitives.Client, name string) string {
		a, err := c.OpenLongAdder(ctx, name)
		if err != nil {
			return said("", err)
		}
		defer func() { _ = a.Close() }()
		return result(a.Sum(ctx))
	},
}

func result(v any, err error) string { return said(fmt.Sprint(v), err) }

// from is the variable that names the other version, a commit. The default is the last tag; firstCommit before there
// is one.
const (
	from        = "HASP_UPGRADE_FROM"
	firstCommit = "1fc0c1e"
)

// build compiles the peer of the other version, in a work tree of its own, and returns the program.
func build(t *testing.T) (program string) {
	t.Helper()
	tag, _ := exec.Command("git", "describe", "--tags", "--abbrev=0", "--match=v*").Output()
	version, changed := cmp.Or(os.Getenv(from), strings.TrimSpace(string(tag)), firstCommit), "changed_test.go"
	tree := filepath.Join(t.TempDir(), "tree")
	run(t, ".", "git", "worktree", "add", "--quiet", "--detach", tree, version)
	t.Cleanup(func() { run(t, ".", "git", "worktree", "remove", "--force", tree) })
	folder := filepath.Join(tree, "conformance", "matrix", "upgradepeer")
	require.NoError(t, os.Mkdir(folder, 0o700))
	run(t, ".", "cp", "kinds_test.go", folder)
	if version == firstCommit {
		changed = "testdata/changed_since_1fc0c1e.go"
		maps.DeleteFunc(kinds, func(kind string, _ acquire) bool { return later[kind] != nil })
	}
	run(t, ".", "cp", changed, filepath.Join(folder, "changed_test.go"))
	program = filepath.Join(t.TempDir(), "peer")
	run(t, folder, "go", "test", "-c", "-vet=off", "-o", program, ".")
	t.Logf("mixed with %s", version)
	return program
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...) //nolint:gosec,noctx // Git, go and cp.
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %s: %s", name, args, out)
}

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

// TestPeer is the child of other tests: a process of one version of hasp. It reads orders, "number verb kind name", and
// says "number answer" for each. An order that waits delays no other.
func TestPeer(t *testing.T) {
	args, orders := cells.AsChild(t)
	lease, err := time.ParseDuration(args[1])
	require.NoError(t, err)
	opts := &primitives.Options{WatchdogLease: lease, PollInterval: time.Hour}
	p := &peer{client: cells.Named("GoRedis").Primitives(t, cells.At(args[0]), opts), calls: map[string]*call{}}
	cells.Say("0 ready")
	for order := range orders {
		words := strings.Fields(order)
		c := p.call(t.Context(), words[0])
		go func() { cells.Say(words[0], p.answer(c, words[1], words[2], words[3])) }()
	}
}

// peer is a process of one version.
type peer struct {
	client *primitives.Client

	mu    sync.Mutex
	calls map[string]*call // by the orders' numbers
}

// call is what came of an order: a hold, if it was to acquire.
type call struct {
	hold
	ctx    context.Context //nolint:containedctx // It ends by another order.
	cancel context.CancelFunc
}

// call returns the call of an order, a new one if there is none.
func (p *peer) call(ctx context.Context, number string) *call {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls[number] == nil {
		ctx, cancel := context.WithCancel(ctx)
		p.calls[number] = &call{ctx: ctx, cancel: cancel}
	}
	return p.calls[number]
}

// answer obeys an order. The name of a release, and of an order to cancel, is the number of the order to acquire.
func (p *peer) answer(c *call, verb, kind, name string) string {
	switch verb {
	case "acquire", "try":
		h, err := kinds[kind](c.ctx, p.client, name, verb == "try")
		if c.hold = h; errors.Is(err, primitives.ErrNotAcquired) {
			return "refused"
		}
		return said(fmt.Sprint("granted ", h.token), err)
	case "release":
		return said("released", p.call(c.ctx, name).release(c.ctx))
	case "cancel":
		p.call(c.ctx, name).cancel()
		return "cancelled"
	}
	return calls[verb](c.ctx, p.client, name)
}

// said returns a text, or an error's, on one line.
func said(text string, err error) string {
	if err != nil {
		text = "failed: " + err.Error()
	}
	return strings.Join(slices.Collect(strings.SplitSeq(text, "\n")), " ")
}
