package line_test

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

	"github.com/hasp-go/hasp/backend"
)

// worth is how long a heartbeat counts.
const worth = 10 * time.Second

// inRow runs a test in virtual time, with a row that a client holds.
func inRow(t *testing.T, test func(t *testing.T, r *row, c *lineClient, held *ticket)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRow(1)
		c := r.lineClient(t, "a")
		held := c.ticket()
		require.NoError(t, c.wait(t.Context(), held))
		test(t, r, c, held)
	})
}

func TestLineGrantedAtOnceDoesNotSubscribe(t *testing.T) {
	inRow(t, func(t *testing.T, r *row, c *lineClient, _ *ticket) {
		require.Zero(t, r.Subscribes)
		require.Empty(t, r.beats())
	})
}

func TestLineServesInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRow(1)
		clients := []*lineClient{r.lineClient(t, "a"), r.lineClient(t, "b"), r.lineClient(t, "c")}
		first := clients[0].ticket()
		require.NoError(t, clients[0].wait(t.Context(), first))
		var served []int
		var all sync.WaitGroup
		for i := range 30 {
			c := clients[i%3]
			all.Go(func() {
				me := c.ticket()
				if err := c.wait(t.Context(), me); err != nil {
					t.Error(err)
				}
				r.Set(func() { served = append(served, i) })
				r.release(me.owner)
			})
			synctest.Wait()
		}
		start := time.Now()
		r.release(first.owner)
		all.Wait()
		require.Zero(t, time.Since(start), "messages alone")
		require.True(t, slices.IsSorted(served), "%d", served)
		require.Equal(t, 31, r.Tried(), "each asks once")
	})
}

// A grant lasts from the sending of the heartbeat that the server has, which is the request's or a beat's.
func TestLineGrantBeginsWithItsSign(t *testing.T) {
	t.Parallel()
	for held, signed := range map[time.Duration]time.Duration{
		time.Second: 0, 7200 * time.Millisecond: 5 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRow(1)
			c := r.lineClient(t, "a")
			first, second := c.ticket(), c.ticket()
			require.NoError(t, c.wait(t.Context(), first))
			start := time.Now()
			time.AfterFunc(held, func() { r.release(first.owner) })
			require.NoError(t, c.wait(t.Context(), second))
			require.Equal(t, held, time.Since(start))
			require.GreaterOrEqual(t, second.started.Sub(start), signed*9/10) // Beats come a tenth earlier.
			require.Less(t, second.started.Sub(start), held)
		})
	}
}

func TestLineFindsWhatNoMessageSaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRow(1)
		r.Lossy = true
		c := r.lineClient(t, "a")
		held := c.ticket()
		require.NoError(t, c.wait(t.Context(), held))
		var waiting []chan *ticket
		for range 4 {
			waiting = append(waiting, c.later(t))
		}
		for i, next := range waiting {
			start := time.Now()
			r.release(held.owner)
			held = <-next
			if bound := []time.Duration{2750, 2750, 140, 140}[i] * time.Millisecond; time.Since(start) > bound {
				t.Errorf("waiter %d got it after %v", i, time.Since(start))
			}
		}
	})
}

// Who is granted it too late asks for what the server has.
func TestLineAsksAfterALateGrant(t *testing.T) {
	inRow(t, func(t *testing.T, r *row, c *lineClient, held *ticket) {
		me := c.ticket()
		me.late = true
		time.AfterFunc(time.Second, func() { r.release(held.owner) })
		require.NoError(t, c.wait(t.Context(), me))
		require.Equal(t, me.owner, r.held())
		require.NotEmpty(t, r.beats())
	})
}

// Who has lost its place asks for the same one.
func TestLineComesBackToItsPlace(t *testing.T) {
	inRow(t, func(t *testing.T, r *row, c *lineClient, held *ticket) {
		first, second := c.later(t), c.later(t)
		before := r.places()
		r.Set(func() { r.queue = nil })
		time.Sleep(worth / 3)
		after := r.places()
		require.Equal(t, owners(before), owners(after))
		require.Equal(t, before[1].number, after[1].number)
		r.release(held.owner)
		r.release((<-first).owner)
		<-second
	})
}

// What comes for one that has given up is released, and nothing is left of it.
func TestLineStray(t *testing.T) {
	inRow(t, func(t *testing.T, r *row, c *lineClient, held *ticket) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		gone := c.ticket()
		require.ErrorIs(t, c.lines.Wait(ctx, c.line(), gone), context.DeadlineExceeded)
		require.Equal(t, []string{gone.owner}, owners(r.places()), "nobody has taken it out")
		r.release(held.owner)
		synctest.Wait()
		require.Empty(t, r.held(), "it was released as a stray")
		time.Sleep(time.Second) // Twice as long as it lingers.
		require.Zero(t, r.Subscribed())
		beats := len(r.beats())
		time.Sleep(time.Minute)
		require.Len(t, r.beats(), beats)
	})
}

