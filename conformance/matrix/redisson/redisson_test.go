// Package redisson has hasp and a real Redisson client share objects.
package redisson

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/servers"
	"github.com/hasp-go/hasp/primitives"
)

// done is what a call of ours says that has gone well.
const done = "<nil>"

// tests are what is tested on each topology, by clients of both kinds.
var tests = []struct {
	name string
	run  func(ctx context.Context, t *testing.T, ours *primitives.Client, java *peer)
}{
	{"Semaphore", testSemaphore},
	{"CountDownLatch", testCountDownLatch},
	{"CountDownLatchDeletedByJava", testCountDownLatchDeletedByJava},
	{"CountDownLatchSetLater", testCountDownLatchSetLater},
	{"SemaphoreMadeByUs", testSemaphoreMadeByUs},
	{"PermitSemaphore", testPermits},
	{"PermitSemaphoreMadeByUs", testPermitsMadeByUs},
	{"PermitSemaphoreOfTheDead", testPermitsOfTheDead},
	{"IDGenerator", testIDGenerator},
	{"RateLimiter", testRateLimiter},
	{"RateLimiterWindows", testRateLimiterWindows},
	{"LongAdder", testLongAdder},
	{"LongAdderUnderAPrefix", testLongAdderUnderAPrefix},
	{"LongAdderInAnotherDatabase", testLongAdderInAnotherDatabase},
	{"DoubleAdder", testDoubleAdder},
	{"AtomicLong", testAtomicLong},
	{"AtomicDouble", testAtomicDouble},
	{"Locks", testLocks},
	{"ReadWriteLock", testReadWriteLock},
	{"Revoked", testRevoked},
	{"Killed", testKilled},
	{"Contention", testContention},
}

// TestShared has both share objects on a server, and in a cluster of three. Ours does not poll: it is woken
// by messages.
func TestShared(t *testing.T) {
	if before(3, 22) {
		t.Log("left out: fenced locks, which are others before 3.22")
		delete(kinds, "fenced")
	}
	for name, topology := range map[string]func(testing.TB, servers.Kind) *cells.Target{
		"Standalone": cells.Standalone, "Cluster": cells.Cluster,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			libraries(t) // It skips.
			java := startPeer(t, topology(t, servers.Redis).Client())
			ours := cells.Named("Rueidis").Primitives(t, java.at, &primitives.Options{PollInterval: time.Hour})
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) {
					if java.at.Cluster && strings.Contains(test.name, "Adder") && before(3, 28) {
						t.Skip("before 3.28 adders use PUBLISH in a cluster, which counts the receivers of one node")
					}
					java.t = t
					test.run(bounded(t), t, ours, java)
				})
			}
		})
	}
}

// TestRedLock has both share a red lock on three servers.
func TestRedLock(t *testing.T) {
	t.Parallel()
	libraries(t) // It skips.
	var all cells.Client
	var clients []*primitives.Client
	var parts []*primitives.Lock
	for i := range 3 {
		at := cells.Standalone(t, servers.Redis).Client()
		all.Addrs = append(all.Addrs, at.Addrs...)
		clients = append(clients, cells.Named("Rueidis").Primitives(t, at, nil))
		parts = append(parts, clients[i].NewLock("red", nil))
	}
	java, ours := startPeer(t, all), clients[0]
	lock := joint{primitives.NewRedLock(clients, "red", nil), parts}
	java.takesTurns(bounded(t), ours, "red", "red", lock)
	c := contest{java, ours, map[string][]<-chan string{}}
	ctx, cancel := context.WithTimeout(t.Context(), contention+patience)
	defer cancel()
	c.enter(ctx, "red", "red", alone, lock)
	c.end()
}

// bounded returns a context for what is not meant to take long.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func testSemaphore(ctx context.Context, t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	for _, name := range []string{"permits", "a{permits}b"} {
		s := ours.NewSemaphore(name, nil)
		java.does("true", "semaphore.trySetPermits", name, 5)
		require.NoError(t, s.Acquire(ctx, 3))
		java.does("2", "semaphore.availablePermits", name)

		theirs := java.begin("semaphore.acquire", name, 3)
		java.waits(theirs)
		require.NoError(t, s.Release(ctx, 1))
		java.await(theirs, "acquired")
		theirs = java.begin("semaphore.acquire", name, 2)
		java.waits(theirs)
		require.NoError(t, s.AddPermits(ctx, 2))
		java.await(theirs, "acquired")

		for method, answer := range map[string]string{
			"semaphore.release": "released", "semaphore.addPermits": "added",
		} {
			mine := begin(func() error { return s.Acquire(ctx, 2) })
			java.waits(mine)
			java.does(answer, method, name, 2)
			java.await(mine, done)
		}

		require.NoError(t, s.AddPermits(ctx, -3))
		java.does("-3", "semaphore.availablePermits", name)
		java.does("added", "semaphore.addPermits", name, 10)
		cells.Want(t, 7)(s.DrainPermits(ctx))
		java.does("0", "semaphore.drainPermits", name)
	}
}

func testCountDownLatch(ctx context.Context, t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	for _, name := range []string{"latch", "a{latch}b"} {
		if java.at.Cluster && name != "latch" {
			// Its channel has braces around the name, and is in another slot.
			java.refuses("CROSSSLOT", "latch.trySetCount", name, 2)
			continue
		}
		latch := ours.NewCountDownLatch(name)
		for _, last := range []func(){
			func() { cells.Want(t, int64(0))(latch.CountDown(ctx)) },
			func() { java.does("counted", "latch.countDown", name) },
			func() { cells.Want(t, true)(latch.Delete(ctx)) },
		} {
			java.does("true", "latch.trySetCount", name, 2)
			theirs := java.begin("latch.await", name)
			mine := begin(func() error { return latch.Wait(ctx) })
			java.waits(theirs)
			java.waits(mine)
			cells.Want(t, int64(1))(latch.CountDown(ctx))
			java.does("1", "latch.getCount", name)
			last()
			java.await(theirs, "open")
			java.await(mine, done)
		}
	}
}

