package primitives_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
)

// memoized is what a call of Do or TryDo of a memo has returned.
type memoized struct {
	result string
	ran    bool
	err    error
}

type (
	memoText = primitives.Memo[string]
	memoJob  = func(ctx context.Context, run primitives.MemoRun) (string, error)
)

// memoOf returns a memo of a client of its own.
func memoOf(t *testing.T, s *server, opts *primitives.MemoOptions) *memoText {
	t.Helper()
	return primitives.NewMemo[string](s.client(t, nil), "m", opts)
}

// memoize calls Do for the key k.
func memoize(ctx context.Context, m *memoText, work memoJob) (r memoized) {
	r.result, r.ran, r.err = m.Do(ctx, "k", work)
	return r
}

// memoizing starts memoize.
func memoizing(ctx context.Context, m *memoText, work memoJob) <-chan memoized {
	ended := make(chan memoized, 1)
	go func() { ended <- memoize(ctx, m, work) }()
	return ended
}

// making is work that takes a time, and then makes result.
func making(result string, takes time.Duration) memoJob {
	return func(context.Context, primitives.MemoRun) (string, error) {
		time.Sleep(takes)
		return result, nil
	}
}

// storedUnheard is a store whose answer is lost.
var storedUnheard = fault{after: time.Millisecond, broken: true}

// unasked is work that nobody may run.
func unasked(t *testing.T) memoJob {
	t.Helper()
	return func(context.Context, primitives.MemoRun) (string, error) {
		t.Error("it ran")
		return "", nil
	}
}

// What the server has for the key k.
const memoRecord, memoLock, memoHolder = "{m:k}:memo", "m:k", "hasp_lock_holder:{m:k}"

// TestMemoRunsOnce has callers in several processes come at once, and some later: until Keep has passed from the store
// on, or Forget, all get what the first has made.
func TestMemoRunsOnce(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		const processes, each = 4, 5
		s.fault = func(string) fault { return fault{before: time.Millisecond, after: time.Millisecond} }
		var memos []*memoText
		for range processes {
			memos = append(memos, memoOf(t, s, &primitives.MemoOptions{Keep: time.Hour}))
		}
		round := func(result string) {
			runs, all := 0, make(chan memoized, processes*each)
			for i := range processes * each {
				go func() { all <- memoize(t.Context(), memos[i%processes], making(result, time.Minute)) }()
			}
			for range processes * each {
				r := <-all
				require.Equal(t, memoized{result, r.ran, nil}, r)
				if r.ran {
					runs++
				}
			}
			require.Equal(t, 1, runs)
		}
		round("one")
		time.Sleep(time.Hour - time.Minute)
		require.Equal(t, memoized{"one", false, nil}, memoize(t.Context(), memos[1], unasked(t)))
		time.Sleep(time.Minute)
		round("two")
		require.True(t, must(memos[2].Forget(t.Context(), "k"))(t))
		require.False(t, must(memos[2].Forget(t.Context(), "k"))(t))
		round("three")
		require.Equal(t, []string{"0"}, s.do("EXISTS", memoLock, memoHolder))
	})
}

// TestMemoOfAThousandWaiters counts what a process with a thousand callers sends, while another runs: the leader of their
// flight asks, hears, asks once more, and is woken by the store.
func TestMemoOfAThousandWaiters(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		const waiters = 1000
		one, other := memoOf(t, s, nil), memoOf(t, s, nil)
		var stored time.Time
		first := memoizing(t.Context(), one, func(context.Context, primitives.MemoRun) (string, error) {
			time.Sleep(4 * time.Second)
			stored = time.Now()
			return "r", nil
		})
		synctest.Wait()
		sent := 0
		s.set(func() { s.seen = func(string, []string, []string) { sent++ } })
		all := make(chan memoized, 2*waiters)
		for i := range cap(all) {
			go func() { all <- memoize(t.Context(), []*memoText{one, other}[i%2], unasked(t)) }()
		}
		for range cap(all) {
			require.Equal(t, memoized{"r", false, nil}, <-all)
		}
		require.Equal(t, memoized{"r", true, nil}, <-first)
		require.Less(t, time.Since(stored), 100*time.Millisecond, "a message wakes them")
		require.LessOrEqual(t, sent, 1+5, "the store, and the questions of the other process")
	})
}

