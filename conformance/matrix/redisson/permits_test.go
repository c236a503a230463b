package redisson

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/primitives"
)

// beginPermits begins an acquire of ours.
func beginPermits(t *testing.T, s *primitives.PermitSemaphore, n int) (lease **primitives.Lease, answer <-chan string) {
	t.Helper()
	ctx, got := t.Context(), new(*primitives.Lease)
	return got, begin(func() (err error) { *got, err = s.Acquire(ctx, n); return err })
}

// ids returns those that Java's acquire answers.
func (p *peer) ids(answer <-chan string) []string {
	p.t.Helper()
	return strings.Split(p.within("the ids", answer), ",")
}

func testPermits(ctx context.Context, t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	for _, name := range []string{"lent", "a{lent}b"} {
		s := ours.NewPermitSemaphore(name, nil)
		tell := java.teller(ctx, "permits", name, map[string]any{"ours": s}).tell
		tell("theirs trySetPermits 3 = true; ours InitPermits 5 = false")
		mine := cells.Got(s.Acquire(ctx, 2))(t)
		tell("theirs availablePermits = 1; theirs acquiredPermits = 2")
		theirs := java.begin("permits.acquire", name, 2, 0)
		java.waits(theirs)
		require.NoError(t, mine.Release(ctx))
		ids := java.ids(theirs)
		require.Len(t, ids, 2)
		tell("ours AcquiredPermits = 2; ours TotalPermits = 3")

		got, answer := beginPermits(t, s, 2)
		java.waits(answer)
		tell("theirs tryRelease " + ids[0] + " = 1")
		java.await(answer, done)
		id := cells.Got(primitives.ParsePermitID(ids[1]))(t)
		cells.Want(t, primitives.NoExpiry)(s.Remaining(ctx, id))
		require.NoError(t, s.Release(ctx, id))
		require.ErrorIs(t, s.Release(ctx, id), primitives.ErrNotHeld)
		tell("theirs tryRelease " + ids[1] + " = 0")
		require.NoError(t, (*got).Release(ctx))

		one := cells.Got(s.Acquire(ctx, 1))(t)
		held := s.IDs(one)[0].String()
		tell("theirs updateLeaseTime " + held + " 60000 = true; theirs tryRelease " + held + " = 1")
		require.ErrorIs(t, one.Release(ctx), primitives.ErrLost)
		if java.does("set", "permits.setPermits", name, 1) {
			tell("ours AvailablePermits = 1")
		}
		tell("ours SetPermits 4; theirs getPermits = 4; theirs addPermits 1 = added; ours AvailablePermits = 5; " +
			"ours Delete = true; theirs getPermits = 0")
	}
}

// testPermitsMadeByUs has Java wait for a semaphore that is not there until we acquire from it, and for the
// end of a lease of ours; and us for the end of one of Java's.
func testPermitsMadeByUs(ctx context.Context, t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	theirs := java.begin("permits.acquire", "lent-new", 1, 0)
	java.waits(theirs)
	s := ours.NewPermitSemaphore("lent-new", &primitives.PermitSemaphoreOptions{Permits: 2, Lease: time.Second})
	require.NoError(t, cells.Err(s.Acquire(ctx, 1)))
	first := java.ids(theirs)
	second := java.ids(java.begin("permits.acquire", "lent-new", 1, 1000)) // when our lease has ended
	require.NotEqual(t, first, second)
	held, err := s.Acquire(ctx, 1) // when Java's has
	require.NoError(t, err)
	require.NoError(t, held.Release(ctx))
	java.does("1", "permits.tryRelease", "lent-new", first[0])
	java.does("2", "permits.availablePermits", "lent-new")
}

// testPermitsOfTheDead kills a process of each side, by kill -9, that holds all permits.
func testPermitsOfTheDead(_ context.Context, t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	victim := startPeer(t, java.at) // A JVM takes a while, which the bound leaves out.
	ctx := bounded(t)
	s := ours.NewPermitSemaphore("lent-dead", &primitives.PermitSemaphoreOptions{Permits: 2})
	cells.Want(t, true)(s.InitPermits(ctx, 2))
	require.Len(t, victim.ids(victim.begin("permits.acquire", "lent-dead", 2, 5000)), 2)
	got, answer := beginPermits(t, s, 2)
	victim.kill()
	java.await(answer, done)
	require.NoError(t, (*got).Release(ctx))

	ourVictim := cells.StartChild(t, os.Args[0], "TestPermitVictim", java.at.Addrs...)
	require.Equal(t, "holds", ourVictim.Next(t))
	theirs := java.begin("permits.acquire", "lent-dead", 2, 0)
	java.waits(theirs)
	ourVictim.Kill(t)
	require.Len(t, java.ids(theirs), 2)
}

