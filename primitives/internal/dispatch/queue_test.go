package dispatch_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/dispatch"
)

// most is how many calls a batch has, at most.
const most = 256

// busy is a dispatcher with as many calls under way as it sends before others are answered. What comes next
// queues. Each batch takes 50 ms.
func busy(t *testing.T) (*dispatch.Dispatcher, *link) {
	t.Helper()
	l := &link{takes: 50 * time.Millisecond}
	d := open(t, l)
	begin(t.Context(), d, "before", 2*most, false)
	time.Sleep(10 * time.Millisecond)
	return d, l
}

// queued returns the keys of the calls that were sent, in their order, but for those of busy.
func queued(l *link) (keys []string) {
	for _, key := range slices.Concat(l.sent()...) {
		if !strings.HasPrefix(key, "before") {
			keys = append(keys, key)
		}
	}
	return keys
}

// begin makes so many calls named by a kind, all under ctx, one after the other.
func begin(ctx context.Context, d *dispatch.Dispatcher, kind string, n int, urgent bool) {
	for i := range n {
		r := request(write, fmt.Sprint(kind, i))
		r.AlwaysSend = urgent
		go func() { _, _ = do(ctx, d, r) }()
		synctest.Wait()
	}
}

// TestOverloadWaitsHere has a server that answers a thousand times fewer calls than come: what it cannot answer
// in time is not sent to it.
func TestOverloadWaitsHere(t *testing.T) {
	virtual(t, func(t *testing.T) {
		d, l := busy(t)
		ctx := within(t, 30*time.Millisecond)
		begin(ctx, d, "late", 10*most, false)
		time.Sleep(time.Minute)
		require.Empty(t, queued(l))
	})
}

// TestUrgentCallsGoFirst queues releases, and a renewal, behind more acquires than a batch holds.
func TestUrgentCallsGoFirst(t *testing.T) {
	virtual(t, func(t *testing.T) {
		d, l := busy(t)
		begin(t.Context(), d, "acquire", most, false)
		begin(t.Context(), d, "release", 3, true)
		go func() {
			_, _ = (&dispatch.Runner{Dispatcher: d, Contained: true}).Run(t.Context(), write, []string{"renewal"}, nil)
		}()
		time.Sleep(time.Minute)
		require.Len(t, queued(l), most+4)
		require.Equal(t, []string{"release0", "release1", "release2", "renewal", "acquire0", "acquire1"}, queued(l)[:6])
	})
}

// TestCallsForNobodyGoLast queues calls whose callers leave before their answers can come in front of more others
// than two batches hold. They are not sent at all: nobody waits any more when it is their turn.
func TestCallsForNobodyGoLast(t *testing.T) {
	virtual(t, func(t *testing.T) {
		d, l := busy(t)
		time.Sleep(time.Minute) // How long batches take is known.
		begin(t.Context(), d, "before", 2*most, false)
		time.Sleep(10 * time.Millisecond)
		soon := within(t, 80*time.Millisecond)
		later := within(t, time.Hour)
		begin(soon, d, "leaves", 10, false)
		begin(later, d, "stays", 2*most, false)
		time.Sleep(time.Minute)
		require.Len(t, queued(l), 2*most)
		require.Equal(t, []string{"stays0", "stays1", "stays2"}, queued(l)[:3])
	})
}

// TestShortQueueKeepsItsOrder queues what one batch holds: a caller that leaves soon has its turn, too.
func TestShortQueueKeepsItsOrder(t *testing.T) {
	virtual(t, func(t *testing.T) {
		d, l := busy(t)
		soon := within(t, 80*time.Millisecond)
		begin(soon, d, "leaves", 1, false)
		begin(t.Context(), d, "stays", 2, false)
		time.Sleep(time.Minute)
		require.Equal(t, []string{"leaves0", "stays0", "stays1"}, queued(l))
	})
}

// pool is a driver with few connections. A batch waits for one of them, and needs it for a while.
type pool struct {
	backend.Backend
	connections chan struct{}
	takes       time.Duration
	waiting     atomic.Int32
	mostWaiting atomic.Int32
}

func (*pool) Capabilities() backend.Capabilities { return backend.Capabilities{} }

func (p *pool) RunBatch(_ context.Context, calls []backend.Call, report func(int, backend.Outcome)) {
	for _, c := range calls {
		c.Claim.NotSent(nil)
	}
	p.mostWaiting.Store(max(p.mostWaiting.Load(), p.waiting.Add(1)))
	p.connections <- struct{}{}
	p.waiting.Add(-1)
	for place, c := range calls {
		if !c.Claim.Begin() {
			report(place, backend.Outcome{Err: backend.ErrUnavailable})
		}
	}
	time.Sleep(p.takes)
	for place := range calls {
		report(place, backend.Outcome{})
	}
	<-p.connections
}

// TestCrowdWaitsForConnections has so many calls that the last ones are sent after far longer than a backend may look for
// a connection. None fails, since connections are had all the time, and few batches wait in the driver.
func TestCrowdWaitsForConnections(t *testing.T) {
	t.Parallel()
	for takes, batches := range map[time.Duration]int{500 * time.Millisecond: 38, 3 * time.Second: 12} {
		synctest.Test(t, func(t *testing.T) {
			p := &pool{connections: make(chan struct{}, 4), takes: takes}
			d := open(t, p)
			var all sync.WaitGroup
			for i := range batches * most {
				all.Go(func() {
					require.NoError(t, errOf(d.Run(t.Context(), write, []string{fmt.Sprint(i)}, nil)))
				})
			}
			all.Wait()
			if takes < time.Second {
				require.LessOrEqual(t, p.mostWaiting.Load(), int32(16+1))
			}
		})
	}
}

