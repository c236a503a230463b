package renew_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/batch"
	"github.com/hasp-go/hasp/primitives/internal/renew"
)

// soon is longer than a sound round takes.
const soon = 100 * time.Millisecond

// TestRoundRenewsAllLeasesOfTheNode signals a change of one of two nodes, which has lost the leases of the odd keys.
func TestRoundRenewsAllLeasesOfTheNode(t *testing.T) {
	kept(t, &server{latency: time.Millisecond, statuses: map[string]batch.Status{}}, func(t *testing.T, s *server, k *renew.Keeper) {
		other := &server{}
		k.NodeOf = func(key string) string { return key[:3] }
		k.Changed("key") // No lease is watched.
		var entries []*testEntry
		for i := range 5000 {
			key := fmt.Sprint("key", i)
			entries = append(entries, s.acquire(t, k, key))
			if i%2 == 1 {
				s.statuses[key] = batch.NotHeld
			}
			other.acquire(t, k, fmt.Sprint("other", i))
		}
		time.Sleep(time.Second)
		k.Changed("key")
		time.Sleep(soon)
		for i, e := range entries {
			require.Equal(t, i%2, e.losses())
		}
		require.Equal(t, 50, s.scripts())
		require.Zero(t, other.scripts())
		s.set(func() { require.LessOrEqual(t, s.goroutines, 32) })
		time.Sleep(length / 6)
		require.Equal(t, 50, s.scripts(), "one signal, one round")
	})
}

// TestRoundAfterAMove: a node that gets the keys of another renews its leases at once, and once for all of them.
func TestRoundAfterAMove(t *testing.T) {
	virtual(t, func(t *testing.T) {
		s, other := &server{statuses: map[string]batch.Status{}}, &server{}
		var moved atomic.Bool
		k := s.keeper(t)
		k.NodeOf = func(key string) string {
			if moved.Load() && key[0] == 'k' {
				return "replica"
			}
			return key[:3]
		}
		k.OnNodes, k.ChannelOf = func(map[string]string, bool) {}, func(*renew.Entry) string { return "" }
		var entries []*testEntry
		for i := range 5000 { // more than a survey looks at
			entries = append(entries, s.acquire(t, k, fmt.Sprint("key", i)))
			other.acquire(t, k, fmt.Sprint("other", i))
		}
		time.Sleep(8 * time.Second)
		require.Zero(t, s.scripts())
		s.set(func() { s.statuses["key7"] = batch.NotHeld })
		moved.Store(true)
		time.Sleep(time.Second + soon)
		for i, e := range entries {
			require.Equal(t, i == 7, e.losses() == 1)
		}
		require.Equal(t, 50, s.scripts())
		time.Sleep(length/3 - time.Second - 2*soon)
		require.Equal(t, 50, s.scripts(), "one round")
		require.LessOrEqual(t, other.scripts(), 50, "their schedule")
	})
}

// TestSurvey: about every second the keeper says which nodes have leases that were held for that long; of very many, it
// looks at some at a time.
func TestSurvey(t *testing.T) {
	kept(t, &server{}, func(t *testing.T, s *server, k *renew.Keeper) {
		k.NodeOf, k.ChannelOf = func(key string) string { return key[:3] }, func(e *renew.Entry) string { return e.Key[3:] }
		nodes, whole := map[string]int{}, map[bool]int{}
		k.OnNodes = func(channels map[string]string, all bool) {
			s.set(func() {
				nodes[fmt.Sprint(channels)]++
				whole[all]++
			})
		}
		often := s.newEntry("a: x")
		often.Terms = &renew.Terms{Lease: 90 * time.Millisecond, Renewer: s} // So the keeper looks often.
		k.Begin(&often.Entry)
		require.True(t, k.Confirm(&often.Entry))
		time.Sleep(10500 * time.Millisecond)
		s.set(func() { require.Equal(t, map[string]int{"map[]": 1, "map[a: :x]": 10}, nodes) })
		for i := range 2500 {
			s.acquire(t, k, fmt.Sprint(i%2, ": y"))
		}
		time.Sleep(5 * time.Second)
		s.set(func() {
			require.Equal(t, 4, nodes["map[0: :y 1: :y]"]+nodes["map[0: :y 1: :y a: :x]"], nodes)
			require.Equal(t, 11, whole[true])
		})
	})
}

