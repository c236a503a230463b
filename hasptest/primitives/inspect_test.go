package primitives_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/inspect"
)

// described inspects the name x, under which there is one object.
func described(t *testing.T, c *primitives.Client) inspect.Object {
	t.Helper()
	all := must(inspect.Describe(t.Context(), c, "x"))(t)
	require.Len(t, all, 1)
	require.Equal(t, "x", all[0].Name)
	return all[0]
}

// holds inspects the name x, which one owner holds.
func holds(t *testing.T, c *primitives.Client, mine bool, remaining time.Duration) (inspect.Object, inspect.Holder) {
	t.Helper()
	o := described(t, c)
	require.EqualValues(t, 1, *o.Held)
	require.Len(t, o.Holders, 1)
	require.Equal(t, mine, o.Holders[0].Mine)
	require.Equal(t, remaining, o.Holders[0].Remaining.Round(10*time.Millisecond))
	return o, o.Holders[0]
}

// inspecting runs a test in virtual time, with a client, and another client that inspects.
func inspecting(t *testing.T, test func(t *testing.T, s *server, c, asks *primitives.Client)) {
	t.Helper()
	virtual(t, func(t *testing.T, s *server) {
		c, asks := s.client(t, nil), s.client(t, nil)
		none := must(inspect.Describe(t.Context(), asks, "x"))(t)
		require.Empty(t, none)
		test(t, s, c, asks)
	})
}

func TestInspectLock(t *testing.T) {
	inspecting(t, func(t *testing.T, s *server, c, asks *primitives.Client) {
		lease := must(c.NewLock("x", nil).Lock(t.Context()))(t)
		time.Sleep(time.Second)
		o, h := holds(t, asks, false, 29*time.Second)
		require.Equal(t, inspect.Lock, o.Kind)
		require.Contains(t, o.Possible, inspect.FairLock)
		require.Equal(t, []string{"x", "redisson_lock_token:{x}"}, o.Keys)
		require.Equal(t, lease.Owner(), h.Owner)
		require.Equal(t, lease.Token(), *o.Token)
		require.Equal(t, lease.Token(), h.Since.UnixMicro(), "without a key of its own")
		require.Nil(t, o.Queue)
		holds(t, c, true, 29*time.Second)
		require.NoError(t, lease.Release(t.Context()))
		o = described(t, asks)
		require.Zero(t, *o.Held)
		require.Empty(t, o.Holders)

		begin := time.Now()
		require.NoError(t, errOf(c.NewLock("x", &primitives.LockOptions{Metadata: "nightly\nexport"}).Lock(t.Context())))
		o, h = holds(t, asks, false, 30*time.Second)
		require.Equal(t, []inspect.Kind{inspect.Lock, inspect.Election}, o.Possible)
		require.Equal(t, begin.UnixMicro(), h.Since.UnixMicro())
		require.Equal(t, []any{"nightly\nexport", os.Getpid()}, []any{h.Metadata, h.PID})
	})
}

// TestInspectElection: of a leader it shows the value, as the candidate has it.
func TestInspectElection(t *testing.T) {
	for id, want := range map[string]string{"": "10.0.0.7:80", "blue": "blue\n10.0.0.7:80"} {
		t.Run("ID"+id, func(t *testing.T) {
			inspecting(t, func(t *testing.T, _ *server, c, asks *primitives.Client) {
				e := c.NewElection("x", &primitives.ElectionOptions{ID: id, Value: "10.0.0.7:80"})
				require.NoError(t, e.Run(t.Context(), func(context.Context, *primitives.Lease) error {
					o, h := holds(t, asks, false, 30*time.Second)
					require.Equal(t, want, h.Metadata)
					require.Equal(t, id == "", o.Kind == inspect.Election)
					return nil
				}))
			})
		})
	}
}

