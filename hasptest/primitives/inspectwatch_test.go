package primitives_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/inspect"
)

// watched is what a watch of the name x has yielded.
type watched struct {
	mu     sync.Mutex
	events []inspect.Event
	last   inspect.Event
	errors []error
	ended  bool
}

// watching runs a test in virtual time, with a client, and another client that watches until the test ends.
func watching(t *testing.T, test func(t *testing.T, s *server, c *primitives.Client, w *watched)) {
	t.Helper()
	virtual(t, func(t *testing.T, s *server) {
		c, w := s.client(t, nil), &watched{}
		end := w.begin(t, s.client(t, nil))
		test(t, s, c, w)
		before := len(s.watched())
		end()
		synctest.Wait()
		require.True(t, w.ended)
		require.LessOrEqual(t, len(s.watched()), before)
	})
}

// begin watches the name x until the test ends, or end is called.
func (w *watched) begin(t *testing.T, c *primitives.Client) (end func()) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	go func() {
		for e, err := range inspect.Watch(ctx, c, "x") {
			w.mu.Lock()
			w.events = append(w.events, e)
			if err != nil {
				w.errors = append(w.errors, err)
			}
			w.mu.Unlock()
		}
		w.mu.Lock()
		w.ended = true
		w.mu.Unlock()
	}()
	synctest.Wait()
	return end
}

// after lets time pass, and returns the kinds and owners of the events that have come since.
func (w *watched) after(d time.Duration) (kinds []string) {
	time.Sleep(d)
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		w.last = e
		text := string(e.Kind)
		if e.Owner != "" {
			text += " " + e.Owner
		}
		kinds = append(kinds, text)
	}
	w.events = nil
	return kinds
}

const (
	soon = 200 * time.Millisecond // after a message
	tick = 1100 * time.Millisecond
)

// locked acquires, and fails if it cannot.
func locked(t *testing.T, lock func(context.Context) (*primitives.Lease, error)) *primitives.Lease {
	t.Helper()
	return must(lock(t.Context()))(t)
}

func TestWatchLock(t *testing.T) {
	watching(t, func(t *testing.T, s *server, c *primitives.Client, w *watched) {
		require.Equal(t, []string{"gone"}, w.after(0))
		one := locked(t, c.NewLock("x", nil).Lock)
		require.Equal(t, []string{"acquired " + one.Owner()}, w.after(tick))
		require.Equal(t, 1, s.subscribed())
		second := leased(t.Context(), c.NewLock("x", nil).Lock)
		time.Sleep(10 * time.Second) // The server does not know the waiter.
		s.slow("lock_acquire")
		require.NoError(t, one.Release(t.Context()))
		two := <-second
		require.Equal(t, []string{"released " + one.Owner(), "acquired " + two.Owner()}, w.after(soon))
		require.NoError(t, two.Release(t.Context()))
		require.Equal(t, []string{"released " + two.Owner()}, w.after(soon))

		require.NoError(t, locked(t, c.NewLock("x", nil).Lock).Release(t.Context()))
		require.Equal(t, []string{"gap"}, w.after(soon)) // Its token shows it.
		require.Empty(t, w.errors)
	})
}

// TestWatchLease: the end of a lease shows as lost, a release as released.
func TestWatchLease(t *testing.T) {
	watching(t, func(t *testing.T, s *server, _ *primitives.Client, w *watched) {
		s.hold("x", another, 5*time.Second)
		require.Equal(t, []string{"gone", "acquired " + another}, w.after(tick))
		require.Equal(t, []string{"lost " + another, "gone"}, w.after(6*time.Second))
		s.hold("x", another, 5*time.Second)
		require.Equal(t, []string{"acquired " + another}, w.after(tick))
		s.hold("x", another, 5*time.Second)
		require.Empty(t, w.after(tick))
		s.lose("x")
		require.Equal(t, []string{"released " + another, "gone"}, w.after(tick))
	})
}