// TestPermitVictim is our process that is killed: it holds permits.
func TestPermitVictim(t *testing.T) {
	addrs, _ := cells.AsChild(t)
	c := cells.Named("Rueidis").Primitives(t, cells.Client{Addrs: addrs, Cluster: len(addrs) > 1},
		&primitives.Options{WatchdogLease: time.Second})
	require.NoError(t, cells.Err(c.NewPermitSemaphore("lent-dead", nil).Acquire(t.Context(), 2)))
	cells.Say("holds")
	select {}
}

// shorten makes a key expire in a minute, and returns when it would have expired.
func shorten(t *testing.T, java *peer, key string) time.Duration {
	t.Helper()
	const source = "local ttl = redis.call('pttl', KEYS[1]); redis.call('pexpire', KEYS[1], 60000); return ttl"
	s := backend.NewScript("shorten", source, 1, backend.RetryNever)
	reply := cells.Got(cells.Named("Rueidis").Backend(t, java.at).Run(t.Context(), s, []string{key}, nil))(t)
	return cells.Got(reply.Duration(time.Millisecond))(t)
}

// testRateLimiterWindows: callers of both sides acquire for a while, and all are served. No window has more
// grants than the rate, by the times that both have stored. A Java process stores when it began to ask, which
// may be a while before the server looks: windows are shorter by that.
func testRateLimiterWindows(ctx context.Context, t *testing.T, ours *primitives.Client, java *peer) {
	t.Helper()
	const name, permits, interval, aLook = "windows", 30, 500 * time.Millisecond, 100 * time.Millisecond
	const long = 6 * time.Second
	l := ours.NewRateLimiter(name, primitives.Rate{}, &primitives.RateLimiterOptions{Unavailable: primitives.Refuse(), Timeout: time.Hour})
	require.NoError(t, l.SetRate(ctx, primitives.Rate{Permits: permits, Interval: interval}))
	answers := map[string]<-chan string{}
	for i := range 3 {
		answers[fmt.Sprint("their ", i)] = java.begin("rate.acquire", name, long.Milliseconds())
		mine := make(chan string, 1)
		go func() { mine <- acquireFor(l, long) }()
		answers[fmt.Sprint("our ", i)] = mine
	}
	grants, looks := map[string]int64{}, cells.Named("Rueidis").Backend(t, java.at)
	for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(interval / 10) {
		look(t, looks, "{"+name+"}:permits", grants)
	}
	for who, answer := range answers {
		var times int
		got := cells.Within(t, patience, who, answer)
		require.NoError(t, cells.Err(fmt.Sscanf(got, "acquired %d", &times)), "%s: %s", who, got)
		require.Positive(t, times, who)
		t.Logf("%s acquired %d permits", who, times)
	}
	most := int64(0)
	for _, first := range grants {
		within := int64(0)
		for member, at := range grants {
			if at >= first && at < first+(interval-aLook).Milliseconds() {
				within += int64(binary.LittleEndian.Uint32([]byte(member[len(member)-4:])))
			}
		}
		most = max(most, within)
	}
	t.Logf("%d grants, up to %d in %v; the rate is %d in %v", len(grants), most, interval-aLook, permits, interval)
	require.LessOrEqual(t, most, int64(permits))
}

var readGrants = backend.NewScript("read_grants",
	"return redis.call('zrange', KEYS[1], 0, -1, 'withscores')", 1, backend.RetryReadOnly)

// look adds the grants that there are, with their times.
func look(t *testing.T, b backend.Backend, key string, grants map[string]int64) {
	t.Helper()
	reply := cells.Got(b.Run(t.Context(), readGrants, []string{key}, nil))(t)
	items := cells.Got(reply.Items())(t)
	for i := 0; i < len(items); i += 2 {
		member := cells.Got(items[i].Text())(t)
		grants[member] = cells.Got(items[i+1].Int())(t)
	}
}

// acquireFor acquires one permit after the other for a while, and returns how many.
func acquireFor(l *primitives.RateLimiter, long time.Duration) string {
	times := 0
	for end := time.Now().Add(long); time.Now().Before(end); times++ {
		if err := l.Wait(context.Background(), 1); err != nil {
			return err.Error()
		}
		time.Sleep(rand.N(3 * time.Millisecond)) //nolint:gosec // A schedule.
	}
	return fmt.Sprint("acquired ", times)
}