// TestInspectRedisson inspects what Redisson stores: a lock with two holds of its thread, and without an expiry.
func TestInspectRedisson(t *testing.T) {
	inspecting(t, func(t *testing.T, s *server, _, asks *primitives.Client) {
		s.do("HSET", "x", "5f0ae12c-7c5b-4b5c-9d0d-0123456789ab:71", "2")
		o := described(t, asks)
		require.Equal(t, inspect.Lock, o.Kind)
		require.Nil(t, o.Token)
		require.Equal(t, []inspect.Holder{{Owner: "5f0ae12c-7c5b-4b5c-9d0d-0123456789ab:71"}}, o.Holders)
		s.do("SET", "redisson_lock_token:{x}", "1")
		require.Nil(t, described(t, asks).Holders[0].Since, "the token is of an earlier holder")
	})
}

func TestInspectFairLock(t *testing.T) {
	inspecting(t, func(t *testing.T, s *server, c, asks *primitives.Client) {
		l := c.NewFairLock("x", nil)
		require.NoError(t, errOf(l.Lock(t.Context())))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for range 12 {
			go l.Lock(ctx)
		}
		synctest.Wait()
		time.Sleep(10 * time.Millisecond)
		s.do("RPUSH", "redisson_lock_queue:{x}", "java:1")
		o := described(t, asks)
		require.Equal(t, inspect.FairLock, o.Kind)
		require.EqualValues(t, 13, o.Queue.Length)
		require.Len(t, o.Queue.First, 10)
		require.False(t, o.Queue.First[0].Mine)
		require.Equal(t, 10*time.Millisecond, o.Queue.First[0].Silent.Round(10*time.Millisecond))
		require.True(t, described(t, c).Queue.First[0].Mine)
		s.do("LPUSH", "redisson_lock_queue:{x}", "java:2")
		require.Equal(t, inspect.Waiter{Owner: "java:2"}, described(t, asks).Queue.First[0])
	})
}