// A beat has a hundred owners at most, those that came first before the others.
func TestLineBeatsForAHundred(t *testing.T) {
	inRow(t, func(t *testing.T, r *row, c *lineClient, _ *ticket) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var waiting sync.WaitGroup
		for range 250 {
			waiting.Go(func() { _ = c.wait(ctx, c.ticket()) })
			synctest.Wait()
		}
		before, all := len(r.beats()), owners(r.places())
		time.Sleep(worth / 2) // Nobody is silent for longer.
		shown := map[string]bool{}
		for _, batch := range r.beats()[before:] {
			require.Contains(t, slices.Collect(slices.Chunk(all, 100)), batch)
			for _, owner := range batch {
				shown[owner] = true
			}
		}
		require.Len(t, shown, len(all))
		cancel()
		waiting.Wait()
	})
}

// Over a slow link the beats of many waiters go out several at a time: the server takes none of them for dead.
func TestLineKeepsManyPlacesOverASlowLink(t *testing.T) {
	inRow(t, func(t *testing.T, r *row, c *lineClient, _ *ticket) {
		r.Set(func() { r.Latency = time.Second })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var waiting sync.WaitGroup
		for range 400 {
			waiting.Go(func() { _ = c.wait(ctx, c.ticket()) })
		}
		time.Sleep(worth)
		for start := time.Now(); time.Since(start) < 2*worth; time.Sleep(500 * time.Millisecond) {
			for _, q := range r.places() {
				require.Less(t, time.Since(q.sign), worth*2/3)
			}
		}
		require.Len(t, r.places(), 400)
		cancel()
		waiting.Wait()
	})
}

// A beat that the server refuses, which it would again, ends the waiting; one that gets no answer in time ends none.
func TestLineRefusedBeatEndsWaiters(t *testing.T) {
	inRow(t, func(t *testing.T, r *row, c *lineClient, _ *ticket) {
		refused := make(chan error, 1)
		go func() { refused <- c.wait(t.Context(), c.ticket()) }()
		synctest.Wait()
		r.Set(func() {
			r.refuses = fmt.Errorf("%w: %w", backend.ErrUnavailable, backend.ParseServerError("LOADING the data"))
		})
		time.Sleep(worth)
		require.Empty(t, refused)
		r.Set(func() { r.late, r.refuses = true, backend.ParseServerError("NOSCRIPT No matching script") })
		time.Sleep(worth)
		require.Empty(t, refused, "the script was being loaded when the beat's time was over")
		r.Set(func() { r.late = false })
		r.Set(func() { r.refuses = backend.ParseServerError("NOPERM No permissions to run the 'zmscore' command") })
		require.ErrorContains(t, <-refused, "NOPERM")
	})
}

func TestLineClosedEndsWaiters(t *testing.T) {
	inRow(t, func(t *testing.T, r *row, c *lineClient, _ *ticket) {
		time.AfterFunc(time.Second, c.client.Close)
		require.ErrorIs(t, c.wait(t.Context(), c.ticket()), backend.ErrClosed)
		require.ErrorIs(t, c.wait(t.Context(), c.ticket()), backend.ErrClosed)
		require.Zero(t, r.Subscribed())
	})
}

// Callers of three clients share a line over links that lose requests, replies and messages, and some give up at
// any instant. Never two believe to hold, and in the end all were served and nobody holds.
func TestLineNeverTwo(t *testing.T) {
	t.Parallel()
	schedules := uint64(150)
	if testing.Short() {
		schedules = 15
	}
	for seed := range schedules {
		synctest.Test(t, func(t *testing.T) {
			r := newRow(seed)
			r.Random = true
			var all sync.WaitGroup
			var served atomic.Int64
			clients := []*lineClient{r.lineClient(t, "a"), r.lineClient(t, "b"), r.lineClient(t, "c")}
			for i := range 9 {
				all.Go(func() {
					for range 4 {
						clients[i%3].useOnce(t, i%2 == 0)
						served.Add(1)
					}
				})
			}
			all.Wait()
			require.EqualValues(t, 36, served.Load())
			time.Sleep(2 * worth)
			require.Empty(t, r.held())
			require.False(t, t.Failed(), "seed %d", seed)
		})
	}
}