// TestRequestIsUsedAgain makes a request once more after it certainly was not sent, in the same memory:
// the first must not be sent with the claim of the second.
func TestRequestIsUsedAgain(t *testing.T) {
	virtual(t, func(t *testing.T) {
		d := dispatch.New(&link{do: func(_ context.Context, c backend.Call) (backend.Reply, error) {
			c.Claim.NotSent(nil)
			time.Sleep(time.Minute) // Until then there is no connection.
			if c.Claim.Begin() {
				t.Error("it was sent")
			}
			return backend.Reply{}, nil
		}})
		r, script := &dispatch.Request{}, backend.NewScript("x", "", 1, backend.RetryNever)
		for range 2 {
			*r = dispatch.Request{Script: script, Keys: []string{"k"}}
			require.ErrorIs(t, errOf(do(t.Context(), d, r)), backend.ErrUnavailable)
		}
		time.Sleep(5 * time.Minute)
	})
}

var (
	write = backend.NewScript("write", "return 1", 1, backend.RetryNever)
	read  = backend.NewScript("read", "return 2", 1, backend.RetryReadOnly)
)

// link is a backend whose every batch takes a while, and answers each call with its key.
type link struct {
	takes time.Duration
	do    func(ctx context.Context, c backend.Call) (backend.Reply, error) // nil: answers

	mu      sync.Mutex
	batches [][]string // the keys of each
}

func (l *link) RunBatch(
	ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome),
) {
	keys := make([]string, len(calls))
	for i, c := range calls {
		keys[i] = c.Keys[0]
	}
	l.mu.Lock()
	l.batches = append(l.batches, keys)
	l.mu.Unlock()
	if !wait(ctx, l.takes) {
		for i := range calls {
			report(i, backend.Outcome{Err: backend.Indeterminate(ctx.Err())})
		}
		return
	}
	for i, c := range calls {
		reply, err := l.answer(ctx, c)
		report(i, backend.Outcome{Reply: reply, Err: err})
	}
}

func (l *link) answer(ctx context.Context, c backend.Call) (backend.Reply, error) {
	if l.do != nil {
		return l.do(ctx, c)
	}
	return backend.StringReply(c.Keys[0]), nil
}

func (l *link) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	outcome := backend.RunAll(ctx, l, []backend.Call{{Script: script, Keys: keys, Args: args}})[0]
	return outcome.Reply, outcome.Err
}

// sent returns the keys of the batches so far.
func (l *link) sent() [][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([][]string(nil), l.batches...)
}

func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// do runs r by d.
func do(ctx context.Context, d *dispatch.Dispatcher, r *dispatch.Request) (backend.Reply, error) {
	r.Dispatcher = d
	return r.Run(ctx, r.Script, r.Keys, r.Args)
}

// lateReceiver notes what it gets.
type lateReceiver struct {
	stays   atomic.Int32
	outcome *backend.Outcome
	late    chan backend.Outcome
}

func newLateReceiver() *lateReceiver { return &lateReceiver{late: make(chan backend.Outcome, 1)} }

func (h *lateReceiver) CallerLeft() { h.stays.Add(1) }

func (h *lateReceiver) HandleLate(r backend.ScriptRunner) {
	reply, err := r.Run(context.Background(), nil, nil, nil)
	h.outcome = &backend.Outcome{Reply: reply, Err: err}
}

func (h *lateReceiver) LateHandled() {
	h.stays.Add(-1)
	if h.outcome != nil {
		h.late <- *h.outcome
	}
}

// open returns a dispatcher that ends with the test.
func open(t *testing.T, b backend.ScriptRunner) *dispatch.Dispatcher {
	t.Helper()
	d := dispatch.New(b)
	t.Cleanup(d.Close)
	return d
}

func request(script *backend.Script, key string) *dispatch.Request {
	return &dispatch.Request{Script: script, Keys: []string{key}}
}

func requireEcho(t *testing.T, key string, reply backend.Reply, err error) {
	t.Helper()
	require.NoError(t, err)
	require.Equal(t, backend.StringReply(key), reply)
}

// occupy has all senders busy for an hour, so what comes next goes together.
func occupy(t *testing.T, d *dispatch.Dispatcher) {
	t.Helper()
	for i := range 8 {
		go func() { _, _ = d.Run(t.Context(), write, []string{fmt.Sprint("busy", i)}, nil) }()
		synctest.Wait()
	}
	time.Sleep(5 * time.Millisecond) // Nothing is queued any more.
}

// virtual runs a test in virtual time, beside others.
func virtual(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

// through is virtual with a dispatcher of a backend.
func through[B backend.ScriptRunner](t *testing.T, b B, test func(t *testing.T, b B, d *dispatch.Dispatcher)) {
	t.Helper()
	virtual(t, func(t *testing.T) { test(t, b, open(t, b)) })
}

// within returns a context that ends after d.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// subtest is virtual for a test within another.
func subtest(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { virtual(t, test) })
}

// errOf returns the error alone that a call returned.
func errOf[T any](_ T, err error) error { return err }
