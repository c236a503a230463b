package primitives_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/primitives"
)

// The keys of the fair lock called x.
const fairQueue, fairTimeouts, fairDeadlines = "redisson_lock_queue:{x}", "redisson_lock_timeout:{x}", "hasp_lock_deadline:{x}"

// batches are numbers at which scripts begin another batch, and what n of them must come to.
var batches = map[string]struct {
	of   string // the script
	most int
	test func(t *testing.T, s *server, n int)
}{
	"dead before a try":    {"fair_queue", 1000, deadBeforeATry},
	"dead before a leaver": {"fair_queue", 1000, deadBeforeALeaver},
	"scores fall":          {"fair_queue", 1000, scoresFall},
	"deadlines, set right": {"fair_heal", 1000, deadlinesSetRight},
	"places, set right":    {"arrival", 1000, placesSetRight},
	"dead before a mutex":  {"mutex", 1000, deadBeforeAMutex},
	"signs of the dead":    {"mutex", 100, deadBeforeAMutex},
	"beats of one client":  {"mutex_beat", 100, beatsOfOneClient},
	"permits":              {"permit_store permit_give_back", 999, permitsTogether}, // a call takes a thousand at most
}

// TestBatches has each batch once less, once as many, and once one more, in what it is for. A script with a bound of three or four
// figures, or with as many words as it has found, has a row.
func TestBatches(t *testing.T) {
	t.Parallel()
	tested := "rate inspect_keys " // as TestRateLimiterCountsGrants and TestInspect do
	for name, b := range batches {
		tested += b.of + " "
		for n := b.most - 1; n <= b.most+1; n++ {
			subtest(t, fmt.Sprint(name, " ", n), func(t *testing.T, s *server) { b.test(t, s, n) })
		}
	}
	bounds := regexp.MustCompile(`(?m)(?:< |== |, )\d{3,4}(?: do$| or |,|$| - )|unpack\(\w+[,)]`)
	for _, path := range must(filepath.Glob(scriptDir + "*.lua"))(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".lua")
		if found := bounds.Find(must(os.ReadFile(path))(t)); found != nil {
			require.Contains(t, strings.Fields(tested), name, "it has no row: %s", found)
		}
	}
}

// fill runs a script over KEYS for each i from 1 to n, with the time in milliseconds as now.
func (s *server) fill(n int, script string, keys ...string) {
	text := fmt.Sprintf("local now = %d for i = 1, %d do local w = 'w.1000:' .. i %s end", time.Now().UnixMilli(), n, script)
	s.do(append([]string{"EVAL", text, strconv.Itoa(len(keys))}, keys...)...)
}

// stays requires how many elements a key has.
func (s *server) stays(t *testing.T, want int, count ...string) {
	t.Helper()
	require.Equal(t, strconv.Itoa(want), first(s.do(count...)), "%q", count)
}

const addDead = "redis.call('rpush', KEYS[1], w) redis.call('zadd', KEYS[2], now - 1000 + i / 10, w)"

// deadBeforeATry: each script passes a thousand of them.
func deadBeforeATry(t *testing.T, s *server, n int) {
	t.Helper()
	l := s.client(t, nil).NewFairLock("x", nil)
	s.fill(n, addDead, fairQueue, fairTimeouts)
	lease := must(l.TryLock(t.Context()))(t)
	require.Equal(t, 1+n/1000, s.called("fair_acquire"))
	require.NoError(t, lease.Release(t.Context()))
	s.stays(t, 0, "EXISTS", "x", fairQueue, fairTimeouts, fairDeadlines)
}

// deadBeforeALeaver: the last waiter of a free lock leaves. It wakes the first waiter that has not expired, and not itself.
func deadBeforeALeaver(t *testing.T, s *server, n int) {
	t.Helper()
	s.hold("x", another, time.Hour)
	waits := func(ctx context.Context) <-chan *primitives.Lease {
		leases, l := make(chan *primitives.Lease, 1), s.client(t, nil).NewFairLock("x", nil)
		go func() {
			lease, _ := l.Lock(ctx)
			leases <- lease
		}()
		synctest.Wait()
		return leases
	}
	ctx, leave := context.WithCancel(t.Context())
	first, last := waits(t.Context()), waits(ctx)
	time.Sleep(time.Second)
	s.fill(n, strings.Replace(addDead, "rpush", "lpush", 1), fairQueue, fairTimeouts)
	s.lose("x")
	begin := time.Now()
	leave()
	lease := <-first
	require.Less(t, time.Since(begin), 100*time.Millisecond)
	<-last
	require.NoError(t, lease.Release(t.Context()))
	s.stays(t, 0, "EXISTS", "x", fairQueue, fairTimeouts, fairDeadlines)
}

