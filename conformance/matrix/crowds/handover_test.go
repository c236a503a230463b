// Package crowds has tests with many waiters on one server. What they cost is counted in the server's commands.
package crowds

import (
	"context"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

func TestMain(m *testing.M) { os.Exit(cells.Main(m)) }

const crowdClients = 20

// crowd is how many waiters there are: in a part of the matrix fewer.
var crowd = map[bool]int{true: 1000, false: 200}[cells.Whole()]

// acquire waits for an object. What it returns gives the object back.
type acquire = func(ctx context.Context, c *primitives.Client) (giveBack, error)

type giveBack = func(ctx context.Context) error

// handOver is an object that is handed from waiter to waiter, and what each grant may cost the server.
type handOver struct {
	acquire acquire
	first   acquire // what the test acquires before anybody waits; nil: as acquire
	holds   int     // how often; 0: once
	returns bool    // each waiter waits again when it has had the object
	apart   bool    // each waiter listens on a channel of its own

	sizes  []size
	counts func(s cells.Server, t testing.TB) int
	most   func(few float64) float64 // what a grant costs at most, by what it costs in the first of sizes
}

// size is how many clients have how many waiters, and how many grants are counted.
type size struct{ clients, waiters, grants int }

// commands counts all commands, those of scripts included. The pings of subscriptions count, too.
var commands = cells.Server.Commands

// scripts counts scripts alone.
func scripts(s cells.Server, t testing.TB) int { return s.Calls(t, "evalsha") } //nolint:thelper // As Commands.

// giveBackOf returns what releases a lease.
func giveBackOf(l *primitives.Lease, err error) (giveBack, error) {
	if err != nil {
		return nil, err
	}
	return l.Release, nil
}

// Leases that nobody renews during a test, and waiters that nobody takes for dead.
const lease, waiterTimeout = time.Hour, 10 * time.Hour

// handOvers are those of each kind of waiting.
var handOvers = map[string]handOver{
	// Redisson's would take 300 more for each grant of the greater size.
	"FairLock": {
		acquire: func(ctx context.Context, c *primitives.Client) (giveBack, error) {
			return giveBackOf(c.NewFairLock("crowd", &primitives.FairLockOptions{Lease: lease, WaiterTimeout: waiterTimeout}).Lock(ctx))
		},
		apart: true, sizes: []size{{10, 20, 10}, {10, 310, 10}},
		counts: commands, most: func(few float64) float64 { return min(50, few+15) },
	},
	"CountingSemaphoreByTime":    countingHandOver(primitives.ByTime),
	"CountingSemaphoreByArrival": countingHandOver(primitives.ByArrival),
	// A release, a grant, and at most one refusal of each client: 9, 8 and 5 commands, and the EVALSHA.
	"PermitSemaphore": {
		acquire: func(ctx context.Context, c *primitives.Client) (giveBack, error) {
			return giveBackOf(c.NewPermitSemaphore("crowd", nil).Acquire(ctx, 1))
		},
		first: func(ctx context.Context, c *primitives.Client) (giveBack, error) {
			s := c.NewPermitSemaphore("crowd", nil)
			if _, err := s.InitPermits(ctx, 1); err != nil {
				return nil, err
			}
			return giveBackOf(s.Acquire(ctx, 1))
		},
		returns: true, sizes: []size{{crowdClients, 100, 400}, {crowdClients, 1000, 400}, {crowdClients, 10, 400}},
		counts: commands, most: func(few float64) float64 { return min(10+9+6*crowdClients, 1.5*few) },
	},
	// Each client tries once for each permit that comes back, and once when none is left.
	"RateLimiter": {
		acquire: func(ctx context.Context, c *primitives.Client) (giveBack, error) {
			return func(context.Context) error { return nil }, c.NewRateLimiter("crowd", primitives.Rate{}, &primitives.RateLimiterOptions{Unavailable: primitives.Refuse(), Timeout: time.Hour}).Wait(ctx, 1)
		},
		first: usedUpRate, sizes: []size{{crowdClients, 10, 10}, {crowdClients, crowd, crowd}},
		counts: scripts, most: func(float64) float64 { return 2 * crowdClients },
	},
	// A release tells the next holder alone. So the cost does not grow with the number of clients as that of a Lock
	// does, which is ten times as much with 64 clients as with 2. The commands of beats count, too: a slow machine
	// has more of them in the time of a hand-over.
	"Mutex": {
		acquire: func(ctx context.Context, c *primitives.Client) (giveBack, error) {
			return giveBackOf(c.NewMutex("crowd", nil).Lock(ctx))
		},
		returns: true, sizes: []size{{2, 2, 200}, {8, 8, 200}, {64, 64, 640}},
		counts: commands, most: func(few float64) float64 { return 3 * few },
	},
}

// countingHandOver has a semaphore of five slots.
func countingHandOver(order primitives.CountingOrder) handOver {
	const slots = 5
	return handOver{
		acquire: func(ctx context.Context, c *primitives.Client) (giveBack, error) {
			return giveBackOf(c.NewCountingSemaphore("crowd", slots, &primitives.CountingSemaphoreOptions{
				Order: order, Lease: lease, WaiterTimeout: waiterTimeout,
			}).Acquire(ctx))
		},
		holds: slots, sizes: []size{{crowdClients, crowdClients + 10, 10}, {crowdClients, crowd, 10}},
		// On a busy machine a client may try twice for a grant, but never each waiter, of which there are seven times as many.
		counts: commands, most: func(few float64) float64 { return 2*few + 10 },
	}
}

// usedUpRate uses up a rate for an hour. To give it back is to make it one of half a second.
func usedUpRate(ctx context.Context, c *primitives.Client) (giveBack, error) {
	const permits = 100
	l := c.NewRateLimiter("crowd", primitives.Rate{}, &primitives.RateLimiterOptions{Unavailable: primitives.Refuse(), Timeout: time.Hour})
	if err := l.SetRate(ctx, primitives.Rate{Permits: permits, Interval: time.Hour}); err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		return l.SetRate(ctx, primitives.Rate{Permits: permits, Interval: 500 * time.Millisecond})
	}, l.Wait(ctx, permits)
}

