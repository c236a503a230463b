package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/dispatch"
)

// TestMoreThanOneBatch queues more than a batch holds while a batch takes for ever: all are sent, and
// no call comes after them to see to that.
func TestMoreThanOneBatch(t *testing.T) {
	through(t, &link{takes: time.Hour}, func(t *testing.T, l *link, d *dispatch.Dispatcher) {
		occupy(t, d)
		before := len(l.sent())
		const calls = 2000
		for i := range calls {
			go func() { _, _ = d.Run(t.Context(), write, []string{fmt.Sprint(i)}, nil) }()
		}
		time.Sleep(time.Second)
		sent := 0
		for _, batch := range l.sent()[before:] {
			require.LessOrEqual(t, len(batch), 256)
			sent += len(batch)
		}
		require.Equal(t, calls, sent)
	})
}

// TestCallerLeaves checks the errors of a call that may be executed, and of one that cannot be.
func TestCallerLeaves(t *testing.T) {
	t.Parallel()
	for script, unknown := range map[*backend.Script]bool{write: true, read: false} {
		synctest.Test(t, func(t *testing.T) {
			l := &link{takes: time.Second}
			d := open(t, l)
			ctx := within(t, 100*time.Millisecond)
			h := newLateReceiver()
			r := request(script, "k")
			r.Late, r.Leavers = h, h
			start := time.Now()
			_, err := do(ctx, d, r)
			require.Equal(t, 100*time.Millisecond, time.Since(start))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, unknown, errors.Is(err, backend.ErrIndeterminate))
			require.Equal(t, int32(1), h.stays.Load())
			outcome := <-h.late
			require.Equal(t, time.Second, time.Since(start))
			requireEcho(t, "k", outcome.Reply, outcome.Err)
			require.Zero(t, h.stays.Load())

			require.Equal(t, context.DeadlineExceeded, errOf(do(ctx, d, request(script, "k"))), "nothing is sent")
			require.Len(t, l.sent(), 1)
		})
	}
}

// TestUnknownOutcomeIsReported: a call without an answer is, whether its caller has left or not. A call whose caller
// alone has left is not.
func TestUnknownOutcomeIsReported(t *testing.T) {
	virtual(t, func(t *testing.T) {
		d := open(t, single{&link{do: func(_ context.Context, c backend.Call) (backend.Reply, error) {
			time.Sleep(time.Second)
			return backend.Reply{}, map[string]error{"lost": backend.Indeterminate(errors.New("link lost"))}[c.Keys[0]]
		}}})
		reported := make(chan string, 10)
		d.OnChange = func(key string) { reported <- key }
		leaves := within(t, 100*time.Millisecond)
		for _, ctx := range []context.Context{t.Context(), leaves} {
			for _, key := range []string{"lost", "sound"} {
				go func() { _, _ = d.Run(ctx, write, []string{key}, nil) }()
			}
		}
		time.Sleep(time.Minute)
		require.Equal(t, []string{"lost", "lost"}, []string{<-reported, <-reported})
		require.Empty(t, reported)
	})
}

// TestRefusalIsReported: a call that the server has refused is, even if the backend has repeated it. A call that had to
// wait for a connection is not.
func TestRefusalIsReported(t *testing.T) {
	virtual(t, func(t *testing.T) {
		l := &link{do: func(_ context.Context, c backend.Call) (backend.Reply, error) {
			why := errors.New("no connection")
			if c.Keys[0] == "refused" {
				why = backend.ParseServerError("READONLY You can't write against a read only replica.")
			}
			c.Claim.NotSent(fmt.Errorf("%w: %w", backend.ErrUnavailable, why))
			require.True(t, c.Claim.Begin())
			return backend.Reply{}, nil
		}}
		d := open(t, l)
		reported := make(chan string, 10)
		d.OnChange = func(key string) { reported <- key }
		for _, key := range []string{"waits", "refused", "waits"} {
			require.NoError(t, errOf(d.Run(t.Context(), write, []string{key}, nil)))
		}
		require.Equal(t, "refused", <-reported)
		require.Empty(t, reported)
	})
}

// TestQueuedCallIsWithdrawn lets a caller leave before its call was sent.
func TestQueuedCallIsWithdrawn(t *testing.T) {
	through(t, &link{takes: time.Millisecond}, func(t *testing.T, l *link, d *dispatch.Dispatcher) {
		var busy sync.WaitGroup
		for i := range 8 { // more than there are senders
			busy.Go(func() { _, _ = d.Run(t.Context(), write, []string{fmt.Sprint(i)}, nil) })
			synctest.Wait()
		}
		before := len(l.sent())
		ctx, cancel := context.WithCancel(t.Context())
		h := newLateReceiver()
		left := make(chan error, 1)
		go func() {
			r := request(write, "withdrawn")
			r.Late, r.Leavers = h, h
			_, err := do(ctx, d, r)
			left <- err
		}()
		synctest.Wait()
		require.Len(t, l.sent(), before, "it is queued")
		cancel()
		require.Equal(t, context.Canceled, <-left)
		busy.Wait()
		time.Sleep(time.Minute)
		for _, batch := range l.sent() {
			require.NotContains(t, batch, "withdrawn")
		}
		require.Empty(t, h.late)
	})
}