// testCountDownLatchDeletedByJava wakes us, though Redisson publishes a new count then, on which its own waiters sleep.
func testCountDownLatchDeletedByJava(ctx context.Context, t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	java.does("true", "latch.trySetCount", "deleted", 2)
	mine := begin(func() error { return ours.NewCountDownLatch("deleted").Wait(ctx) })
	java.waits(mine)
	java.does("true", "latch.delete", "deleted")
	java.await(mine, done)
}

// testCountDownLatchSetLater has us wait until Java has set a latch. Then Java waits for one that we have
// set with a TTL.
func testCountDownLatchSetLater(ctx context.Context, t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	latch := ours.NewCountDownLatch("later")
	mine := begin(func() error { return latch.WaitUntilSet(ctx) })
	java.waits(mine)
	java.does("true", "latch.trySetCount", "later", 1)
	java.await(mine, done)
	cells.Want(t, int64(0))(latch.CountDown(ctx))
	cells.Want(t, true)(latch.InitCountWithTTL(ctx, 2, time.Hour))
	java.does("false", "latch.trySetCount", "later", 5)
	theirs := java.begin("latch.await", "later")
	java.does("counted", "latch.countDown", "later")
	require.Greater(t, cells.Got(latch.TTL(ctx))(t), time.Minute)
	java.waits(theirs)
	cells.Want(t, int64(0))(latch.CountDown(ctx))
	java.await(theirs, "open")
}

// testSemaphoreMadeByUs has Java wait for a semaphore that is not there until we acquire from it.
func testSemaphoreMadeByUs(ctx context.Context, t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	for _, name := range []string{"made", "a{made}b"} {
		theirs := java.begin("semaphore.acquire", name, 2)
		java.waits(theirs)
		s := ours.NewSemaphore(name, &primitives.SemaphoreOptions{Permits: 3})
		require.NoError(t, s.Acquire(ctx, 1))
		java.await(theirs, "acquired")
		java.does("0", "semaphore.availablePermits", name)
		mine := begin(func() error { return s.Acquire(ctx, 1) })
		java.waits(mine)
		java.does("released", "semaphore.release", name, 2)
		java.await(mine, done)
		require.NoError(t, s.Release(ctx, 1))
		java.does("2", "semaphore.drainPermits", name)
	}
}

// testIDGenerator has both draw from one generator, which either has initialized.
func testIDGenerator(ctx context.Context, t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	theirs, mine, plain := ours.NewIDGenerator("theirs"), ours.NewIDGenerator("a{mine}b"), ours.NewIDGenerator("plain")
	java.does("true", "ids.tryInit", "theirs", 100, 3)
	cells.Want(t, false)(theirs.Init(ctx, 1, 1))
	cells.Want(t, true)(mine.Init(ctx, 100, 3))
	java.does("false", "ids.tryInit", "a{mine}b", 1, 1)
	for name, g := range map[string]*primitives.IDGenerator{"theirs": theirs, "a{mine}b": mine} {
		for _, id := range []int64{100, 101} {
			cells.Want(t, id)(g.Next(ctx))
		}
		for _, id := range []string{"103", "104", "105", "106"} {
			java.does(id, "ids.nextId", name)
		}
		for _, id := range []int64{102, 109} {
			cells.Want(t, id)(g.Next(ctx))
		}
	}
	java.does("1", "ids.nextId", "plain")
	cells.Want(t, int64(5001))(plain.Next(ctx))
	java.does("2", "ids.nextId", "plain")
}

func testAtomicLong(ctx context.Context, t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	long := ours.NewAtomicLong("long")
	java.does("0", "long.get", "long")
	require.NoError(t, long.Store(ctx, math.MaxInt64-1))
	java.does("9223372036854775807", "long.addAndGet", "long", 1)
	cells.Want(t, true)(long.CompareAndSwap(ctx, math.MaxInt64, math.MinInt64))
	java.does("-9223372036854775808", "long.getAndSet", "long", 5)
	java.does("true", "long.expire", "long", 3_600_000)
	cells.Want(t, int64(7))(long.Add(ctx, 2))
	require.Greater(t, cells.Got(long.TTL(ctx))(t), time.Minute)
	cells.Want(t, int64(7))(long.Swap(ctx, 8))
	java.does("-1", "long.remainTimeToLive", "long")
	java.does("8", "long.getAndDelete", "long")
	java.does("true", "long.compareAndSet", "long", 0, 4)
	cells.Want(t, int64(4))(long.LoadAndDelete(ctx))
}

func testAtomicDouble(ctx context.Context, t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	double := ours.NewAtomicDouble("double")
	for text, value := range map[string]float64{
		"0.1": 0.1, "-4.398046511104125E12": -4398046511104.125, "1.0E300": 1e300, "-1.0E-7": -1e-7,
		"4.9E-324": 5e-324, "1.0E16": 1e16,
	} {
		require.NoError(t, double.Store(ctx, value))
		java.does(text, "double.get", "double")
		java.does("set", "double.set", "double", text)
		cells.Want(t, true)(double.CompareAndSwap(ctx, value, 0.1))
		java.does("0.3", "double.addAndGet", "double", 0.2)
		require.InDelta(t, 0.3, cells.Got(double.Load(ctx))(t), 0)
	}
}