// TestMemoSharesAnError of work in a process. Another process, and a later call, run their own.
func TestMemoSharesAnError(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		one, other := memoOf(t, s, nil), memoOf(t, s, nil)
		failed := errors.New("no funds")
		first := memoizing(t.Context(), one, func(context.Context, primitives.MemoRun) (string, error) {
			time.Sleep(time.Second)
			return "half", failed
		})
		synctest.Wait()
		beside, elsewhere := memoizing(t.Context(), one, unasked(t)), memoizing(t.Context(), other, making("other's", time.Second))
		require.Equal(t, memoized{"", true, failed}, <-first)
		require.Equal(t, memoized{"", false, failed}, <-beside)
		require.Equal(t, memoized{"other's", true, nil}, <-elsewhere)
		require.Equal(t, memoized{"other's", false, nil}, memoize(t.Context(), one, unasked(t)))
	})
}

// TestMemoGoesOnWithoutItsLeader ends a flight's leader in each way in which the others cannot share its answer: then the
// next runs its own.
func TestMemoGoesOnWithoutItsLeader(t *testing.T) {
	for name, lead := range map[string]func(ctx context.Context, stop func(), s *server) (string, error){
		"Cancelled": func(ctx context.Context, stop func(), _ *server) (string, error) {
			stop()
			return "", ctx.Err()
		},
		"Panicked": func(context.Context, func(), *server) (string, error) { panic("work") },
		"Lost": func(ctx context.Context, _ func(), s *server) (string, error) {
			s.lose(memoLock)
			<-ctx.Done()
			return "", context.Cause(ctx)
		},
		"LostUnnoticed": func(_ context.Context, _ func(), s *server) (string, error) {
			s.lose(memoLock)
			return "lost", nil
		},
		"StoreUnavailable": func(_ context.Context, _ func(), s *server) (string, error) {
			s.faults(down)
			time.AfterFunc(time.Minute, func() { s.faults(fault{}) })
			return "lost", nil
		},
	} {
		subtest(t, name, func(t *testing.T, s *server) {
			m := memoOf(t, s, nil)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			ended := make(chan any)
			go func() {
				defer func() { ended <- recover() }()
				r := memoize(ctx, m, func(ctx context.Context, _ primitives.MemoRun) (string, error) {
					time.Sleep(time.Second)
					return lead(ctx, stop, s)
				})
				require.Error(t, r.err)
				require.True(t, r.ran)
				require.Empty(t, r.result)
			}()
			synctest.Wait()
			beside := memoizing(t.Context(), m, making("next", time.Minute))
			third := memoizing(t.Context(), m, making("next", time.Minute))
			require.Equal(t, name == "Panicked", <-ended != nil)
			a, b := <-beside, <-third
			require.NotEqual(t, a.ran, b.ran)
			require.Equal(t, [2]memoized{{"next", a.ran, nil}, {"next", b.ran, nil}}, [2]memoized{a, b})
		})
	}
}

