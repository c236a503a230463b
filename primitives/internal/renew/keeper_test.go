package renew_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/batch"
	"github.com/hasp-go/hasp/primitives/internal/renew"
	"github.com/hasp-go/hasp/primitives/lease"
)

const length = 30 * time.Second

func TestKeeperRenewsTenThousandInAHundredScripts(t *testing.T) {
	kept(t, &server{latency: 10 * time.Millisecond}, func(t *testing.T, s *server, k *renew.Keeper) {
		var entries []*testEntry
		for i := range 10000 {
			// They are taken over five seconds: rounds are to fill up all the same.
			if i%50 == 0 {
				time.Sleep(25 * time.Millisecond)
			}
			entries = append(entries, s.acquire(t, k, fmt.Sprint("key", i)))
		}
		time.Sleep(60 * time.Second)
		rounds := float64(s.renewed()) / 10000
		require.InDelta(t, 6, rounds, 1)
		require.InDelta(t, 100, float64(s.scripts())/rounds, 10)
		for _, e := range entries {
			require.Positive(t, k.Remaining(&e.Entry))
		}
		s.set(func() { require.LessOrEqual(t, s.goroutines, 32) })
	})
}

// TestKeeperRenewsWhatIsDueAtOnceByFewGoroutines has 4 000 leases that are due in one instant, and more than that
// on a node that is silent: they do not hold up the others.
func TestKeeperRenewsWhatIsDueAtOnceByFewGoroutines(t *testing.T) {
	kept(t, &server{latency: 10 * time.Millisecond}, func(t *testing.T, s *server, k *renew.Keeper) {
		silent := &server{silent: true}
		k.NodeOf = func(key string) string { return key[:3] }
		var entries []*testEntry
		for i := range 4000 {
			entries = append(entries, s.acquire(t, k, fmt.Sprint("key", i)))
			silent.acquire(t, k, fmt.Sprint("silent", i))
		}
		time.Sleep(10 * length)
		for _, e := range entries {
			require.Positive(t, k.Remaining(&e.Entry))
			require.Zero(t, e.losses())
		}
		s.set(func() { require.Equal(t, 32, s.goroutines) })
		silent.set(func() { require.Equal(t, 32, silent.goroutines) })
	})
}

// TestKeeperKeepsABatchThatIsRefusedWhole does not search for a key what has nothing to do with one.
func TestKeeperKeepsABatchThatIsRefusedWhole(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"LOADING Redis is loading the dataset in memory", "NOAUTH Authentication required.",
		"NOPERM User u has no permissions to run the 'evalsha' command", "OOM command not allowed",
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{err: backend.ParseServerError(text)}
			k := s.keeper(t)
			for i := range 100 {
				s.acquire(t, k, fmt.Sprint("key", i))
			}
			time.Sleep(length)
			require.Positive(t, s.scripts())
			require.LessOrEqual(t, s.scripts(), 10)
		})
	}
}

func TestKeeperLosesOnlyWhatIsNotHeld(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s := &server{statuses: map[string]batch.Status{
			"gone": batch.NotHeld, "other": batch.OtherKind, "taken": batch.TakenBy("a:1"), "wrong": batch.Failed,
		}}
		k := s.keeper(t)
		good, gone, wrong := s.acquire(t, k, "good"), s.acquire(t, k, "gone"), s.acquire(t, k, "wrong")
		other, taken := s.acquire(t, k, "other"), s.acquire(t, k, "taken")
		losses := func() []int {
			return []int{good.losses(), gone.losses(), other.losses(), taken.losses(), wrong.losses()}
		}
		time.Sleep(11 * time.Second)
		require.Equal(t, []int{0, 1, 1, 1, 0}, losses())
		time.Sleep(2 * length)
		require.Equal(t, []int{0, 1, 1, 1, 1}, losses())
		require.Equal(t, &lease.LossError{Reason: lease.LossTaken, Holder: "a:1"}, taken.loss)
		for _, e := range []*testEntry{gone, other} {
			require.Equal(t, &lease.LossError{Reason: lease.LossGone}, e.loss)
		}
		require.Equal(t, &lease.LossError{Reason: lease.LossOutage}, wrong.loss)
		require.Equal(t, wrong.loss, k.Loss(&wrong.Entry))
	})
}