func TestInspectMutex(t *testing.T) {
	inspecting(t, func(t *testing.T, s *server, c, asks *primitives.Client) {
		l := c.NewMutex("x", nil)
		lease := must(l.Lock(t.Context()))(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		begin := time.Now()
		go l.Lock(ctx)
		synctest.Wait()
		time.Sleep(time.Second)
		o, h := holds(t, asks, false, 29*time.Second)
		require.Equal(t, inspect.Mutex, o.Kind)
		require.Equal(t, lease.Token(), *o.Token)
		require.Equal(t, lease.Token(), h.Since.UnixMicro())
		require.Equal(t, lease.Owner(), h.Owner)
		require.EqualValues(t, 1, o.Queue.Length)
		require.Equal(t, begin.UnixMicro(), o.Queue.First[0].Since.UnixMicro())
		require.Positive(t, *o.Queue.First[0].Silent)
		require.LessOrEqual(t, *o.Queue.First[0].Silent, time.Second)
		time.Sleep(time.Minute) // The waiter sends a heartbeat each 2.5 s.
		o = described(t, asks)
		require.Equal(t, begin.UnixMicro(), o.Queue.First[0].Since.UnixMicro())
		require.Less(t, *o.Queue.First[0].Silent, 3*time.Second)
	})
}

func TestInspectReadWriteLock(t *testing.T) {
	inspecting(t, func(t *testing.T, s *server, c, asks *primitives.Client) {
		l := c.NewReadWriteLock("x", nil)
		one := must(l.ReadLock().Lock(t.Context()))(t)
		time.Sleep(2 * time.Second)
		two := must(l.ReadLock().Lock(t.Context()))(t)
		o := described(t, asks)
		require.Equal(t, inspect.ReadWriteLock, o.Kind)
		require.EqualValues(t, 2, *o.Held)
		left := map[string]string{}
		for _, h := range o.Holders {
			require.Nil(t, h.Since, "the token is the last writer's")
			left[h.Owner] = h.Mode + h.Remaining.Round(time.Second).String()
		}
		require.Equal(t, map[string]string{one.Owner(): "read28s", two.Owner(): "read30s"}, left)
		s.do("DEL", "{x}:"+one.Owner()+":rwlock_timeout:1")
		for _, h := range described(t, asks).Holders {
			require.Equal(t, h.Owner == one.Owner(), *h.Remaining == 0)
		}
		s.do("DEL", "x")
		writer := must(l.WriteLock().Lock(t.Context()))(t)
		o, h := holds(t, asks, false, 30*time.Second)
		require.Equal(t, []string{writer.Owner(), "write"}, []string{h.Owner, h.Mode})
		require.Equal(t, writer.Token(), *o.Token)
		require.Equal(t, writer.Token(), h.Since.UnixMicro())
		s.do("SET", "redisson_lock_token:{x}", strconv.FormatInt(writer.Token()+1e12, 10))
		require.Nil(t, described(t, asks).Holders[0].Since, "the clock was set back")
	})
}

func TestInspectCountingSemaphore(t *testing.T) {
	inspecting(t, func(t *testing.T, s *server, c, asks *primitives.Client) {
		sem := c.NewCountingSemaphore("x", 1, &primitives.CountingSemaphoreOptions{Order: primitives.ByArrival})
		lease := must(sem.Acquire(t.Context()))(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go sem.Acquire(ctx)
		synctest.Wait()
		o, h := holds(t, asks, false, 30*time.Second)
		require.Equal(t, inspect.CountingSemaphore, o.Kind)
		require.Equal(t, lease.Owner(), h.Owner)
		require.EqualValues(t, 1, o.Queue.Length)
		require.Nil(t, o.Queue.First[0].Silent)
		require.Nil(t, o.Total)
	})
}

func TestInspectPermitSemaphore(t *testing.T) {
	inspecting(t, func(t *testing.T, s *server, c, asks *primitives.Client) {
		sem := c.NewPermitSemaphore("x", nil)
		require.NoError(t, errOf(sem.InitPermits(t.Context(), 3)))
		require.Contains(t, described(t, asks).Possible, inspect.PermitSemaphore)
		require.NoError(t, errOf(sem.TryAcquire(t.Context(), 2)))
		o := described(t, asks)
		require.Equal(t, []any{inspect.PermitSemaphore, int64(2), int64(1), int64(3)}, []any{o.Kind, *o.Held, *o.Free, *o.Total})
		require.Len(t, o.Holders, 2)
	})
}

// TestInspectEndedPermits: a permit whose lease has ended is free, and still one of all, before anybody has removed it.
func TestInspectEndedPermits(t *testing.T) {
	inspecting(t, func(t *testing.T, s *server, c, asks *primitives.Client) {
		short := c.NewPermitSemaphore("x", &primitives.PermitSemaphoreOptions{Permits: 3, Lease: time.Second})
		must(short.TryAcquire(t.Context(), 1))(t).Forget() // as after a crash
		require.NoError(t, errOf(c.NewPermitSemaphore("x", nil).TryAcquire(t.Context(), 1)))
		time.Sleep(2 * time.Second)
		require.Equal(t, 2, len(s.do("ZRANGE", "{x}:timeout", "0", "-1")), "nobody has removed it")
		o := described(t, asks)
		require.Equal(t, []int64{1, 2, 3}, []int64{*o.Held, *o.Free, *o.Total})
	})
}

// TestInspectNumbers inspects kinds with a text.
func TestInspectNumbers(t *testing.T) {
	for name, c := range map[string]struct {
		create   func(ctx context.Context, c *primitives.Client) (any, error)
		kind     inspect.Kind
		value    string
		possible int
	}{
		"Long": {func(ctx context.Context, c *primitives.Client) (any, error) { return c.NewAtomicLong("x").Add(ctx, 7) }, inspect.AtomicLong, "7", 6},
		"Double": {func(ctx context.Context, c *primitives.Client) (any, error) {
			return c.NewAtomicDouble("x").Add(ctx, 7.5)
		}, inspect.AtomicDouble, "7.5", 2},
		"IDs": {func(ctx context.Context, c *primitives.Client) (any, error) {
			return c.NewIDGenerator("x").Init(ctx, 5, 10)
		}, inspect.IDGenerator, "5", 0},
		"Latch": {func(ctx context.Context, c *primitives.Client) (any, error) {
			return c.NewPartsLatch("x").Init(ctx, 3, time.Hour)
		}, inspect.PartsLatch, "3", 0},
	} {
		t.Run(name, func(t *testing.T) {
			inspecting(t, func(t *testing.T, _ *server, client, asks *primitives.Client) {
				require.NoError(t, errOf(c.create(t.Context(), client)))
				o := described(t, asks)
				require.Equal(t, []any{c.kind, c.value}, []any{o.Kind, o.Value})
				require.Len(t, o.Possible, c.possible)
			})
		})
	}
}

func TestInspectRates(t *testing.T) {
	inspecting(t, func(t *testing.T, s *server, c, asks *primitives.Client) {
		rate := c.NewRateLimiter("x", nil)
		require.NoError(t, errOf(rate.InitRate(t.Context(), primitives.Rate{Permits: 5, Interval: time.Minute})))
		require.EqualValues(t, 5, *described(t, asks).Free)
		require.NoError(t, rate.TryAcquire(t.Context(), 2))
		o := described(t, asks)
		require.Equal(t, inspect.RateLimiter, o.Kind)
		require.Equal(t, inspect.Rate{Permits: 5, Interval: time.Minute}, *o.Rate)
		require.EqualValues(t, 3, *o.Free)
		time.Sleep(2 * time.Minute)
		require.Nil(t, described(t, asks).Free) // Nobody has called since the permits of the grant are free.
		s.do("FLUSHALL")
		begin := time.Now()
		_, err := c.NewThrottle("x", primitives.Limit{Permits: 10, Interval: 10 * time.Second}, &primitives.ThrottleOptions{Unavailable: primitives.Refuse()}).Allow(t.Context(), 3)
		require.NoError(t, err)
		o = described(t, asks)
		require.Equal(t, inspect.Throttle, o.Kind)
		require.Equal(t, begin.Add(3*time.Second).UnixMicro(), o.OwedUntil.UnixMicro())
	})
}

func TestInspectPeriodicJob(t *testing.T) {
	inspecting(t, func(t *testing.T, _ *server, c, asks *primitives.Client) {
		at := time.Now().Truncate(time.Minute)
		_, err := c.NewPeriodicJob("x", time.Hour, nil).TryDo(t.Context(), at, func(context.Context, primitives.JobRun) error { return nil })
		require.NoError(t, err)
		o := described(t, asks)
		require.Equal(t, inspect.PeriodicJob, o.Kind)
		require.Equal(t, at.UnixMilli(), o.LastRun.UnixMilli())
	})
}

// TestInspectLarge inspects values of another program, and a queue, that have 100 000 parts: each answer has few of them.
func TestInspectLarge(t *testing.T) {
	inspecting(t, func(t *testing.T, s *server, _, asks *primitives.Client) {
		for n := range 100 {
			words := []string{"RPUSH", "redisson_lock_queue:{x}"}
			for i := range 1000 {
				words = append(words, fmt.Sprint(n, ":", i))
			}
			s.do(words...)
		}
		o := described(t, asks)
		require.EqualValues(t, 100_000, o.Queue.Length)
		require.Len(t, o.Queue.First, 10)
		s.do("FLUSHALL")
		s.do("SADD", "x", "member")
		require.Equal(t, inspect.Unknown, described(t, asks).Kind)
		s.do("DEL", "x")
		s.do("HSET", "x", "visits", "7")
		require.Equal(t, inspect.Unknown, described(t, asks).Kind)
		s.do("DEL", "x")
		s.do("ZADD", "x", "7", "member")
		require.Equal(t, []inspect.Kind{inspect.CountingSemaphore, inspect.Unknown}, described(t, asks).Possible)
	})
}

// TestInspectTwo inspects a name with a mutex and a lock, which do not exclude each other.
func TestInspectTwo(t *testing.T) {
	inspecting(t, func(t *testing.T, _ *server, c, asks *primitives.Client) {
		require.NoError(t, errOf(c.NewMutex("x", nil).Lock(t.Context())))
		require.NoError(t, errOf(c.NewLock("x", nil).Lock(t.Context())))
		all := must(inspect.Describe(t.Context(), asks, "x"))(t)
		require.Equal(t, []inspect.Kind{inspect.Mutex, inspect.Lock}, []inspect.Kind{all[0].Kind, all[1].Kind})
		require.ErrorContains(t, errOf(inspect.Describe(t.Context(), asks, "")), `inspect object ""`)
	})
}

// listedBy returns the names and kinds of a list.
func listedBy(t *testing.T, c *primitives.Client, pattern string, opts *inspect.ListOptions) (all []string) {
	t.Helper()
	for o, err := range inspect.List(t.Context(), c, pattern, opts) {
		require.NoError(t, err)
		all = append(all, o.Name+" "+string(o.Kind))
	}
	slices.Sort(all)
	return all
}

// listing runs a test with a client, and another client that lists.
func listing(t *testing.T, test func(c, asks *primitives.Client)) {
	t.Helper()
	t.Parallel()
	s := embedded.NewServer()
	open := func() *primitives.Client {
		c := must(embedded.NewClient(s, nil))(t)
		t.Cleanup(func() { require.NoError(t, c.Close(context.Background())) })
		return c
	}
	test(open(), open())
}

func TestInspectListYieldsEachObjectOnce(t *testing.T) {
	listing(t, func(c, asks *primitives.Client) {
		for _, name := range []string{"a", "b{tag}", "free"} {
			lease := must(c.NewLock(name, nil).Lock(t.Context()))(t)
			if name == "free" {
				require.NoError(t, lease.Release(t.Context()))
			}
		}
		require.NoError(t, errOf(c.NewMutex("a", nil).Lock(t.Context())))
		require.NoError(t, errOf(c.NewReadWriteLock("rw", nil).ReadLock().Lock(t.Context())))
		require.NoError(t, errOf(c.NewAtomicLong("n").Add(t.Context(), 5)))
		for range 2 {
			require.NoError(t, errOf(c.NewCountingSemaphore("slots", 2, nil).Acquire(t.Context())))
		}
		want := []string{"a lock", "a mutex", "b{tag} lock", "free lock", "rw read-write lock", "slots counting semaphore"}
		require.Equal(t, want, listedBy(t, asks, "", nil))
		require.Equal(t, want, listedBy(t, asks, "", &inspect.ListOptions{Step: 1}))
		require.Equal(t, want[:2], listedBy(t, asks, "[a]", nil))
		require.Contains(t, listedBy(t, asks, "", &inspect.ListOptions{Plain: true}), "n atomic long")
	})
}

func TestInspectListRefuses(t *testing.T) {
	listing(t, func(c, asks *primitives.Client) {
		for _, err := range inspect.List(t.Context(), asks, "", &inspect.ListOptions{Step: -1}) {
			require.ErrorAs(t, err, new(*primitives.FieldError))
		}
		ended, turn := 0, func(context.Context) error { return io.EOF }
		for _, err := range inspect.List(t.Context(), asks, "", &inspect.ListOptions{Turn: turn}) {
			require.ErrorIs(t, err, io.EOF)
			ended++
		}
		require.NoError(t, c.Close(t.Context()))
		for _, err := range inspect.List(t.Context(), c, "", nil) {
			require.ErrorIs(t, err, backend.ErrClosed)
			ended++
		}
		require.Equal(t, 2, ended)
	})
}