// TestMemoWaiterLeaves the flight when its context ends, or its client is closed, before there is an answer. A leader
// that waits for another process passes its place on.
func TestMemoWaiterLeaves(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		one := memoOf(t, s, nil)
		client := must(primitives.New(s, nil))(t)
		other := primitives.NewMemo[string](client, "m", nil)
		first := memoizing(t.Context(), one, making("r", time.Minute))
		synctest.Wait()
		leader := memoizing(within(t, time.Second), other, unasked(t))
		synctest.Wait()
		waiter, last := memoizing(within(t, 2*time.Second), other, unasked(t)), memoizing(t.Context(), other, unasked(t))
		short := memoizing(within(t, 500*time.Millisecond), other, unasked(t))
		for i, r := range []memoized{<-short, <-leader, <-waiter} {
			require.False(t, r.ran)
			wraps(t, r.err, primitives.ErrNotAcquired, context.DeadlineExceeded)
			require.Equal(t, `acquire memo "m:k": held by another owner: context deadline exceeded`, r.err.Error(), i)
		}
		closed := memoizing(t.Context(), other, unasked(t))
		busy := primitives.NewMemo[string](client, "busy", nil)
		deaf := memoizing(t.Context(), busy, making("r", time.Hour))
		synctest.Wait()
		itsWaiter := memoizing(t.Context(), busy, unasked(t))
		synctest.Wait()
		require.NoError(t, client.Close(t.Context()))
		began := time.Now()
		for _, r := range []memoized{<-last, <-closed, <-itsWaiter} {
			require.ErrorIs(t, r.err, primitives.ErrClosed)
		}
		require.Less(t, time.Since(began), time.Second, "nobody waits for work")
		require.ErrorIs(t, (<-deaf).err, primitives.ErrClosed)
		require.Equal(t, memoized{"r", true, nil}, <-first)
	})
}

// TestMemoWaitsThroughAnOutage: a waiter waits through an outage if the server has refused the leader before it. A caller
// without any answer of the server fails.
func TestMemoWaitsThroughAnOutage(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		one, other := memoOf(t, s, nil), memoOf(t, s, nil)
		first := memoizing(t.Context(), one, making("r", 30*time.Second))
		synctest.Wait()
		leader := memoizing(within(t, 10*time.Second), other, unasked(t))
		synctest.Wait()
		next := memoizing(t.Context(), other, unasked(t))
		synctest.Wait()
		s.faults(down)
		time.AfterFunc(20*time.Second, func() { s.faults(fault{}) })
		wraps(t, (<-leader).err, context.DeadlineExceeded, primitives.ErrUnavailable)
		require.ErrorIs(t, memoize(t.Context(), memoOf(t, s, nil), unasked(t)).err, primitives.ErrUnavailable)
		require.Equal(t, memoized{"r", false, nil}, <-next)
		require.Equal(t, memoized{"r", true, nil}, <-first)
	})
}