// TestKeeperRenewsBesideDeniedKeys looks for them by halving, in two scripts for each halving and key,
// and does not look for them again for a third of a lease.
func TestKeeperRenewsBesideDeniedKeys(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ denied, search int }{
		{1, 1 + 2*7}, {10, 1 + 2*7*10}, {50, 199}, {100, 199},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{forbidden: map[string]bool{}}
			for i := range 100 {
				s.forbidden[fmt.Sprint("key", i)] = i*c.denied/100 != (i+1)*c.denied/100
			}
			k := s.keeper(t)
			var entries []*testEntry
			for i := range 100 {
				entries = append(entries, s.acquire(t, k, fmt.Sprint("key", i)))
			}
			time.Sleep(length/3 + time.Second)
			first := s.scripts()
			require.Greater(t, first, c.denied)
			require.LessOrEqual(t, first, c.search)
			time.Sleep(length/3 - 2*time.Second)
			require.LessOrEqual(t, s.scripts(), first+8)
			time.Sleep(length)
			require.LessOrEqual(t, s.scripts(), first+c.search+20)
			for i, e := range entries {
				require.Equal(t, s.forbidden[fmt.Sprint("key", i)], e.losses() == 1, "key%d", i)
			}
		})
	}
}

// TestKeeperRenewsAKeyThatIsDeniedNoMore keeps it apart from one that still is.
func TestKeeperRenewsAKeyThatIsDeniedNoMore(t *testing.T) {
	kept(t, &server{forbidden: map[string]bool{"for now": true, "for good": true}}, func(t *testing.T, s *server, k *renew.Keeper) {
		forNow, forGood := s.acquire(t, k, "for now"), s.acquire(t, k, "for good")
		time.Sleep(length/3 + time.Second)
		require.Equal(t, 3, s.scripts())
		s.set(func() { s.forbidden = map[string]bool{"for good": true} })
		time.Sleep(2 * length)
		require.Zero(t, forNow.losses())
		require.Equal(t, 1, forGood.losses())
	})
}

// TestKeeperLateRenewalDoesNotRevive answers a renewal after the lease that it was sent for.
func TestKeeperLateRenewalDoesNotRevive(t *testing.T) {
	kept(t, &server{latency: 25 * time.Second, ignoresContext: true}, func(t *testing.T, s *server, k *renew.Keeper) {
		e := s.acquire(t, k, "key")
		<-e.lost
		time.Sleep(2 * length)
		require.Equal(t, 1, e.losses())
		require.Zero(t, k.Remaining(&e.Entry))
	})
}

func TestKeeperBatchesBySlotAndLease(t *testing.T) {
	kept(t, &server{cluster: true}, func(t *testing.T, s *server, k *renew.Keeper) {
		for i := range 20 {
			s.acquire(t, k, fmt.Sprintf("{a}%d", i))
			s.acquire(t, k, fmt.Sprintf("{b}%d", i))
		}
		short := s.newEntry("{a}short")
		short.Lease /= 2
		k.Begin(&short.Entry)
		require.True(t, k.Confirm(&short.Entry))
		time.Sleep(11 * time.Second)
		require.Equal(t, 41+1, s.renewed()) // the short one twice
		require.Equal(t, 2+2, s.scripts())
	})
}

// TestKeeperLearnsThatSlotsMatter renews on a cluster behind one endpoint, which the backend takes for one server: the
// first script is refused, and no other.
func TestKeeperLearnsThatSlotsMatter(t *testing.T) {
	kept(t, &server{cluster: true, hidden: true, latency: time.Millisecond}, func(t *testing.T, s *server, k *renew.Keeper) {
		var entries []*testEntry
		for i := range 8 {
			entries = append(entries, s.acquire(t, k, fmt.Sprintf("{a}%d", i)), s.acquire(t, k, fmt.Sprintf("{b}%d", i)))
		}
		time.Sleep(11 * time.Second)
		require.Equal(t, 1+2, s.scripts())
		time.Sleep(10 * time.Second)
		require.Equal(t, 1+2+2, s.scripts())
		time.Sleep(2 * length)
		for _, e := range entries {
			require.Zero(t, e.losses())
			require.Positive(t, k.Remaining(&e.Entry))
		}
	})
}

func TestKeeperCloseReturnsWhatIsHeld(t *testing.T) {
	kept(t, &server{silent: true}, func(t *testing.T, s *server, k *renew.Keeper) {
		e, ended, begun := s.acquire(t, k, "key"), s.acquire(t, k, "ended"), s.newEntry("begun")
		k.End(&ended.Entry)
		k.Begin(&begun.Entry)
		time.Sleep(15 * time.Second) // A renewal hangs.
		require.Equal(t, []*renew.Entry{&e.Entry}, k.Close())
		require.False(t, k.Confirm(&begun.Entry))
		time.Sleep(2 * length)
		require.Zero(t, e.losses())
	})
}