// TestRoundStartsWithWhatEndsFirst: the first script goes alone. Without an answer no other follows, and the round goes
// on from there.
func TestRoundStartsWithWhatEndsFirst(t *testing.T) {
	kept(t, &server{latency: time.Millisecond}, func(t *testing.T, s *server, k *renew.Keeper) {
		var gone []*testEntry
		for i := range 600 {
			if e := s.acquire(t, k, fmt.Sprint("key", i-100)); i < 100 {
				gone = append(gone, e)
			}
			if i%100 == 99 {
				time.Sleep(10 * time.Millisecond)
			}
		}
		for _, e := range gone { // In the keeper's list the last ones take their places.
			k.End(&e.Entry)
		}
		s.set(func() { s.silent = true })
		k.Changed("")
		time.Sleep(length / 6)
		probes := s.scripts()
		require.InDelta(t, float64(length/6/(3250*time.Millisecond)), probes, 1)
		s.set(func() {
			s.silent = false
			for _, keys := range s.sent {
				require.Contains(t, keys, "key0")
				require.Len(t, keys, 100)
			}
		})
		time.Sleep(4 * time.Second)
		s.set(func() {
			rest := s.sent[probes:]
			require.GreaterOrEqual(t, len(rest), 5)
			rest = rest[len(rest)-5:]
			require.Contains(t, rest[0], "key0")
			require.ElementsMatch(t, []string{"key1", "key2", "key3", "key4"},
				[]string{rest[1][0][:4], rest[2][0][:4], rest[3][0][:4], rest[4][0][:4]})
		})
	})
}

// TestRoundsKeepTheirDistance signals all the time. Leases of each length are renewed every sixth of it at most, and the
// last signal is not forgotten.
func TestRoundsKeepTheirDistance(t *testing.T) {
	kept(t, &server{latency: time.Millisecond}, func(t *testing.T, s *server, k *renew.Keeper) {
		lengths := []time.Duration{6 * time.Second, 60 * time.Second}
		for _, length := range lengths {
			e := s.newEntry(length.String())
			e.Terms = &renew.Terms{Lease: length, Renewer: s}
			k.Begin(&e.Entry)
			require.True(t, k.Confirm(&e.Entry))
		}
		time.Sleep(time.Second)
		for range 60_000 {
			k.Changed("")
			time.Sleep(time.Millisecond)
		}
		last := time.Now()
		time.Sleep(time.Minute)
		for _, length := range lengths {
			times := s.times(length.String())
			require.True(t, slices.ContainsFunc(times, func(at time.Time) bool {
				return at.After(last.Add(-time.Millisecond)) && !at.After(last.Add(length/6+soon))
			}), "after the last signal")
			rounds := 0
			for i, at := range times {
				if at.After(last) {
					break
				}
				rounds++
				require.True(t, i == 0 || at.Sub(times[i-1]) >= length/6, at)
			}
			require.InDelta(t, float64(6*time.Minute/length), rounds, 2)
		}
	})
}

// TestRoundRepeatsARenewalThatMayBeTooEarly signals while a renewal is under way: the server may have lost the lease
// since.
func TestRoundRepeatsARenewalThatMayBeTooEarly(t *testing.T) {
	kept(t, &server{latency: time.Second}, func(t *testing.T, s *server, k *renew.Keeper) {
		s.acquire(t, k, "key")
		time.Sleep(length/3 + soon)
		require.Equal(t, 1, s.scripts())
		k.Changed("")
		time.Sleep(time.Second)
		require.Equal(t, 2, s.scripts())
		time.Sleep(length / 6)
		require.Equal(t, 2, s.scripts())
	})
}

// TestRoundAfterAnOutage: the schedule's first renewal after an outage has an answer, and all other leases are renewed,
// too.
func TestRoundAfterAnOutage(t *testing.T) {
	kept(t, &server{}, func(t *testing.T, s *server, k *renew.Keeper) {
		early := s.acquire(t, k, "early")
		time.Sleep(5 * time.Second)
		late := s.acquire(t, k, "late")
		s.set(func() { s.err = backend.ErrUnavailable })
		time.Sleep(6 * time.Second)
		require.Equal(t, 1, s.scripts())
		s.set(func() {
			s.err = nil
			s.statuses = map[string]batch.Status{"early": batch.NotHeld, "late": batch.NotHeld}
		})
		time.Sleep(length/10 + soon)
		require.Equal(t, 1, early.losses())
		require.Equal(t, 1, late.losses())
	})
}

// TestRoundDoesNotPutOffTheSchedule: while a round gets no answers, all leases are renewed when they are due.
func TestRoundDoesNotPutOffTheSchedule(t *testing.T) {
	kept(t, &server{}, func(t *testing.T, s *server, k *renew.Keeper) {
		for i := range 300 {
			s.acquire(t, k, fmt.Sprint("key", i))
		}
		granted := time.Now()
		time.Sleep(time.Second)
		s.set(func() { s.err = backend.ErrIndeterminate })
		k.Changed("")
		time.Sleep(2 * length / 3)
		for i := range 300 {
			times := s.times(fmt.Sprint("key", i))
			require.True(t, slices.ContainsFunc(times, func(at time.Time) bool {
				after := at.Sub(granted)
				return after > length/3-length/30-soon && after <= length/3
			}), times)
		}
	})
}

// TestRoundEndsWithTheClient closes the keeper while a round gets no answers.
func TestRoundEndsWithTheClient(t *testing.T) {
	kept(t, &server{silent: true}, func(t *testing.T, s *server, k *renew.Keeper) {
		s.acquire(t, k, "key")
		k.Changed("")
		time.Sleep(time.Second)
		closed := time.Now()
		k.Close()
		k.AwaitEnd()
		k.Changed("")
		require.Equal(t, closed, time.Now())
		time.Sleep(length)
		require.Equal(t, 1, s.scripts())
	})
}