// TestReturnedClaimIsWithdrawn lets a caller leave while the backend knows that its call was refused.
func TestReturnedClaimIsWithdrawn(t *testing.T) {
	t.Parallel()
	var taken atomic.Bool
	l := &link{do: func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		c.Claim.NotSent(fmt.Errorf("%w: refused", backend.ErrUnavailable))
		wait(ctx, time.Second)
		taken.Store(c.Claim.Begin())
		return backend.Reply{}, errors.New("refused")
	}}
	for _, b := range []backend.ScriptRunner{l, single{l}} {
		synctest.Test(t, func(t *testing.T) {
			d := open(t, b)
			ctx := within(t, 100*time.Millisecond)
			_, err := do(ctx, d, request(write, "k"))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorIs(t, err, backend.ErrUnavailable)
			require.False(t, backend.MayHaveRun(err))
			time.Sleep(time.Minute)
			require.False(t, taken.Load())
		})
	}
}

// single is a backend that sends no batches.
type single struct{ link *link }

func (s single) Run(ctx context.Context, _ *backend.Script, keys, _ []string) (backend.Reply, error) {
	return s.link.answer(ctx, backend.Call{Keys: keys, Claim: backend.ClaimOf(ctx)})
}

// TestUnsentCallFails has a backend that finds no connection: a call that it has not written by then
// is not written any more.
func TestUnsentCallFails(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var taken atomic.Int32
		l := &link{do: func(ctx context.Context, c backend.Call) (backend.Reply, error) {
			if c.Keys[0] == "unsent" {
				c.Claim.NotSent(nil)
			}
			wait(ctx, time.Minute)
			if c.Claim.Begin() {
				taken.Add(1)
			}
			return backend.StringReply(c.Keys[0]), nil
		}}
		d := open(t, l)
		start := time.Now()
		_, err := d.Run(t.Context(), write, []string{"unsent"}, nil)
		require.ErrorIs(t, err, backend.ErrUnavailable)
		require.False(t, backend.MayHaveRun(err))
		require.InDelta(t, 5*time.Second, time.Since(start), float64(2*time.Second))
		reply, err := d.Run(t.Context(), write, []string{"sent"}, nil)
		requireEcho(t, "sent", reply, err)
		time.Sleep(time.Hour)
		require.Equal(t, int32(1), taken.Load())
	})
}

// TestAbandonedBatchIsGivenUp leaves calls behind on a silent link.
func TestAbandonedBatchIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		closing, stays bool
		takes          time.Duration
	}{
		"Abandoned":        {takes: 5*time.Second + 200*time.Millisecond},
		"Closing":          {takes: time.Second + 200*time.Millisecond, closing: true},
		"NotWhileOneStays": {takes: time.Hour, stays: true},
		"NorAtCloseThen":   {takes: time.Hour, stays: true, closing: true},
	} {
		subtest(t, name, func(t *testing.T) {
			d := open(t, &link{takes: time.Hour})
			h := newLateReceiver()
			start := time.Now()
			occupy(t, d)
			if c.stays {
				go func() { _, _ = d.Run(t.Context(), write, []string{"stays"}, nil) }()
			}
			ctx := within(t, 100*time.Millisecond)
			r := request(write, "k")
			r.Late, r.Leavers = h, h
			if c.closing {
				d.BeginClose(backend.ErrClosed)
			}
			require.ErrorIs(t, errOf(do(ctx, d, r)), backend.ErrIndeterminate)
			outcome := <-h.late
			if !c.stays {
				require.ErrorIs(t, outcome.Err, backend.ErrIndeterminate)
			}
			require.InDelta(t, c.takes, time.Since(start), float64(10*time.Millisecond))
		})
	}
}

// TestAbandonedCallThatWasNotSent has a backend that claims a call just before it finds that it has no connection,
// in the instant in which the batch is given up.
func TestAbandonedCallThatWasNotSent(t *testing.T) {
	virtual(t, func(t *testing.T) {
		d := open(t, &link{do: func(ctx context.Context, c backend.Call) (backend.Reply, error) {
			c.Claim.NotSent(nil)
			time.Sleep(5*time.Second - time.Millisecond)
			require.True(t, c.Claim.Begin())
			time.Sleep(2 * time.Millisecond)
			c.Claim.NotSent(nil)
			wait(ctx, time.Hour)
			return backend.Reply{}, ctx.Err()
		}})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		h := newLateReceiver()
		r := request(write, "k")
		r.AlwaysSend, r.Late, r.Leavers = true, h, h
		require.ErrorIs(t, errOf(do(ctx, d, r)), backend.ErrIndeterminate)
		outcome := <-h.late
		require.ErrorIs(t, outcome.Err, backend.ErrUnavailable)
		require.False(t, backend.MayHaveRun(outcome.Err))
	})
}

