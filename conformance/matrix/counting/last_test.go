package counting

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// TestHoldLastsItsLastMillisecond sets the server's clock to the very millisecond in which the holds end, just before a
// script asks for them: they are held still, whether one is released, or several by one script, or one is refreshed.
func TestHoldLastsItsLastMillisecond(t *testing.T) {
	t.Parallel()
	for title, order := range orders {
		for what, holds := range map[string]int{"Release": 1, "ReleaseAll": 2, "Refresh": 0} {
			t.Run(title+what, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := embedded.NewServer()
					l := &lastMoment{t: t, server: s, sound: time.Now()}
					if holds > 1 { // Lost releases are repeated together.
						l.sound = l.sound.Add(time.Second)
					}
					r := &cells.Runner{Backend: must.Get(embedded.New(s, nil))}
					r.Instead = func(ctx context.Context, c backend.Call) (backend.Reply, error) { return l.run(ctx, r, c) }
					of := func(lease time.Duration) *primitives.CountingSemaphore {
						return cells.Over(t, r, nil).NewCountingSemaphore(name, 3,
							&primitives.CountingSemaphoreOptions{Order: order, Lease: lease})
					}
					must.Get(of(time.Hour).TryAcquire(t.Context())) // The key ends later.
					l.use(of(10*time.Second), holds)
					require.EqualValues(t, max(1, holds), l.held.Load())
				})
			})
		}
	}
}

// lastMoment is a link that brings the server to the end of a hold before it hands on a script that releases or
// renews. It loses those that are sent before it is sound.
type lastMoment struct {
	t      *testing.T
	server *embedded.Server
	sound  time.Time
	held   atomic.Int64 // so many were held by a script's answer
}

// use takes holds, and releases them; it refreshes one if it is to take none.
func (l *lastMoment) use(sem *primitives.CountingSemaphore, holds int) {
	leases := make([]*primitives.Lease, max(1, holds))
	for i := range leases {
		var err error
		leases[i], err = sem.TryAcquire(l.t.Context())
		require.NoError(l.t, err)
	}
	if holds == 0 {
		require.NoError(l.t, sem.Refresh(l.t.Context(), leases[0]))
		return
	}
	for _, lease := range leases {
		_ = lease.Release(l.t.Context()) // A lost one goes on in the background.
	}
	time.Sleep(5 * time.Second)
}

func (l *lastMoment) run(ctx context.Context, r *cells.Runner, c backend.Call) (backend.Reply, error) {
	releases := strings.Contains(c.Script.Name, "_release")
	switch {
	case l.held.Load() > 0 || !releases && c.Script.Name != "counting_renew":
		return r.Good(ctx, c)
	case time.Now().Before(l.sound):
		return backend.Reply{}, backend.ErrIndeterminate
	}
	l.toTheEnd()
	reply, err := r.Good(ctx, c)
	require.NoError(l.t, err)
	statuses, err := reply.Items()
	if err != nil {
		statuses = []backend.Reply{reply}
	}
	for _, status := range statuses {
		if n, err := status.Int(); err == nil && n == 1 {
			l.held.Add(1)
		}
	}
	return reply, nil
}

// toTheEnd brings the server's clock to the end of the first hold.
func (l *lastMoment) toTheEnd() {
	l.server.Advance(time.Microsecond * time.Duration(cells.Number(l.t, l.server, "EVAL", `local t = redis.call('time')
		return redis.call('zrange', KEYS[1], 0, 0, 'withscores')[2] * 1000 - t[1] * 1000000 - t[2]`, "1", name)))
}
