package renew_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/batch"
	"github.com/hasp-go/hasp/primitives/internal/renew"
	"github.com/hasp-go/hasp/primitives/lease"
	"github.com/hasp-go/hasp/primitives/trace"
)

// replicas acknowledge renewals, or not.
type replicas struct {
	backend.ScriptRunner
	mu    sync.Mutex
	lag   bool
	asked []wanted
}

// wanted is what one renewal waits for.
type wanted struct {
	replicas      int
	timeout, left time.Duration
}

// Waiting implements renew.Runner.
func (r *replicas) Waiting(
	n int, timeout, left time.Duration,
) (backend.ScriptRunner, func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, wanted{n, timeout, left})
	return r, r.shortage
}

func (r *replicas) shortage() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lag {
		return fmt.Errorf("%w: 0 of 1 acknowledged", backend.ErrReplicas)
	}
	return nil
}

// stop makes the replicas acknowledge nothing, or everything again.
func (r *replicas) stop(lag bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lag = lag
}

// waitingServer returns a server with one replica, a keeper, and a lease that waits for the replica.
func waitingServer(t *testing.T) (*server, *renew.Keeper, *testEntry) {
	t.Helper()
	s := &server{replicas: new(replicas)}
	k := s.keeper(t)
	return s, k, s.acquireWaiting(t, k, "waits", 1)
}

func (s *server) acquireWaiting(t *testing.T, k *renew.Keeper, key string, replicas int) *testEntry {
	t.Helper()
	e := s.newEntry(key)
	e.Replicas, e.ReplicaTimeout = replicas, 10*time.Second
	k.Begin(&e.Entry)
	require.True(t, k.Confirm(&e.Entry))
	return e
}

// TestKeeperLosesWhatReplicasDoNotAcknowledge: renewals that the server answers, but no replica has, are failures: the
// lease ends by the clock, and other leases of the client stay.
func TestKeeperLosesWhatReplicasDoNotAcknowledge(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s, r := &server{replicas: &replicas{lag: true}}, &renewals{}
		core, logged := observer.New(zap.WarnLevel)
		s.log = zap.New(core)
		k := s.keeper(t)
		k.OnRenewal = r.add
		waits, other := s.acquireWaiting(t, k, "waits", 1), s.acquire(t, k, "other")
		start := time.Now()
		select {
		case <-waits.lost:
		case <-time.After(length):
		}
		require.Equal(t, 9*length/10, time.Since(start))
		require.Equal(t, lease.LossOutage, waits.loss.Reason)
		require.ErrorIs(t, waits.loss, lease.ErrLost)
		// Due after a third, and repeated after a tenth each time.
		require.Equal(t, []wanted{
			{1, length / 10, 17 * time.Second}, {1, length / 10, 14 * time.Second}, {1, length / 10, 11 * time.Second},
			{1, length / 10, 8 * time.Second}, {1, length / 10, 5 * time.Second}, {1, length / 10, 2 * time.Second},
		}, s.replicas.asked)
		failed := 0
		for _, renewal := range r.list() {
			if renewal.Failed > 0 {
				require.ErrorIs(t, renewal.Err, backend.ErrReplicas)
				failed++
			}
		}
		require.Equal(t, 6, failed)
		require.Equal(t, 6, logged.FilterMessage("leases not renewed").Len())
		time.Sleep(10 * length)
		require.Positive(t, k.Remaining(&other.Entry))
	})
}

// TestRoundWaitsForReplicas: a renewal at once waits for replicas as each does.
func TestRoundWaitsForReplicas(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s, k, e := waitingServer(t)
		s.replicas.stop(true)
		time.Sleep(time.Second)
		k.Changed("waits")
		time.Sleep(time.Second)
		require.Equal(t, 1, s.scripts())
		require.Len(t, s.replicas.asked, 1)
		require.Equal(t, 9*length/10-2*time.Second, k.Remaining(&e.Entry))
		s.replicas.stop(false)
		time.Sleep(length / 3)
		require.Greater(t, k.Remaining(&e.Entry), length/2)
		require.Zero(t, e.losses())
	})
}

