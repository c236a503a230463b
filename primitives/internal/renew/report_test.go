package renew_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/batch"
	"github.com/hasp-go/hasp/primitives/internal/renew"
)

// renewals keeps what a keeper reports.
type renewals struct {
	mu  sync.Mutex
	all []renew.Renewal
}

func (r *renewals) add(renewal renew.Renewal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, renewal)
}

func (r *renewals) list() []renew.Renewal {
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
			want := renew.Renewal{Leases: 100, Took: time.Second}
			if i == 32 {
				want = renew.Renewal{Leases: 50, Lag: time.Second, Took: time.Second}
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