// TestHandOverCostsTheSame counts what each grant costs the server, while few wait, and while many do.
func TestHandOverCostsTheSame(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	for name, h := range handOvers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			few := 0.0
			for i, of := range h.sizes {
				each := h.cost(t, of)
				t.Logf("%d waiters of %d clients: each grant costs %.1f", of.waiters, of.clients, each)
				if i == 0 {
					few = each
				}
				require.LessOrEqual(t, each, h.most(few), "%+v", of)
			}
		})
	}
}

// cost returns what each grant costs.
func (h handOver) cost(t *testing.T, of size) float64 {
	t.Helper()
	s := cells.StartServer(t)
	clients := s.Clients(t, of.clients, &primitives.Options{PollInterval: time.Hour})
	ctx, cancel := context.WithTimeout(t.Context(), 4*conformance.Patience)
	defer cancel()
	first, held := h.first, []giveBack(nil)
	if first == nil {
		first = h.acquire
	}
	for range max(1, h.holds) {
		held = append(held, cells.Got(first(ctx, clients[0]))(t))
	}
	granted, again := make(chan giveBack), make(chan struct{})
	var all sync.WaitGroup
	for i := range of.waiters {
		all.Go(func() { h.wait(ctx, clients[i%of.clients], granted, again) })
	}
	channels := min(of.waiters, of.clients)
	if h.apart {
		channels = of.waiters
	}
	settle(t, s, len(held)+of.waiters+channels) // A try of each waiter, and one once it listens.
	before := h.counts(s, t)
	for range of.grants {
		require.NoError(t, held[0](ctx))
		held = append(held[1:], cells.Within(t, conformance.Patience, "a grant", granted))
		if h.returns {
			again <- struct{}{}
		}
	}
	settle(t, s, 0)
	each := float64(h.counts(s, t)-before) / float64(of.grants)
	cancel()
	all.Wait()
	return each
}

// wait waits for the object, and hands it to the test, which gives it back.
func (h handOver) wait(ctx context.Context, c *primitives.Client, granted chan<- giveBack, again <-chan struct{}) {
	for {
		got, err := h.acquire(ctx, c)
		if err != nil {
			return
		}
		select {
		case granted <- got:
		case <-ctx.Done():
			return
		}
		if !h.returns {
			return
		}
		<-again
	}
}