// TestMemoStored goes through the ends of a store: the caller gets a stored result, or an error that says whether one is
// stored. Of an outcome that is unknown it asks once.
func TestMemoStored(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(ctx context.Context, s *server, link *cutLink)
		want  memoized
		next  memoized
		sent  int
	}{
		"AnswerLost": {func(_ context.Context, s *server, _ *cutLink) { s.once("memo_store", storedUnheard) }, memoized{"own", true, nil}, memoized{"own", false, nil}, 2},
		"AnswersLost": {func(_ context.Context, s *server, _ *cutLink) { s.faultOf("memo_store", storedUnheard) },
			memoized{"", true, primitives.ErrIndeterminate}, memoized{"own", false, nil}, 2},
		"NeverArrives": {func(_ context.Context, s *server, _ *cutLink) { s.faultOf("memo_store", fault{before: time.Hour}) },
			memoized{"", true, primitives.ErrIndeterminate}, memoized{"next", true, nil}, 2},
		"Unavailable": {func(_ context.Context, s *server, _ *cutLink) { s.faultOf("memo_store", down) },
			memoized{"", true, primitives.ErrUnavailable}, memoized{"next", true, nil}, 1},
		"OutOfMemory": {func(_ context.Context, s *server, _ *cutLink) { s.faultOf("memo_store", readerOnly("OOM")) },
			memoized{"", true, backend.ScriptError("OOM")}, memoized{"next", true, nil}, 2},
		"LeaseLost": {func(ctx context.Context, s *server, link *cutLink) { // The server does not know it.
			link.cut.Store(true)
			<-ctx.Done()
			synctest.Wait()
			link.cut.Store(false)
			require.NotEmpty(t, s.holder(memoLock))
		}, memoized{"", true, primitives.ErrLost}, memoized{"next", true, nil}, 0},
		"LockLost":  {func(_ context.Context, s *server, _ *cutLink) { s.lose(memoLock) }, memoized{"", true, primitives.ErrLost}, memoized{"next", true, nil}, 1},
		"LockTaken": {func(_ context.Context, s *server, _ *cutLink) { s.steal(memoLock) }, memoized{"", true, primitives.ErrLost}, memoized{"next", true, nil}, 1},
		"StoredByAnother": {func(_ context.Context, s *server, _ *cutLink) {
			s.lose(memoLock)
			s.do("HSET", memoRecord, "owner", another, "fingerprint", "", "result", `"other's"`)
		}, memoized{"other's", true, nil}, memoized{"other's", false, nil}, 1},
		"StoredByAnotherForAnother": {func(_ context.Context, s *server, _ *cutLink) {
			s.lose(memoLock)
			s.do("HSET", memoRecord, "owner", another, "fingerprint", "f", "result", `"other's"`)
		}, memoized{"", true, primitives.ErrLost}, memoized{"", false, primitives.ErrOtherFingerprint}, 1},
	} {
		subtest(t, name, func(t *testing.T, s *server) {
			link := &cutLink{server: s}
			one, other := primitives.NewMemo[string](s.over(t, link, nil), "m", nil), memoOf(t, s, nil)
			equal := func(want, r memoized) {
				t.Helper()
				require.ErrorIs(t, r.err, want.err)
				require.Equal(t, memoized{want.result, want.ran, r.err}, r)
			}
			equal(c.want, memoize(t.Context(), one, func(ctx context.Context, _ primitives.MemoRun) (string, error) {
				time.Sleep(time.Second)
				c.spoil(ctx, s, link)
				return "own", nil
			}))
			require.Equal(t, c.sent, s.called("memo_store"))
			s.faults(fault{})
			time.Sleep(time.Minute)
			equal(c.next, memoize(t.Context(), other, making("next", time.Second)))
			require.Equal(t, []string{"0"}, s.do("EXISTS", memoLock, memoHolder))
		})
	}
}

// TestMemoIsStoredAfterItsContext ends the context of Do during work, which goes on by a context of its own.
func TestMemoIsStoredAfterItsContext(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		one, other := memoOf(t, s, nil), memoOf(t, s, nil)
		s.fault = func(string) fault { return fault{after: 500 * time.Millisecond} }
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), memoized{}, "value"))
		require.Equal(t, memoized{"r", true, nil}, memoize(ctx, one, func(ctx context.Context, run primitives.MemoRun) (string, error) {
			cancel()
			require.ErrorIs(t, ctx.Err(), context.Canceled)
			rest, done := run.Detached(time.Minute)
			defer done()
			require.NoError(t, rest.Err())
			require.Equal(t, "value", rest.Value(memoized{}))
			_, ran, err := one.Do(rest, "k", unasked(t))
			require.False(t, ran)
			require.ErrorIs(t, err, primitives.ErrSelfDeadlock)
			_, _, err = one.TryDo(run.Lease.Reenter(context.WithoutCancel(ctx)), "k", unasked(t))
			require.ErrorIs(t, err, primitives.ErrSelfDeadlock)
			time.Sleep(time.Minute + time.Second)
			require.ErrorIs(t, rest.Err(), context.DeadlineExceeded)
			return "r", nil
		}))
		require.Equal(t, memoized{"r", false, nil}, memoize(t.Context(), other, unasked(t)))
		_, _, err := one.Do(t.Context(), "lost", func(_ context.Context, run primitives.MemoRun) (string, error) {
			rest, done := run.Detached(time.Hour)
			defer done()
			s.lose("m:lost")
			<-rest.Done()
			require.ErrorIs(t, context.Cause(rest), primitives.ErrLost)
			return "", nil
		})
		require.ErrorIs(t, err, primitives.ErrLost)
	})
}

