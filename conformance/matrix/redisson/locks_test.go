package redisson

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// locker is a lock, or one side of one.
type locker interface {
	Lock(ctx context.Context) (*primitives.Lease, error)
	TryLock(ctx context.Context) (*primitives.Lease, error)
	IsLocked(ctx context.Context) (bool, error)
}

// kinds are the locks that one holder has at a time, by the peer's name.
var kinds = map[string]func(c *primitives.Client, name string) locker{
	"lock":   func(c *primitives.Client, name string) locker { return c.NewLock(name, nil) },
	"fair":   func(c *primitives.Client, name string) locker { return c.NewFairLock(name, nil) },
	"fenced": func(c *primitives.Client, name string) locker { return c.NewFencedLock(name, nil) },
	"spin":   func(c *primitives.Client, name string) locker { return c.NewSpinLock(name, nil) },
	"multi":  multiLock,
	"write":  writeLock,
}

// joint is a lock of several, which does not tell whether it is locked: its parts do.
type joint struct {
	primitives.Locker
	parts []*primitives.Lock
}

// IsLocked reports whether all parts are locked: of those that are not, another may take enough.
func (j joint) IsLocked(ctx context.Context) (bool, error) {
	for _, part := range j.parts {
		if locked, err := part.IsLocked(ctx); err != nil || !locked {
			return false, err
		}
	}
	return true, nil
}

func multiLock(c *primitives.Client, name string) locker {
	first, second := c.NewLock(name, nil), c.NewLock(name+"-too", nil)
	return joint{primitives.NewMultiLock(first, second), []*primitives.Lock{first, second}}
}

func writeLock(c *primitives.Client, name string) locker {
	return c.NewReadWriteLock(name, nil).WriteLock()
}

func readLock(c *primitives.Client, name string) locker {
	return c.NewReadWriteLock(name, nil).ReadLock()
}

// testLocks has both sides take turns at each kind.
func testLocks(_ context.Context, t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	for kind, lockOf := range kinds {
		for _, name := range []string{kind, "a{" + kind + "}b"} {
			java.takesTurns(bounded(t), ours, kind, name, lockOf(ours, name))
		}
	}
}

// takesTurns: each side sees that the other has a lock, waits for it, and is woken.
func (p *peer) takesTurns(ctx context.Context, ours *primitives.Client, kind, name string, lock locker) {
	p.t.Helper()
	asked := kind
	if _, ok := lock.(joint); ok {
		asked = "lock" // The first one.
	}
	open, section := p.enters(ctx, ours, kind, name, lock)
	lease, mine := beginLock(ctx, lock)
	p.waits(mine)
	open()
	p.await(section, "left")
	p.await(mine, done)
	p.does("true", asked+".isLocked", name)
	p.does("false", kind+".tryLock", name)
	section = p.begin(kind+".section", name, "open")
	p.waits(section)
	require.NoError(p.t, (*lease).Release(ctx))
	p.await(section, "left")
}

// enters has Redisson lock until open is called, and returns when ours can see that it has.
func (p *peer) enters(
	ctx context.Context, ours *primitives.Client, kind, name string, lock locker,
) (open func(), section <-chan string) {
	p.t.Helper()
	stayName := fmt.Sprintf("stay-%s-%x", kind, name) // In a cluster a latch has no braces.
	stay := ours.NewCountDownLatch(stayName)
	cells.Want(p.t, true)(stay.InitCount(ctx, 1))
	section = p.begin(kind+".section", name, stayName)
	require.Eventually(p.t, func() bool {
		locked, err := lock.IsLocked(ctx)
		return err == nil && locked
	}, patience, 10*time.Millisecond)
	return func() { cells.Want(p.t, int64(0))(stay.CountDown(ctx)) }, section
}

// beginLock begins a Lock of ours. The lease is there when it has ended.
func beginLock(ctx context.Context, lock locker) (lease **primitives.Lease, ended <-chan string) {
	lease = new(*primitives.Lease)
	return lease, begin(func() (err error) { *lease, err = lock.Lock(ctx); return err })
}

// testReadWriteLock: readers of both sides are in together, and keep writers of both sides out.
func testReadWriteLock(ctx context.Context, t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	for _, name := range []string{"x", "a{x}b"} {
		read, write := readLock(ours, name), writeLock(ours, name)
		reader := cells.Got(read.Lock(ctx))(t)
		open, theirReader := java.enters(ctx, ours, "read", name, read)
		writer, mine := beginLock(ctx, write)
		java.waits(mine)
		java.does("false", "write.tryLock", name)
		require.NoError(t, reader.Release(ctx))
		java.waits(mine)
		open()
		java.await(theirReader, "left")
		java.await(mine, done)
		theirReader, theirWriter := java.begin("read.section", name, "open"), java.begin("write.section", name, "open")
		java.waits(theirReader)
		java.waits(theirWriter)
		require.NoError(t, (*writer).Release(ctx))
		java.await(theirReader, "left")
		java.await(theirWriter, "left")
		open, theirWriter = java.enters(ctx, ours, "write", name, write)
		require.ErrorIs(t, cells.Err(read.TryLock(ctx)), primitives.ErrNotAcquired)
		_, mine = beginLock(ctx, read)
		java.waits(mine)
		open()
		java.await(theirWriter, "left")
		java.await(mine, done)
	}
}