// server is what renewals reach.
type server struct {
	mu             sync.Mutex
	latency        time.Duration
	silent         bool // replies never come
	ignoresContext bool // contexts are ignored
	cluster        bool
	hidden         bool // the keeper does not know that it is a cluster
	err            error
	forbidden      map[string]bool // keys for which the server refuses a whole script
	replicas       *replicas
	log            *zap.Logger
	statuses       map[string]batch.Status
	sent           [][]string
	at             []time.Time // when each was sent
	underWay       int
	goroutines     int // renewals under way at once, at most
}

func (s *server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *server) scripts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sent)
}

func (s *server) renewed() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, keys := range s.sent {
		n += len(keys)
	}
	return n
}

// times returns when renewals of a key were sent.
func (s *server) times(key string) (all []time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, keys := range s.sent {
		if slices.Contains(keys, key) {
			all = append(all, s.at[i])
		}
	}
	return all
}

func (s *server) keeper(t *testing.T) *renew.Keeper {
	t.Helper()
	if s.log == nil {
		s.log = zap.NewNop()
	}
	var bySlot atomic.Bool
	bySlot.Store(s.cluster && !s.hidden)
	k := renew.NewKeeper(s.replicas, &bySlot, s.log)
	t.Cleanup(func() { k.Close() })
	return k
}

func (s *server) newEntry(key string) *testEntry {
	e := &testEntry{lost: make(chan struct{})}
	e.Entry = renew.Entry{
		Key: key, Owner: "owner", Terms: &renew.Terms{Lease: length, ClockDrift: length / 10, Renewer: s}, OnLost: e,
	}
	return e
}

func (s *server) acquire(t *testing.T, k *renew.Keeper, key string) *testEntry {
	t.Helper()
	e := s.newEntry(key)
	k.Begin(&e.Entry)
	require.True(t, k.Confirm(&e.Entry))
	return e
}

// Renew implements renew.Renewer.
func (s *server) Renew(
	ctx context.Context, _ backend.ScriptRunner, keys, _ []string, _ time.Duration,
) ([]batch.Status, error) {
	statuses := make([]batch.Status, len(keys))
	s.set(func() {
		s.underWay++
		s.goroutines = max(s.goroutines, s.underWay)
		for i, key := range keys {
			statuses[i] = batch.Done
			if status, ok := s.statuses[key]; ok {
				statuses[i] = status
			}
		}
		s.sent, s.at = append(s.sent, keys), append(s.at, time.Now())
	})
	defer s.set(func() { s.underWay-- })
	if err := s.answer(ctx, keys); err != nil {
		return nil, err
	}
	return statuses, nil
}

func (s *server) answer(ctx context.Context, keys []string) error {
	s.mu.Lock()
	latency, silent, err := s.latency, s.silent, s.err
	if slices.ContainsFunc(keys, func(key string) bool { return s.forbidden[key] }) {
		err = backend.ParseServerError("NOPERM No permissions to access a key")
	}
	if s.cluster && backend.SameSlot(keys) != nil {
		err = backend.ParseServerError("CROSSSLOT Keys in request don't hash to the same slot")
	}
	s.mu.Unlock()
	if silent {
		latency = 24 * time.Hour
	}
	done := ctx.Done()
	if s.ignoresContext {
		done = nil
	}
	timer := time.NewTimer(latency)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-done:
		return backend.Indeterminate(ctx.Err())
	}
	return err
}

// testEntry counts its losses.
type testEntry struct {
	renew.Entry
	mu    sync.Mutex
	count int
	loss  *lease.LossError
	lost  chan struct{}
}

func (e *testEntry) HandleLoss(loss *lease.LossError) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.count, e.loss = e.count+1, loss
	close(e.lost)
}

func (e *testEntry) losses() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.count
}

// virtual runs a test in virtual time, beside other tests.
func virtual(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

// kept is virtual with a keeper of a server's leases.
func kept(t *testing.T, s *server, test func(t *testing.T, s *server, k *renew.Keeper)) {
	t.Helper()
	virtual(t, func(t *testing.T) { test(t, s, s.keeper(t)) })
}