// TestKeeperHeedsALossWithoutReplicas: the server's answer that the owner holds nothing counts, although no replica has
// acknowledged the script.
func TestKeeperHeedsALossWithoutReplicas(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s, _, e := waitingServer(t)
		s.statuses = map[string]batch.Status{"waits": batch.TakenBy("another")}
		s.replicas.stop(true)
		start := time.Now()
		select {
		case <-e.lost:
		case <-time.After(length):
		}
		require.Less(t, time.Since(start), length/2)
		require.Equal(t, &lease.LossError{Reason: lease.LossTaken, Holder: "another"}, e.loss)
	})
}

// TestKeeperWaitsForReplicasTogether renews leases that wait for the same number of replicas with one script.
func TestKeeperWaitsForReplicasTogether(t *testing.T) {
	kept(t, &server{replicas: new(replicas)}, func(t *testing.T, s *server, k *renew.Keeper) {
		for i := range 90 {
			s.acquireWaiting(t, k, fmt.Sprint("key", i), i%3)
		}
		time.Sleep(length / 3)
		synctest.Wait()
		require.Equal(t, 3, s.scripts())
		require.ElementsMatch(t, []wanted{
			{1, length / 10, 17 * time.Second}, {2, length / 10, 17 * time.Second},
		}, s.replicas.asked)
	})
}

// TestExtensionWaitsForReplicas: an extension that too few replicas acknowledge leaves the lease as it was.
func TestExtensionWaitsForReplicas(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s, k, e := waitingServer(t)
		time.Sleep(time.Second)
		s.replicas.stop(true)
		status, err := k.Extend(t.Context(), s.replicas, s, &e.Entry, 2*length, length/5)
		require.Equal(t, batch.Failed, status)
		require.ErrorIs(t, err, backend.ErrReplicas)
		require.Equal(t, 9*length/10-time.Second, k.Remaining(&e.Entry))
		require.Equal(t, wanted{1, length / 5, 26 * time.Second}, s.replicas.asked[0])

		s.replicas.stop(false)
		status, err = k.Refresh(t.Context(), s.replicas, s, &e.Entry)
		require.Equal(t, batch.Done, status)
		require.NoError(t, err)
		require.Equal(t, 9*length/10, k.Remaining(&e.Entry))
	})
}

// renewals keeps what a keeper reports.
type renewals struct {
	mu  sync.Mutex
	all []trace.Renewal
}

func (r *renewals) add(renewal trace.Renewal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, renewal)
}

func (r *renewals) list() []trace.Renewal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all
}

// TestKeeperReportsLag has more leases that are due at once than scripts may be under way: the rest are late by one
// round trip.
func TestKeeperReportsLag(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s, r := &server{latency: time.Second}, &renewals{}
		k := s.keeper(t)
		k.OnRenewal = r.add
		for i := range 3250 {
			s.acquire(t, k, fmt.Sprint("key", i))
		}
		time.Sleep(length/3 + 5*time.Second)
		require.Len(t, r.list(), 33)
		for i, renewal := range r.list() {
			want := trace.Renewal{Leases: 100, Took: time.Second}
			if i == 32 {
				want = trace.Renewal{Leases: 50, Lag: time.Second, Took: time.Second}
			}
			require.Equal(t, want, renewal, i)
		}
	})
}

// TestKeeperReportsFailures: an access list that denies a key, a server that answers nothing for one, and a lease that
// the server no longer has, which is lost.
func TestKeeperReportsFailures(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s, r := &server{
			forbidden: map[string]bool{"key0": true},
			statuses:  map[string]batch.Status{"key1": batch.Failed, "key2": batch.NotHeld},
		}, &renewals{}
		k := s.keeper(t)
		k.OnRenewal = r.add
		for i := range 10 {
			s.acquire(t, k, fmt.Sprint("key", i))
			time.Sleep(time.Millisecond) // A loss counts from a renewal that is later than the grant.
		}
		time.Sleep(length / 3)
		all := r.list()
		require.Len(t, all, 1)
		require.Equal(t, 10, all[0].Leases)
		require.Equal(t, 2, all[0].Failed)
		require.ErrorIs(t, all[0].Err, backend.ErrNoPermission)
	})
}