// contention is how long both sides contend.
const contention = 30 * time.Second

// testContention: clients of both sides lock and unlock for a while, all get in, and nobody is in beside one
// who is to be in alone.
func testContention(_ context.Context, t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	c := contest{java, ours, map[string][]<-chan string{}}
	ctx, cancel := context.WithTimeout(t.Context(), contention+patience)
	defer cancel()
	open, _ := java.enters(ctx, ours, "fair", "fair", kinds["fair"](ours, "fair"))
	for kind, lockOf := range kinds {
		c.enter(ctx, kind, kind, alone, lockOf(ours, kind))
	}
	open() // A queue that is not empty for longer than Java's lease and timeout keeps Java's waiters.
	c.enter(ctx, "read", "write", 1, readLock(ours, "write"))
	c.end()
}

// contest is a while of contention.
type contest struct {
	java  *peer
	ours  *primitives.Client
	ended map[string][]<-chan string
}

// enter begins three contenders of each side.
func (c *contest) enter(ctx context.Context, kind, name string, weight int64, lock locker) {
	for range 3 {
		mine := make(chan string, 1)
		go func() { mine <- contend(ctx, lock, weight, c.ours.NewAtomicLong("inside-"+name)) }()
		c.ended["our "+kind] = append(c.ended["our "+kind], mine)
		c.ended["their "+kind] = append(c.ended["their "+kind], c.java.begin(
			kind+".contend", name, "inside-"+name, contention.Milliseconds()))
	}
}

// end requires that each contender was in, and that no two were who may not.
func (c *contest) end() {
	t := c.java.t
	t.Helper()
	for who, answers := range c.ended {
		for _, answer := range answers {
			var times int
			got := cells.Within(t, contention+patience, who, answer)
			require.NoError(t, cells.Err(fmt.Sscanf(got, "contended %d", &times)), "%s: %s", who, got)
			require.Positive(t, times, who)
			t.Logf("%s was in %d times", who, times)
		}
	}
}

// alone is what one who is in alone counts for; a reader counts for 1.
const alone = 1000

// contend enters and leaves for a while, and returns how often. A number says who is in.
func contend(ctx context.Context, lock locker, weight int64, inside *primitives.AtomicLong) string {
	times := 0
	for end := time.Now().Add(contention); time.Now().Before(end); times++ {
		if err := enter(ctx, lock, weight, inside); err != nil {
			return err.Error()
		}
		if weight < alone { // If readers overlapped all the time, writers would starve.
			time.Sleep(rand.N(40 * time.Millisecond)) //nolint:gosec // A schedule.
		}
	}
	return fmt.Sprint("contended ", times)
}

func enter(ctx context.Context, lock locker, weight int64, inside *primitives.AtomicLong) error {
	lease, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	now, err := inside.Add(ctx, weight)
	if err != nil {
		return err
	}
	if weight == alone && now != alone || weight < alone && now >= alone {
		return fmt.Errorf("overlap: %d", now)
	}
	time.Sleep(rand.N(3 * time.Millisecond)) //nolint:gosec // A schedule.
	if _, err := inside.Add(ctx, -weight); err != nil {
		return err
	}
	return lease.Release(ctx)
}

// testRevoked has Java wait for locks that ours revokes: it enters when the lease has ended, and not before.
func testRevoked(_ context.Context, t *testing.T, _ *primitives.Client, java *peer) {
	t.Helper()
	ours := cells.Named("Rueidis").Primitives(t, java.at, &primitives.Options{WatchdogLease: 3 * time.Second})
	for kind, lockOf := range map[string]func(*primitives.Client, string) locker{
		"lock": kinds["lock"], "fair": kinds["fair"], "write": writeLock, "read": readLock,
	} {
		l := lockOf(ours, kind+"-revoked").(interface {
			locker
			Revoke(ctx context.Context, owner string) (time.Duration, error)
		})
		lease := cells.Got(l.Lock(bounded(t)))(t)
		section := java.begin(strings.Replace(kind, "read", "write", 1)+".section", kind+"-revoked", "open")
		java.waits(section)
		begin := time.Now()
		left := cells.Got(l.Revoke(bounded(t), lease.Owner()))(t)
		java.await(section, "left")
		require.GreaterOrEqual(t, time.Since(begin), left-time.Millisecond)
		require.ErrorIs(t, lease.Err(), primitives.ErrLost)
	}
}
