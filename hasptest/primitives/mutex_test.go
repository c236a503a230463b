package primitives_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

const mutexQueue, mutexSigns = "hasp_mutex:{x}:queue", "hasp_mutex:{x}:signs"

// worth is how long a heartbeat of a mutex's waiter counts.
const worth = 10 * time.Second

// row is a mutex called x that is held, and a client whose callers wait for it.
type row struct {
	*server
	link   *ownLink // of the client
	client *primitives.Client
	held   *primitives.Lease
	beats  []beat
}

// beat is when owners were shown.
type beat struct {
	at     time.Time
	owners []string
}

// inRow runs a test in virtual time.
func inRow(t *testing.T, test func(t *testing.T, r *row)) {
	t.Helper()
	virtual(t, func(t *testing.T, s *server) {
		r := &row{server: s, link: s.newOwnLink(t), held: must(s.client(t, nil).NewMutex("x", nil).TryLock(t.Context()))(t)}
		r.client = s.over(t, r.link, nil)
		s.set(func() {
			s.seen = func(script string, _, args []string) {
				if script == "mutex_beat" {
					r.beats = append(r.beats, beat{time.Now(), args[5:]})
				}
			}
		})
		test(t, r)
	})
}

// wait has so many wait, one after the other, until ctx ends.
func (r *row) wait(ctx context.Context, n int) (all []<-chan *primitives.Lease) {
	for range n {
		all = append(all, leased(ctx, r.client.NewMutex("x", nil).Lock))
		synctest.Wait()
	}
	return all
}

// sent returns the beats so far.
func (r *row) sent() (all []beat) {
	r.set(func() { all = slices.Clone(r.beats) })
	return all
}

// queue returns who waits.
func (r *row) queue() []string { return r.do("ZRANGE", mutexQueue, "0", "-1") }

// pass releases the mutex, and returns how long it takes until another has it.
func (r *row) pass(t *testing.T, next <-chan *primitives.Lease) time.Duration {
	t.Helper()
	start := time.Now()
	require.NoError(t, r.held.Release(t.Context()))
	r.held = <-next
	require.NotNil(t, r.held)
	return time.Since(start)
}

// grant says that an owner has the mutex since a heartbeat.
func (r *row) grant(owner string, token int64, stamp int) {
	group, _, _ := strings.Cut(owner, ":")
	r.do("PUBLISH", "hasp_mutex:{x}:granted:"+group, fmt.Sprint(owner, " ", token, " ", stamp))
	time.Sleep(5 * time.Millisecond)
}

// TestMutexIsPassedOnByMessages: each caller asks once, also those of a client that has many.
func TestMutexIsPassedOnByMessages(t *testing.T) {
	inRow(t, func(t *testing.T, r *row) {
		require.Zero(t, r.subscribed(), "granted at once")
		for _, next := range r.wait(t.Context(), 30) {
			require.Less(t, r.pass(t, next), 10*time.Millisecond)
		}
		require.Equal(t, 31, r.called("mutex_acquire"))
		r.grant(r.held.Owner(), r.held.Token(), 0)
		require.Equal(t, r.held.Owner(), r.holder("x"), "a second message releases nothing")
	})
}

// TestMutexGrantCountsFromItsSign: a hold lasts from the waiter's last heartbeat on: its request, or its last beat.
func TestMutexGrantCountsFromItsSign(t *testing.T) {
	t.Parallel()
	for held, left := range map[time.Duration]time.Duration{time.Second: 7990 * time.Millisecond, 7200 * time.Millisecond: 6200 * time.Millisecond} {
		t.Run(held.String(), func(t *testing.T) {
			inRow(t, func(t *testing.T, r *row) {
				next := r.wait(t.Context(), 1)[0]
				time.Sleep(held)
				r.pass(t, next)
				require.GreaterOrEqual(t, r.held.Remaining(), left) // Beats come up to a tenth earlier.
				require.Less(t, r.held.Remaining(), worth*9/10)
			})
		})
	}
}

// TestMutexBeatsAgain: what the second beat learns, or what happens meanwhile, says after what time the third one comes.
func TestMutexBeatsAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		heldFor, rank int64
		least, most   time.Duration // ms
	}{
		"Near": {1000, 7, 1009, 1009}, "Far": {1000, 8, 1012, 1048}, "Over": {0, -1, 12, 48}, "Long": {10_000, 0, 2250, 2750},
		"Unknown": {-1, 0, 2250, 2750}, "Dead": {-2, 0, 0, 0}, "OthersDead": {-2, -1, 2250, 2750},
		"Gap": {-1, 0, 0, 0}, "NoAnswer": {-1, 0, 112, 138},
	} {
		t.Run(name, func(t *testing.T) {
			inRow(t, func(t *testing.T, r *row) {
				run := r.run
				r.set(func() {
					r.run = func(script *backend.Script, keys, args []string) (backend.Reply, error) {
						if script.Name != "mutex_beat" || len(r.beats) != 2 {
							return run(script, keys, args)
						}
						if name == "Gap" {
							go r.gap()
						}
						waits := backend.ArrayReply([]backend.Reply{backend.IntegerReply(1)})
						return backend.ArrayReply([]backend.Reply{backend.IntegerReply(c.heldFor), backend.IntegerReply(c.rank), {}, waits}), nil
					}
					r.fault = func(script string) fault {
						if name == "NoAnswer" && script == "mutex_beat" && len(r.beats) == 2 {
							return down
						}
						return fault{}
					}
				})
				next := r.wait(t.Context(), 1)[0]
				time.Sleep(worth)
				beats := r.sent()
				after := beats[2].at.Sub(beats[1].at)
				require.GreaterOrEqual(t, after, c.least*time.Millisecond)
				require.LessOrEqual(t, after, c.most*time.Millisecond)
				r.pass(t, next)
			})
		})
	}
}

