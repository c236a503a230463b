package primitives_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// slots returns how many hold a slot, up to their last millisecond.
func (s *server) slots() int { return len(s.do("ZRANGEBYSCORE", "x", endOf(time.Now(), 0), "+inf")) }

// entryModel is an entry in whole numbers: its throttles, and when the holds end, by their owners.
type entryModel struct {
	rates []*exactThrottle
	holds map[string]time.Time
}

// room returns the number of free slots.
func (m *entryModel) room() int {
	room := 2
	for _, ends := range m.holds {
		if !time.Now().Truncate(time.Millisecond).After(ends) {
			room--
		}
	}
	return room
}

// enters compares what a try says with the model.
func (m *entryModel) enters(t *testing.T, e *entry) *primitives.Lease {
	t.Helper()
	want := primitives.AdmissionError{Full: m.room() <= 0}
	for i, rate := range m.rates {
		_, over := rate.after(i + 1)
		permits := int64(rate.limit.Permits)
		if in := time.Duration((over+permits-1)/permits) * time.Microsecond; over > 0 && in > want.RetryIn {
			want.Throttle, want.RetryIn = e.rates[i], in
		}
	}
	if want.Full || want.Throttle != nil {
		require.Equal(t, want, e.refused(t))
		return nil
	}
	for i, rate := range m.rates {
		rate.take(i + 1)
	}
	return m.holding(e.admitted(t))
}

// holding adds a hold that begins now.
func (m *entryModel) holding(lease *primitives.Lease) *primitives.Lease {
	m.holds[lease.Owner()] = time.Now().Truncate(time.Millisecond).Add(5 * time.Second)
	return lease
}

// TestAdmissionIsExact: at random times processes enter, acquire the semaphore alone, take permits alone, release, or
// crash. Each answer is the model's.
func TestAdmissionIsExact(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		r := rand.New(rand.NewPCG(46, 3)) //nolint:gosec // It is no secret.
		var processes []*entry
		for range 4 {
			processes = append(processes, entryOf(s.client(t, nil)))
		}
		m := &entryModel{holds: map[string]time.Time{}}
		for _, limit := range entryLimits {
			m.rates = append(m.rates, &exactThrottle{limit: limit, at: time.Now()})
		}
		var leases []*primitives.Lease
		entered, refused := 0, 0
		for range 4000 {
			time.Sleep(time.Duration(r.IntN(300_000)) * time.Microsecond)
			e := processes[r.IntN(len(processes))]
			switch step := r.IntN(10); {
			case step < 5:
				if lease := m.enters(t, e); lease != nil {
					entered++
					leases = append(leases, lease)
				} else {
					refused++
				}
			case step < 6 && m.room() > 0:
				leases = append(leases, m.holding(acquired(t, e.slots)))
			case step < 6:
				require.ErrorIs(t, errOf(e.slots.TryAcquire(t.Context())), primitives.ErrNotAcquired)
			case step < 7:
				i := r.IntN(2)
				_, over := m.rates[i].after(1)
				d := must(e.rates[i].Allow(t.Context(), 1))(t)
				requireDecisions(t, []primitives.Decision{m.rates[i].decision(1, over <= 0)}, d)
			case len(leases) > 0:
				lease := leases[0]
				if leases = leases[1:]; step < 8 {
					lease.Forget() // It crashes.
				} else if err := lease.Release(t.Context()); err == nil {
					delete(m.holds, lease.Owner())
				}
			}
			for _, lease := range leases { // A holder whose lease has ended is released in the background.
				if lease.Err() != nil {
					delete(m.holds, lease.Owner())
				}
			}
			synctest.Wait()
			require.Equal(t, 2-m.room(), s.slots())
		}
		t.Log(entered, refused)
		require.Greater(t, entered, 300)
		require.Greater(t, refused, 300)
	})
}

// TestAdmissionKeepsBothLimits: many goroutines of several clients enter, work and leave, and some crash. At most two
// hold at a time, and in no window more permits are granted than the rate and a burst.
func TestAdmissionKeepsBothLimits(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		begin := time.Now()
		var mu sync.Mutex
		var grants []time.Time
		s.ran = func(script string, _, _ []string, _ backend.Reply) {
			mu.Lock()
			defer mu.Unlock()
			require.LessOrEqual(t, s.slots(), 2, script)
		}
		var all sync.WaitGroup
		for p := range 4 {
			e := entryOf(s.client(t, nil))
			for g := range 5 {
				r := rand.New(rand.NewPCG(uint64(p), uint64(g))) //nolint:gosec // It is no secret.
				all.Go(func() {
					for range 20 {
						lease := must(e.Acquire(t.Context()))(t)
						mu.Lock()
						grants = append(grants, time.UnixMicro(lease.Token()))
						mu.Unlock()
						time.Sleep(time.Duration(r.IntN(900)) * time.Millisecond)
						if r.IntN(40) == 0 {
							lease.Forget()
						} else {
							require.NoError(t, lease.Release(t.Context()))
						}
					}
				})
			}
		}
		all.Wait()
		require.Len(t, grants, 400)
		slices.SortFunc(grants, time.Time.Compare)
		for i := range grants {
			for j := i; j < len(grants); j++ {
				window := grants[j].Sub(grants[i])
				require.LessOrEqual(t, float64(j-i+1), window.Seconds()*3+4+1e-6, "in %s", window)
			}
		}
		t.Log(time.Since(begin))
	})
}