// TestWatchQueues watches waiters of the kinds whose server knows them.
func TestWatchQueues(t *testing.T) {
	for _, kind := range []string{"FairLock", "Mutex", "CountingSemaphoreByArrival"} {
		t.Run(kind, func(t *testing.T) {
			watching(t, func(t *testing.T, s *server, c *primitives.Client, w *watched) {
				s.slow("inspect_keys")
				one := locked(t, acquirer(t, c, kind, "x"))
				require.Equal(t, []string{"gone", "acquired " + one.Owner()}, w.after(tick))
				second := leased(t.Context(), acquirer(t, c, kind, "x"))
				came := w.after(tick)
				ctx, leave := context.WithCancel(t.Context())
				go acquirer(t, c, kind, "x")(ctx) //nolint:errcheck // It leaves.
				came = append(came, w.after(tick)...)
				require.Len(t, came, 2)
				leave()
				left := w.after(tick)
				require.NoError(t, one.Release(t.Context()))
				two := <-second
				require.Equal(t, "waiting "+two.Owner(), came[0])
				require.Equal(t, []string{"left " + came[1][len("waiting "):]}, left)
				events := []string{"handed over " + two.Owner()}
				if kind == "CountingSemaphoreByArrival" {
					events = []string{"released " + one.Owner(), "acquired " + two.Owner()}
				}
				require.Equal(t, events, w.after(soon))
				require.NoError(t, two.Release(t.Context()))
				require.Equal(t, "released "+two.Owner(), w.after(tick)[0])
			})
		})
	}
}

// TestWatchStorm: a thousand messages cost 20 reads a second, and hand-overs that come fast are followed by gaps.
func TestWatchStorm(t *testing.T) {
	watching(t, func(t *testing.T, s *server, c *primitives.Client, w *watched) {
		require.Equal(t, []string{"gone", "acquired " + locked(t, c.NewLock("x", nil).Lock).Owner()}, w.after(tick))
		begin := s.called("inspect_keys")
		for i := range 500 {
			s.do("DEL", "x")
			s.hold("x", another+string(rune('a'+i%26)), time.Minute)
			s.do("PUBLISH", "redisson_lock__channel:{x}", "0")
			time.Sleep(2 * time.Millisecond)
		}
		require.LessOrEqual(t, s.called("inspect_keys")-begin, 21)
		events := w.after(0)
		require.Greater(t, len(events), 20)
		require.Contains(t, events, "gap")
	})
}

// TestWatchThroughOutage: the error of an outage comes once, and a gap of messages is said.
func TestWatchThroughOutage(t *testing.T) {
	watching(t, func(t *testing.T, s *server, c *primitives.Client, w *watched) {
		require.Equal(t, []string{"gone", "acquired " + locked(t, c.NewLock("x", nil).Lock).Owner()}, w.after(tick))
		s.faults(down)
		require.Equal(t, []string{"gap"}, w.after(10*time.Second))
		require.Len(t, w.errors, 1)
		require.ErrorIs(t, w.errors[0], primitives.ErrUnavailable)
		s.faults(fault{})
		require.Empty(t, w.after(10*time.Second))
		s.gap()
		require.Equal(t, []string{"gap"}, w.after(soon))
		require.Len(t, w.errors, 1)
	})
}

// slow has a script come late to the server.
func (s *server) slow(script string) {
	s.set(func() {
		s.fault = func(called string) fault {
			return fault{before: map[bool]time.Duration{true: 10 * time.Millisecond}[called == script]}
		}
	})
}

// gap reports to all that messages may have been lost.
func (s *server) gap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for subscription := range s.handlers {
		go subscription.handler(backend.Event{Kind: backend.EventResubscribed})
	}
}

// TestWatchWithoutMessages has no right to subscribe: it says so once, and polls.
func TestWatchWithoutMessages(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		w := &watched{}
		s.hold("x", another, time.Hour)
		w.begin(t, s.over(t, refusingSubscriber{s}, nil))
		require.Equal(t, []string{"seen", "gap"}, w.after(tick))
		require.Len(t, w.errors, 1)
		require.ErrorIs(t, w.errors[0], primitives.ErrNoPermission)
		time.Sleep(time.Minute)
		s.lose("x")
		s.hold("x", another+"2", time.Hour)
		require.Equal(t, []string{"gap", "handed over " + another + "2"}, w.after(tick))
		require.Len(t, w.errors, 1)
	})
}