// TestMutexLeavesAnOldGrantToABeat: a message whose heartbeat is unknown, or counts for hardly longer, grants nothing, nor
// does one whose lease the clock drift has ended.
func TestMutexLeavesAnOldGrantToABeat(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stamp int
		drift time.Duration
	}{"Unknown": {stamp: 99}, "Old": {}, "Ended": {drift: 4 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			inRow(t, func(t *testing.T, r *row) {
				r.client = r.over(t, r.link, &primitives.Options{ClockDrift: c.drift})
				r.faultOf("mutex_beat", down)
				next := r.wait(within(t, time.Minute), 1)[0]
				time.Sleep(worth * 85 / 100)
				me := r.queue()[0]
				r.do("SET", "hasp_mutex:{x}", me, "PX", "10000")
				r.grant(me, 2, c.stamp)
				require.Empty(t, next)
				r.faults(fault{})
				lease := <-next
				require.NotNil(t, lease)
				require.Greater(t, lease.Remaining(), 6*time.Second)
				require.NoError(t, lease.Release(t.Context()))
			})
		})
	}
}

// TestMutexWaitersReturnToTheirPlaces when the server has lost the queue; eight of a client ask at a time. All end with their client.
func TestMutexWaitersReturnToTheirPlaces(t *testing.T) {
	inRow(t, func(t *testing.T, r *row) {
		waiting := r.wait(t.Context(), 20)
		before := r.do("ZRANGE", mutexQueue, "0", "-1", "WITHSCORES")
		r.lose(mutexQueue, mutexSigns)
		r.faultOf("mutex_acquire", fault{before: time.Second})
		asked := r.called("mutex_acquire")
		r.gap()
		time.Sleep(500 * time.Millisecond)
		require.Equal(t, asked+8, r.called("mutex_acquire"))
		time.Sleep(3 * time.Second)
		require.Equal(t, before, r.do("ZRANGE", mutexQueue, "0", "-1", "WITHSCORES"))
		r.lose(mutexQueue, mutexSigns)
		r.gap()
		time.Sleep(500 * time.Millisecond)
		start := time.Now()
		require.NoError(t, r.client.Close(t.Context()))
		for _, next := range waiting {
			require.Nil(t, <-next)
		}
		require.Less(t, time.Since(start), 2*time.Second)
	})
}

// TestMutexOfALeaver: a grant for a caller that has left is released, and nothing is left of it.
func TestMutexOfALeaver(t *testing.T) {
	inRow(t, func(t *testing.T, r *row) {
		ctx, leave := context.WithCancel(t.Context())
		next := r.wait(ctx, 1)[0]
		gone := r.queue()[0]
		leave()
		require.Nil(t, <-next)
		synctest.Wait()
		require.Empty(t, r.queue())
		r.do("ZADD", mutexQueue, strconv.FormatInt(time.Now().UnixMicro(), 10), gone) // By a request that was late.
		require.NoError(t, r.held.Release(t.Context()))
		require.Equal(t, gone, r.holder("x"))
		time.Sleep(100 * time.Millisecond)
		require.Empty(t, r.holder("x"))
		time.Sleep(time.Second) // Twice as long as it lingers.
		require.Zero(t, r.subscribed())
		beats := len(r.sent())
		time.Sleep(time.Minute)
		require.Len(t, r.sent(), beats)
	})
}

// TestMutexBeatsForAHundred owners at most, those that came first before the others, and nobody is silent for long: not over
// a slow link either, where beats go out several at a time.
func TestMutexBeatsForAHundred(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]time.Duration{"Fast": 0, "Slow": 1200 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			inRow(t, func(t *testing.T, r *row) {
				r.faultOf("mutex_beat", fault{before: slow, after: slow})
				r.wait(t.Context(), 250)
				all := r.queue()
				for range 20 {
					time.Sleep(time.Second)
					for _, sign := range r.do("HVALS", mutexSigns) {
						var at int64
						must(fmt.Sscan(sign, &at))(t)
						require.Less(t, time.Since(time.UnixMilli(at)), worth*2/3)
					}
				}
				require.Equal(t, []string{"250"}, r.do("HLEN", mutexSigns))
				before, shown := len(r.sent()), map[string]bool{}
				r.gap()
				time.Sleep(slow * 4)
				synctest.Wait()
				for _, beat := range r.sent()[before:] {
					require.Contains(t, slices.Collect(slices.Chunk(all, 100)), beat.owners)
					for _, owner := range beat.owners {
						shown[owner] = true
					}
				}
				require.Len(t, shown, len(all))
			})
		})
	}
}

// TestMutexWithRefusedBeats: a beat that the server refuses, and would again, ends the waiting.
func TestMutexWithRefusedBeats(t *testing.T) {
	inRow(t, func(t *testing.T, r *row) {
		refused := beside(func() error { return errOf(r.client.NewMutex("x", nil).Lock(t.Context())) })
		synctest.Wait()
		loading := fmt.Errorf("%w: %w", backend.ErrUnavailable, backend.ParseServerError("LOADING the data"))
		full, alone, unsaved := readerOnly("OOM").err, readerOnly("NOREPLICAS").err, readerOnly("MISCONF").err
		for _, passing := range []error{backend.ErrIndeterminate, full, alone, unsaved, loading} {
			r.faultOf("mutex_beat", fault{err: passing})
			time.Sleep(worth)
			require.Empty(t, refused)
		}
		r.faultOf("mutex_beat", fault{err: backend.ParseServerError("NOPERM No permissions to run the 'zmscore' command")})
		require.ErrorContains(t, <-refused, "NOPERM")
	})
}