// TestPanicIsRaisedInTheCallers lets a hook panic after one of three outcomes was reported.
func TestPanicIsRaisedInTheCallers(t *testing.T) {
	virtual(t, func(t *testing.T) {
		l := &link{takes: time.Second, do: func(_ context.Context, c backend.Call) (backend.Reply, error) {
			if c.Keys[0] == "hook" {
				panic("hook")
			}
			return backend.StringReply(c.Keys[0]), nil
		}}
		d := open(t, l)
		occupy(t, d)
		var all sync.WaitGroup
		all.Go(func() {
			reply, err := d.Run(t.Context(), write, []string{"before"}, nil)
			requireEcho(t, "before", reply, err)
		})
		synctest.Wait()
		all.Go(func() {
			require.PanicsWithValue(t, "hook", func() { _, _ = d.Run(t.Context(), write, []string{"hook"}, nil) })
		})
		synctest.Wait()
		all.Go(func() {
			require.PanicsWithValue(t, "hook", func() { _, _ = d.Run(t.Context(), write, []string{"after"}, nil) })
		})
		h := newLateReceiver()
		all.Go(func() {
			ctx := within(t, 100*time.Millisecond)
			r := request(write, "left")
			r.Late, r.Leavers = h, h
			require.ErrorIs(t, errOf(do(ctx, d, r)), backend.ErrIndeterminate)
		})
		all.Wait()
		outcome := <-h.late
		require.ErrorIs(t, outcome.Err, backend.ErrIndeterminate)
		require.ErrorContains(t, outcome.Err, "hook")
		reply, err := d.Run(t.Context(), write, []string{"next"}, nil)
		requireEcho(t, "next", reply, err)
	})
}

type valueKey struct{}

// TestValuesOfTheOnlyCaller shows a hook the values of a caller whose call is alone.
func TestValuesOfTheOnlyCaller(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var mu sync.Mutex
		seen := map[string]any{}
		l := &link{takes: time.Second, do: func(ctx context.Context, c backend.Call) (backend.Reply, error) {
			mu.Lock()
			defer mu.Unlock()
			seen[c.Keys[0]] = ctx.Value(valueKey{})
			_, limited := ctx.Deadline()
			require.False(t, limited)
			return backend.Reply{}, nil
		}}
		d := open(t, l)
		ctx := within(t, time.Hour)
		ctx = context.WithValue(ctx, valueKey{}, "caller's")
		_, _ = d.Run(ctx, write, []string{"alone"}, nil)
		occupy(t, d)
		var both sync.WaitGroup
		for _, key := range []string{"a", "b"} {
			both.Go(func() { _, _ = d.Run(ctx, write, []string{key}, nil) })
		}
		both.Wait()
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, "caller's", seen["alone"])
		require.Contains(t, seen, "a")
		require.Nil(t, seen["a"])
		require.Nil(t, seen["b"])
	})
}

// TestEachCallHasOneOutcome has callers leave at the very moment of their answers, some at once, and some
// never: however busy the machine is, there are both.
func TestEachCallHasOneOutcome(t *testing.T) {
	t.Parallel()
	d := open(t, &oneServer{link: &link{takes: 100 * time.Microsecond}})
	var answered, late, withdrawn atomic.Int32
	var all sync.WaitGroup
	const calls = 2000
	for i := range calls {
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			switch i % 7 {
			case 0:
				cancel()
			case 6: // It stays, and may send by itself.
				ctx = context.Background()
			default:
				time.AfterFunc(time.Duration(i%7)*50*time.Microsecond, cancel)
			}
			h := newLateReceiver()
			r := request(write, "k")
			r.Late, r.Leavers, r.AlwaysSend = h, h, i%2 == 0
			_, err := do(ctx, d, r)
			switch {
			case err == nil:
				answered.Add(1)
			case errors.Is(err, backend.ErrIndeterminate):
				<-h.late
				late.Add(1)
			default:
				withdrawn.Add(1)
			}
			require.Zero(t, h.stays.Load())
			require.Empty(t, h.late)
		})
		if i%50 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	all.Wait()
	require.Equal(t, int32(calls), answered.Load()+late.Load()+withdrawn.Load())
	require.NotZero(t, answered.Load())
	require.NotZero(t, late.Load()+withdrawn.Load())
}