// TestWatchEnds: nothing is left of a watch whose caller stops, or whose client is closed, or that cannot succeed.
func TestWatchEnds(t *testing.T) {
	served(t, func(t *testing.T, s *server, c *primitives.Client) {
		s.hold("x", another, time.Hour)
		for e, err := range inspect.Watch(t.Context(), c, "x") {
			require.NoError(t, err)
			if e.Kind != inspect.Seen {
				break
			}
			time.Sleep(time.Second)
			require.Equal(t, 1, s.subscribed())
			s.lose("x")
			s.hold("x", another+"2", time.Hour)
		}
		synctest.Wait()
		require.Zero(t, s.subscribed())
		for _, err := range inspect.Watch(t.Context(), c, "") {
			require.ErrorAs(t, err, new(*primitives.FieldError))
		}
		var last error
		for _, err := range inspect.Watch(t.Context(), c, "x") {
			if last = err; err == nil {
				time.Sleep(time.Second)
				require.NoError(t, c.Close(context.Background()))
				require.Zero(t, s.subscribed())
			}
		}
		require.ErrorIs(t, last, primitives.ErrClosed)
	})
}

// shownAs has what the key of a Lock is stored beside where it shows as another kind, by owner.
var shownAs = map[string]func(owner string) []string{
	"Election": func(owner string) []string {
		client := owner[:strings.LastIndexByte(owner, ':')]
		return []string{"SET", "hasp_lock_holder:{x}", owner + "\n5\nhost\n7\nhost:7:" + client + "\nvalue"}
	},
	"PeriodicJob": func(string) []string { return []string{"SET", "{x}:completed", "1"} },
	"Memo":        func(string) []string { return []string{"HSET", "{x}:memo", "owner", "o"} },
}

// TestWatchFreed: a hold that ForceUnlock has ended was not released by its owner, if a message can say so.
func TestWatchFreed(t *testing.T) {
	for kind, says := range map[string]string{
		"Lock": "freed", "FencedLock": "freed", "PlainLock": "freed", "ReadLock": "freed", "WriteLock": "freed", "Mutex": "freed",
		"FairLock": "released", "SpinLock": "released", "Election": "freed", "PeriodicJob": "freed", "Memo": "freed",
	} {
		t.Run(kind, func(t *testing.T) {
			watching(t, func(t *testing.T, s *server, c *primitives.Client, w *watched) {
				locks := kind
				if shownAs[kind] != nil {
					locks = "Lock"
				}
				l := construct(t, c, locks, "x", nil).(interface {
					primitives.Locker
					ForceUnlock(ctx context.Context) (bool, error)
				})
				one := locked(t, l.Lock)
				require.Equal(t, []string{"gone", "acquired " + one.Owner()}, w.after(tick))
				if shownAs[kind] != nil {
					s.do(shownAs[kind](one.Owner())...)
					require.Equal(t, []string{"changed"}, w.after(tick), "it stays in its family")
				}
				second, waits := make(chan *primitives.Lease, 1), map[string]bool{"Lock": true, "Mutex": true, "WriteLock": true}[kind]
				if waits {
					go func() { second <- locked(t, l.Lock) }()
				}
				w.after(tick)
				require.True(t, must(l.ForceUnlock(t.Context()))(t))
				events := w.after(tick)
				require.Equal(t, says+" "+one.Owner(), events[0])
				if !waits {
					second <- locked(t, l.Lock)
					events = w.after(tick)
				}
				two := <-second
				require.Equal(t, "acquired "+two.Owner(), events[len(events)-1])
				require.NoError(t, two.Release(t.Context()))
				require.Equal(t, "released "+two.Owner(), w.after(tick)[0])
			})
		})
	}
}

// TestWatchRevoked: the owner is revoked, and its lock is gone at the end of its lease.
func TestWatchRevoked(t *testing.T) {
	watching(t, func(t *testing.T, _ *server, c *primitives.Client, w *watched) {
		m := c.NewMutex("x", nil)
		lease := locked(t, m.Lock)
		require.Equal(t, []string{"gone", "acquired " + lease.Owner()}, w.after(tick))
		requireRevoked(t, m, lease.Owner(), 30*time.Second-tick)
		require.Equal(t, []string{"revoked " + lease.Owner()}, w.after(tick))
		require.Equal(t, []string{"lost " + revokedOwner}, w.after(30*time.Second))
	})
}