// TestMemoWithAnotherFingerprint is refused at once: while a run goes on, in its process and in another, and by what is
// kept. A run that failed or was lost binds nothing, and neither does a lock of that name.
func TestMemoWithAnotherFingerprint(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		link := &cutLink{server: s}
		one, other := primitives.NewMemo[string](s.over(t, link, nil), "m", nil), memoOf(t, s, nil)
		with := func(m *memoText, fingerprint string) *memoText {
			return m.With(&primitives.MemoCall{Fingerprint: fingerprint})
		}
		refused := func(fingerprint string) {
			t.Helper()
			began := time.Now()
			for _, m := range []*memoText{one, other} {
				r := memoize(within(t, time.Second), with(m, fingerprint), unasked(t))
				require.ErrorIs(t, r.err, primitives.ErrOtherFingerprint)
				require.Equal(t, memoized{"", false, r.err}, r)
			}
			require.Less(t, time.Since(began), time.Second)
		}
		failed := errors.New("failed")
		r := memoize(t.Context(), with(one, "a\nb"), func(context.Context, primitives.MemoRun) (string, error) {
			refused("a")
			refused("")
			refused("a\nb\n")
			return "", failed
		})
		require.ErrorIs(t, r.err, failed)
		r = memoize(t.Context(), with(one, "crashes"), func(ctx context.Context, _ primitives.MemoRun) (string, error) {
			time.Sleep(time.Minute)
			refused("other")
			link.cut.Store(true)
			<-ctx.Done()
			return "", ctx.Err()
		})
		require.ErrorIs(t, r.err, primitives.ErrLost)
		time.Sleep(10 * time.Second)
		link.cut.Store(false)
		lock := must(s.client(t, nil).NewLock(memoLock, &primitives.LockOptions{Metadata: "memo\nlock's"}).Lock(t.Context()))(t)
		s.lose(memoLock)
		s.hold(memoLock, another, time.Minute)
		_, _, err := one.TryDo(t.Context(), "k", unasked(t))
		require.ErrorIs(t, err, primitives.ErrNotAcquired)
		s.lose(memoLock)
		require.ErrorIs(t, lock.Release(t.Context()), primitives.ErrLost)
		require.Equal(t, memoized{"r", true, nil}, memoize(t.Context(), with(one, "f"), making("r", time.Second)))
		refused("other")
		require.Equal(t, memoized{"r", false, nil}, memoize(t.Context(), with(other, "f"), unasked(t)))
	})
}

// TestMemoKeepsNothing of a result that is too large, that cannot be encoded, or of which work says so. Nobody runs again
// until Keep has passed, or Forget.
func TestMemoKeepsNothing(t *testing.T) {
	never := errors.New("never")
	for name, c := range map[string]struct {
		opts primitives.MemoOptions
		keep bool
		is   error
	}{
		"TooLarge": {primitives.MemoOptions{MaxBytes: 6}, false, primitives.ErrNotKept},
		"Unencodable": {primitives.MemoOptions{
			Marshal: func(any) ([]byte, error) { return nil, never }, Unmarshal: func([]byte, any) error { return never },
		}, false, never},
		"Said": {primitives.MemoOptions{}, true, primitives.ErrNotKept},
	} {
		subtest(t, name, func(t *testing.T, s *server) {
			c.opts.Keep = time.Hour
			one, other := memoOf(t, s, &c.opts), memoOf(t, s, &c.opts)
			nothing := func() {
				for _, m := range []*memoText{one, other} {
					r := memoize(t.Context(), m, unasked(t))
					require.ErrorIs(t, r.err, primitives.ErrNotKept)
					require.Equal(t, memoized{"", false, r.err}, r)
				}
			}
			var beside <-chan memoized
			r := memoize(t.Context(), one, func(ctx context.Context, run primitives.MemoRun) (string, error) {
				beside = memoizing(t.Context(), one, unasked(t))
				synctest.Wait()
				if c.keep {
					require.NoError(t, run.KeepNothing(ctx))
					require.ErrorIs(t, errOf2(other.TryDo(ctx, "k", unasked(t))), primitives.ErrNotKept)
					time.Sleep(time.Minute)
					require.NoError(t, ctx.Err())
				}
				s.once("memo_store", storedUnheard)
				return "large", nil
			})
			wraps(t, r.err, primitives.ErrNotKept, c.is)
			require.Equal(t, memoized{"large", true, r.err}, r)
			require.ErrorIs(t, (<-beside).err, primitives.ErrNotKept)
			time.Sleep(time.Hour - 2*time.Minute)
			nothing()
			require.True(t, must(one.Forget(t.Context(), "k"))(t))
			require.True(t, memoize(t.Context(), other, making("large", 0)).ran)
			require.Equal(t, []string{"0"}, s.do("EXISTS", memoLock, memoHolder))
		})
	}
	virtual(t, func(t *testing.T, s *server) {
		m := memoOf(t, s, nil)
		failed := errors.New("failed")
		r := memoize(t.Context(), m, func(ctx context.Context, run primitives.MemoRun) (string, error) {
			require.NoError(t, run.KeepNothing(ctx))
			return "", failed
		})
		require.Equal(t, memoized{"", true, failed}, r)
		require.ErrorIs(t, memoize(t.Context(), m, unasked(t)).err, primitives.ErrNotKept)
		_, _, err := m.Do(t.Context(), "lost", func(ctx context.Context, run primitives.MemoRun) (string, error) {
			s.lose("m:lost")
			require.ErrorIs(t, run.KeepNothing(ctx), primitives.ErrLost)
			<-ctx.Done()
			require.ErrorIs(t, run.KeepNothing(ctx), primitives.ErrLost)
			return "", nil
		})
		require.ErrorIs(t, err, primitives.ErrLost)
	})
}