// scoresFall: when a waiter leaves, the times of all waiters behind it fall by the time that Redisson adds for each waiter.
func scoresFall(t *testing.T, s *server, n int) {
	t.Helper()
	l := s.client(t, nil).NewFairLock("x", nil)
	s.hold("x", another, time.Minute)
	ended := beside(func() error { return errOf(l.Lock(within(t, time.Second))) })
	synctest.Wait()
	before := time.Now().UnixMilli() + 600_000
	s.fill(n, "redis.call('rpush', KEYS[1], w) redis.call('zadd', KEYS[2], now + 600000, w)", fairQueue, fairTimeouts)
	require.Error(t, <-ended)
	time.Sleep(time.Second)
	s.stays(t, n, "ZCOUNT", fairTimeouts, strconv.FormatInt(before-300_000, 10), strconv.FormatInt(before-300_000, 10))
}

// deadlinesSetRight: those that are later than the clock allows, since it was set back, are as late as it allows.
func deadlinesSetRight(t *testing.T, s *server, n int) {
	t.Helper()
	s.fill(n, `redis.call('rpush', KEYS[1], w) redis.call('zadd', KEYS[2], now + 3600000, w)
		redis.call('hset', KEYS[3], w, now + 3600000 .. ' 5000')`, fairQueue, fairTimeouts, fairDeadlines)
	require.ErrorIs(t, errOf(s.client(t, nil).NewFairLock("x", nil).TryLock(t.Context())), primitives.ErrNotAcquired)
	for _, deadline := range s.do("HVALS", fairDeadlines) {
		require.Equal(t, fmt.Sprint(time.Now().UnixMilli()+5000, " 5000"), deadline)
	}
}

// placesSetRight: a place of a millisecond's timeout counts for half a minute.
func placesSetRight(t *testing.T, s *server, n int) {
	t.Helper()
	s.fill(n, "redis.call('zadd', KEYS[1], -now - 3600000, w) redis.call('zadd', KEYS[2], i + 1 / 4096, w)", "x", "{x}:owner")
	sem := s.client(t, nil).NewCountingSemaphore("x", 1, &primitives.CountingSemaphoreOptions{Order: primitives.ByArrival})
	require.ErrorIs(t, errOf(sem.TryAcquire(t.Context())), primitives.ErrNotAcquired)
	by := strconv.FormatInt(-time.Now().UnixMilli()-30_000, 10)
	s.stays(t, n, "ZCOUNT", "x", by, by)
}

// deadBeforeAMutex: it is granted, and nothing of them is left.
func deadBeforeAMutex(t *testing.T, s *server, n int) {
	t.Helper()
	s.fill(n, "redis.call('zadd', KEYS[1], i, w) redis.call('hset', KEYS[2], w, i .. ' 1')", "hasp_mutex:{x}:queue", "hasp_mutex:{x}:signs")
	lease := must(s.client(t, nil).NewMutex("x", nil).TryLock(t.Context()))(t)
	s.stays(t, 0, "EXISTS", "hasp_mutex:{x}:queue", "hasp_mutex:{x}:signs")
	require.NoError(t, lease.Release(t.Context()))
}

// permitsTogether: they are taken, renewed and given back.
func permitsTogether(t *testing.T, s *server, n int) {
	t.Helper()
	sem := s.client(t, nil).NewPermitSemaphore("x", &primitives.PermitSemaphoreOptions{Permits: 1001})
	lease := must(sem.TryAcquire(t.Context(), n))(t)
	time.Sleep(time.Minute)
	require.Equal(t, 1001-n, must(sem.AvailablePermits(t.Context()))(t))
	require.NoError(t, lease.Release(t.Context()))
	require.Equal(t, 1001, must(sem.AvailablePermits(t.Context()))(t))
}

// beatsOfOneClient: all of its waiters keep their places.
func beatsOfOneClient(t *testing.T, s *server, n int) {
	t.Helper()
	c := s.client(t, nil)
	s.do("SET", "hasp_mutex:{x}", another, "PX", "3600000")
	for range n {
		go c.NewMutex("x", nil).Lock(t.Context())
	}
	time.Sleep(time.Minute)
	s.stays(t, n, "ZCARD", "hasp_mutex:{x}:queue")
}
