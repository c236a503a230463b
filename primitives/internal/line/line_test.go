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
	"github.com/hasp-go/hasp/primitives/internal/line"
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

func TestLineServesInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRow(1)
		clients := []*lineClient{r.lineClient(t, "a"), r.lineClient(t, "b"), r.lineClient(t, "c")}
		first := clients[0].ticket()
		require.NoError(t, clients[0].wait(t.Context(), first))
		require.Zero(t, r.Subscribes, "granted at once")
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

// What the second beat learns, or what happens meanwhile, says after what time the third one comes.
func TestLineBeatsAgain(t *testing.T) {
	t.Parallel()
	still := func(*row) error { return nil }
	for name, c := range map[string]struct {
		learns      line.Beats
		meanwhile   func(r *row) error
		least, most time.Duration // ms
	}{
		"Near":       {line.Beats{HeldFor: time.Second, Rank: 7}, still, 1009, 1009},
		"Far":        {line.Beats{HeldFor: time.Second, Rank: 8}, still, 1012, 1048},
		"Over":       {line.Beats{Rank: -1}, still, 12, 48},
		"Long":       {line.Beats{HeldFor: worth}, still, 2250, 2750},
		"Unknown":    {line.Beats{HeldFor: -1}, still, 2250, 2750},
		"Dead":       {line.Beats{HeldFor: -1, Nobody: true}, still, 0, 0},
		"OthersDead": {line.Beats{HeldFor: -1, Nobody: true, Rank: -1}, still, 2250, 2750},
		"Gap":        {line.Beats{HeldFor: -1}, (*row).gap, 0, 0},
		"NoAnswer":   {line.Beats{}, func(*row) error { return backend.ErrUnavailable }, 112, 138},
	} {
		t.Run(name, func(t *testing.T) {
			inRow(t, func(t *testing.T, r *row, client *lineClient, held *ticket) {
				var at []time.Time
				r.meets = func(beats *line.Beats) error {
					if r.Set(func() { at = append(at, time.Now()) }); len(at) != 2 {
						return nil
					}
					beats.HeldFor, beats.Nobody, beats.Rank = c.learns.HeldFor, c.learns.Nobody, c.learns.Rank
					return c.meanwhile(r)
				}
				got := client.later(t)
				time.Sleep(worth)
				r.release(held.owner)
				<-got
				var after time.Duration
				r.Set(func() { after = at[2].Sub(at[1]) })
				require.GreaterOrEqual(t, after, c.least*time.Millisecond)
				require.LessOrEqual(t, after, c.most*time.Millisecond)
			})
		})
	}
}

// A message whose heartbeat is unknown, or counts for hardly longer, grants nothing: the next beat does.
func TestLineLeavesAnOldGrantToABeat(t *testing.T) {
	t.Parallel()
	for name, stamp := range map[string]int64{"Unknown": 99, "Old": 0} {
		t.Run(name, func(t *testing.T) {
			inRow(t, func(t *testing.T, r *row, c *lineClient, _ *ticket) {
				r.Set(func() { r.refuses = backend.ErrUnavailable })
				got := c.later(t)
				time.Sleep(worth * 9 / 10)
				me := r.places()[0].owner
				r.Set(func() { r.holder, r.until = me, time.Now().Add(worth) })
				r.Publish(fmt.Sprint(c.group, "|", me, " 2 ", stamp))
				synctest.Wait()
				require.Empty(t, got)
				r.Set(func() { r.refuses = nil })
				begun := time.Now()
				require.False(t, (<-got).started.Before(begun))
			})
		})
	}
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
		r.AckAfter = time.Second
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var waiting sync.WaitGroup
		for range 250 {
			waiting.Go(func() { _ = c.wait(ctx, c.ticket()) })
			synctest.Wait()
		}
		time.Sleep(time.Second - time.Millisecond)
		all := owners(r.places())
		for _, passes := range []func(){
			func() { time.Sleep(time.Millisecond) }, // The subscription: what came before was missed.
			func() { _ = r.gap() },
			func() { time.Sleep(worth / 2) }, // Nobody is silent for longer.
		} {
			before, shown := len(r.beats()), map[string]bool{}
			passes()
			synctest.Wait()
			for _, batch := range r.beats()[before:] {
				require.Contains(t, slices.Collect(slices.Chunk(all, 100)), batch)
				for _, owner := range batch {
					shown[owner] = true
				}
			}
			require.Len(t, shown, len(all))
		}
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

// Those that have lost their places and wait to ask end at once, too; eight are asking.
func TestLineClosedEndsWaiters(t *testing.T) {
	inRow(t, func(t *testing.T, r *row, c *lineClient, _ *ticket) {
		ended := make(chan error, 20)
		for range cap(ended) {
			go func() { ended <- c.lines.Wait(t.Context(), c.line(), c.ticket()) }()
		}
		synctest.Wait()
		r.Set(func() { r.queue, r.Latency = nil, time.Second })
		require.NoError(t, r.gap())
		time.Sleep(2500 * time.Millisecond)
		c.client.Close()
		synctest.Wait()
		require.Len(t, ended, cap(ended)-8)
		require.ErrorIs(t, <-ended, backend.ErrClosed)
		require.ErrorIs(t, c.wait(t.Context(), c.ticket()), backend.ErrClosed)
		time.Sleep(worth)
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