// settle waits until so many scripts have run at least, and then nothing but INFO and pings: all wait.
func settle(t *testing.T, s cells.Server, least int) {
	t.Helper()
	last := s.Commands(t)
	s.Await(t, "nobody tries", func() bool {
		before := last
		last = s.Commands(t)
		return last-before <= 2 && s.Calls(t, "evalsha") >= least
	})
}

// slots are those of one semaphore, which a client acquires one at a time, for a lease. None renews it.
type slots func(ctx context.Context, c *primitives.Client, n int, lease time.Duration) (*primitives.Lease, error)

// semaphores are those whose slots come back by themselves when their leases end.
var semaphores = map[string]slots{
	"PermitSemaphore": func(ctx context.Context, c *primitives.Client, n int, lease time.Duration) (*primitives.Lease, error) {
		return c.NewPermitSemaphore("s", &primitives.PermitSemaphoreOptions{Permits: n, Lease: lease}).Acquire(ctx, 1)
	},
	"CountingSemaphoreByTime":    counting(primitives.ByTime),
	"CountingSemaphoreByArrival": counting(primitives.ByArrival),
}

// counting returns the slots of a counting semaphore.
func counting(order primitives.CountingOrder) slots {
	return func(ctx context.Context, c *primitives.Client, n int, lease time.Duration) (*primitives.Lease, error) {
		return c.NewCountingSemaphore("s", n, &primitives.CountingSemaphoreOptions{Order: order, Lease: lease}).Acquire(ctx)
	}
}

// ends are when the leases of a crashed client end that has all slots.
var ends = []time.Duration{time.Second, 1300 * time.Millisecond, 1600 * time.Millisecond, 4200 * time.Millisecond}

// waiters has n callers of a client wait one after the other, and returns when each was granted. What they are granted
// ends with its lease.
func waiters(ctx context.Context, acquire slots, c *primitives.Client, n int, lease time.Duration) <-chan time.Duration {
	begin, granted := time.Now(), make(chan time.Duration, n)
	for range n {
		go func() {
			if l, err := acquire(ctx, c, len(ends), lease); err == nil {
				l.Forget()
				granted <- time.Since(begin)
			}
		}()
		synctest.Wait()
	}
	return granted
}

// late is how much later than a lease's end a waiter may be granted.
const late = 5 * time.Millisecond

// TestWaitersBehindACrash: one client takes all slots and crashes: its leases end one after the other, and no message tells
// so. Waiters of a live client are in when the next lease ends, and not at their poll.
func TestWaitersBehindACrash(t *testing.T) {
	t.Parallel()
	ms := func(all ...time.Duration) (at []time.Duration) {
		for _, n := range all {
			at = append(at, n*time.Millisecond)
		}
		return at
	}
	for title, c := range map[string]struct {
		waiters  int
		lease    time.Duration // of what they are granted
		releases bool          // the last slot, before the first lease ends
		granted  []time.Duration
	}{
		"AtEachEnd":      {waiters: len(ends), lease: time.Minute, granted: ends},
		"AtEndsOfGrants": {waiters: 6, lease: 200 * time.Millisecond, granted: ms(1000, 1200, 1300, 1400, 1500, 1600)},
		"AtARelease":     {waiters: len(ends), lease: time.Minute, releases: true, granted: ms(500, 1000, 1300, 1600)},
	} {
		for name, acquire := range semaphores {
			t.Run(title+name, func(t *testing.T) {
				cells.Bubble(t, func(t *testing.T) {
					server, last := embedded.NewServer(), (*primitives.Lease)(nil)
					client := func() *primitives.Client { return cells.Over(t, must.Get(embedded.New(server, nil)), nil) }
					crashing := client()
					for i, lease := range ends {
						last = cells.Got(acquire(t.Context(), crashing, len(ends), lease))(t)
						if i < len(ends)-1 || !c.releases {
							last.Forget()
						}
					}
					granted := waiters(t.Context(), acquire, client(), c.waiters, c.lease)
					if c.releases {
						time.Sleep(500 * time.Millisecond)
						require.NoError(t, last.Release(t.Context()))
					}
					for _, want := range c.granted {
						require.InDelta(t, want+late/2, <-granted, float64(late/2+time.Millisecond))
					}
				})
			})
		}
	}
}