// errOf2 returns the error alone that Do or TryDo has returned.
func errOf2(_ string, _ bool, err error) error { return err }

// TestMemoResultsAreNotShared: each caller of a flight decodes a result of its own.
func TestMemoResultsAreNotShared(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		m := primitives.NewMemo[map[string]int](s.client(t, nil), "m", nil)
		all := make(chan map[string]int, 3)
		for range cap(all) {
			go func() {
				result, _, err := m.Do(t.Context(), "k", func(context.Context, primitives.MemoRun) (map[string]int, error) {
					time.Sleep(time.Second)
					return map[string]int{"a": 1}, nil
				})
				require.NoError(t, err)
				all <- result
			}()
		}
		for range cap(all) {
			result := <-all
			require.Equal(t, map[string]int{"a": 1}, result)
			result["b"] = 2
		}
	})
}

// TestMemoForgottenMeanwhile forgets a result while its answer is on the way to a leader: a call that begins after that
// must not get it.
func TestMemoForgottenMeanwhile(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		one, other := memoOf(t, s, nil), memoOf(t, s, nil)
		require.NoError(t, memoize(t.Context(), one, making("old", 0)).err)
		s.faultOf("memo_acquire", fault{after: time.Second})
		leader := memoizing(t.Context(), one, unasked(t))
		synctest.Wait()
		require.True(t, must(other.Forget(t.Context(), "k"))(t))
		require.Equal(t, memoized{"new", true, nil}, memoize(t.Context(), one, making("new", 0)))
		require.Equal(t, memoized{"old", false, nil}, <-leader)
	})
}

// TestMemoKeysAreApart: a name and a key that look like another name and key, in a cluster too.
func TestMemoKeysAreApart(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		c := s.client(t, nil)
		for i, k := range [][2]string{{"a", "b:c"}, {"a:b", "c"}, {"a", "b%3Ac"}, {"a", "b{c}"}, {"a", "b c"}, {"a", "b+c"}, {"{t}a", "}{"}} {
			m := primitives.NewMemo[int](c, k[0], nil)
			n, ran, err := m.Do(t.Context(), k[1], func(context.Context, primitives.MemoRun) (int, error) { return i, nil })
			require.NoError(t, err)
			require.True(t, ran, k)
			require.Equal(t, i, n)
		}
		for _, key := range s.do("KEYS", "*:memo") {
			require.Regexp(t, `^(\{[^{}]*\}|\{t\}a:[^{}]*):memo$`, key)
		}
	})
}
